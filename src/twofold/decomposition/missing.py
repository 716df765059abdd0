"""What SemiNMF and GNMF share: missing entries, which they take for unknowns."""

from numbers import Real
from typing import Any

import numpy as np

from twofold.core.arrays import Array, to_numpy
from twofold.decomposition.factorization import Factorization
from twofold.estimators.missing import (
    ImputingMixin,
    is_nan,
    learn_missing,
    read_incomplete,
)


class MissingAwareFactorization(ImputingMixin, Factorization):
    """A factorisation by least squares of samples whose entries may be missing."""

    missing_values: float | None

    _parameter_constraints: dict[str, list[Any]] = {
        **Factorization._parameter_constraints,
        "missing_values": [Real, None],
    }

    def _read_to_fit(
        self, X: Any, mask: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Completed training samples (n, f) as they are fitted.

        Besides, what they were divided by, and which entries were missing, if any.
        """
        samples, missing, self.sample_shape_ = read_incomplete(
            self, X, self.sample_shape, mask, reset=True
        )
        samples, self._completion = to_numpy(samples), None
        if missing is not None:
            missing = to_numpy(missing)
            self._completion = learn_missing(samples, missing)
        flat, divisor = self._scaled(self._flat(self._completed(samples, missing)))
        if missing is None or not missing.any():
            return flat, divisor, None
        return flat, divisor, self._flat(missing)

    def _completed(self, samples: Array, missing: Array | None) -> np.ndarray:
        missing = None if missing is None else to_numpy(missing)
        return super()._completed(to_numpy(samples), missing)

    def fit_transform(self, X: Any, y: Any = None, *, mask: Any = None) -> np.ndarray:
        """``fit`` and then ``transform``."""
        return self.fit(X, mask=mask).transform(X, mask=mask)

    def transform(self, X: Any, *, mask: Any = None) -> np.ndarray:
        """Coefficients of samples against the fitted components.

        See the class for what they solve. Missing entries are those of ``impute`` at
        first; the coefficients are solved for once more with what those of the first
        time make of them. ``fit_transform`` is ``fit`` and then ``transform``; the
        coefficients of the fit itself are ``coefficients_``.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.
        mask : array-like of bool, or None
            As for ``fit``.

        Returns
        -------
        coefficients : ndarray of shape (m, n_components)
            On the scale of ``coefficients_``.
        """
        stack, missing = self._read_completed(X, mask)
        samples = self._new_scaled(self._flat(stack))
        coefficients = self._place(samples)
        if missing is None:
            return coefficients
        model = coefficients @ self._centroids
        return self._place(np.where(self._flat(to_numpy(missing)), model, samples))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_nan(self.missing_values)
        return tags
