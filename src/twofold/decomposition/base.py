"""Base class of the decompositions: reading samples and inverting the transform."""

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
    """Base transformer from (n, h, w[, c]) stacks or flat (n, f) samples to codes.

    Codes are of shape (n, k). A subclass must have the parameter ``sample_shape``, and
    must set ``components_`` unless it overrides ``inverse_transform`` and
    ``_n_features_out``.
    """

    sample_shape: tuple[int, ...] | None
    sample_shape_: tuple[int, ...]
    components_: np.ndarray

    def _read_stack(self, X: Any, *, reset: bool) -> np.ndarray:
        """Validate X and return it as a NumPy array of shape (n, c, h, w)."""
        shape = self.sample_shape if reset else self.sample_shape_
        samples, _, shape = read_samples(self, X, shape, reset=reset)
        if reset:
            self.sample_shape_ = shape
        return to_numpy(samples)

    def _read_flat(self, X: Any, *, reset: bool) -> np.ndarray:
        """Validate X and return it as a NumPy array of shape (n, f)."""
        return self._flat(self._read_stack(X, reset=reset))

    def _flat(self, stack: np.ndarray) -> np.ndarray:
        """Flatten samples (n, c, h, w) to (n, f), entries in the order of X."""
        return from_stack(stack, self.sample_shape_).reshape(len(stack), -1)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Reconstruct samples from codes.

        Parameters
        ----------
        X : array-like of shape (m, k)
            Codes, as returned by ``transform``.

        Returns
        -------
        samples : ndarray of shape (m, h, w[, c]) or (m, f)
            Reconstructed samples. A model fitted with ``scale="sample"`` reconstructs
            them on the scale of the root mean square norm of the training samples,
            because the norm of a sample is not part of its codes.
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
