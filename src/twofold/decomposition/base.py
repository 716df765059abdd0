"""What the decompositions share: reading stacks or flat samples, and inverting."""

from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import to_numpy
from twofold.estimators.reading import combine, from_stack, read_samples


class Decomposition(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer of (n, h, w[, c]) stacks or flat (n, f) samples to (n, k) codes.

    A subclass has the parameter ``sample_shape``, and sets ``components_`` unless it
    overrides ``inverse_transform`` and ``_n_features_out``.
    """

    sample_shape: tuple[int, ...] | None
    sample_shape_: tuple[int, ...]
    components_: np.ndarray

    def _read_stack(self, X: Any, *, reset: bool) -> np.ndarray:
        """Validated samples (n, c, h, w); tensors are brought to the CPU."""
        shape = self.sample_shape if reset else self.sample_shape_
        samples, _, shape = read_samples(self, X, shape, reset=reset)
        if reset:
            self.sample_shape_ = shape
        return to_numpy(samples)

    def _read_flat(self, X: Any, *, reset: bool) -> np.ndarray:
        """Validated samples (n, f)."""
        return self._flat(self._read_stack(X, reset=reset))

    def _flat(self, stack: np.ndarray) -> np.ndarray:
        """Samples (n, c, h, w) as rows (n, f), in the order that the user gave."""
        return from_stack(stack, self.sample_shape_).reshape(len(stack), -1)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The samples that codes stand for.

        Parameters
        ----------
        X : array-like of shape (m, k)
            Codes, as from ``transform``.

        Returns
        -------
        samples : ndarray of shape (m, h, w[, c]) or (m, f)
        """
        check_is_fitted(self)
        return combine(X, self.components_, "n_components")

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
