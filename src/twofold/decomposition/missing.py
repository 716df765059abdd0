"""Base class of SemiNMF and GNMF, which treat missing entries as unknowns."""

from numbers import Real
from typing import Any

import numpy as np

from twofold.core.arrays import Array, to_numpy
from twofold.decomposition.factorization import Factorization
from twofold.estimators.missing import ImputingMixin, learn_missing
from twofold.estimators.reading import is_nan, read_samples


class MissingAwareFactorization(ImputingMixin, Factorization):
    """Least-squares factorisation of samples that may have missing entries."""

    missing_values: float | None

    _parameter_constraints: dict[str, list[Any]] = {
        **Factorization._parameter_constraints,
        "missing_values": [Real, None],
    }

    def _read_training(
        self, X: Any, mask: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Read, complete and scale the training samples.

        Returns the samples (n, f), the divisor of each (n,), and the mask of their
        missing entries (n, f), which is None if there are none.
        """
        samples, missing, self.sample_shape_ = read_samples(
            self, X, self.sample_shape, mask, reset=True
        )
        samples, self._completion = to_numpy(samples), None
        if missing is not None:
            missing = to_numpy(missing)
            self._completion = learn_missing(samples, missing)
        completed = self._flat(self._completed(samples, missing))
        scaled, divisor = self._scale_training(completed)
        if missing is None or not missing.any():
            return scaled, divisor, None
        return scaled, divisor, self._flat(missing)

    def _completed(self, samples: Array, missing: Array | None) -> np.ndarray:
        missing = None if missing is None else to_numpy(missing)
        return super()._completed(to_numpy(samples), missing)

    def fit_transform(self, X: Any, y: Any = None, *, mask: Any = None) -> np.ndarray:
        """Call ``fit`` and then ``transform``."""
        return self.fit(X, mask=mask).transform(X, mask=mask)

    def transform(self, X: Any, *, mask: Any = None) -> np.ndarray:
        """Return the coefficients of samples for the fitted components.

        The class describes the problem that they solve. If entries are missing, it is
        solved twice: first with the entries that ``impute`` fills in, then with the
        entries of the first reconstruction. ``fit_transform`` is ``fit`` followed by
        ``transform``; the coefficients of the fit itself are ``coefficients_``.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.
        mask : array-like of bool, or None
            Mask of the missing entries, as for ``fit``.

        Returns
        -------
        coefficients : ndarray of shape (m, n_components)
            On the scale of ``coefficients_``.
        """
        stack, missing = self._read_completed(X, mask)
        samples = self._scale_new(self._flat(to_numpy(stack)))
        coefficients = self._predict_coefficients(samples)
        if missing is None:
            return coefficients
        model = coefficients @ self._centroids
        refilled = np.where(self._flat(to_numpy(missing)), model, samples)
        return self._predict_coefficients(refilled)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_nan(self.missing_values)
        return tags
