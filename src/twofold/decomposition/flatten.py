"""Flatten: a pipeline step that turns stacks into rows."""

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from twofold._sklearn import _fit_context
from twofold.decomposition.base import Decomposition
from twofold.estimators.reading import read_codes


class Flatten(OneToOneFeatureMixin, Decomposition):
    """Flatten samples to rows, for estimators of two-dimensional input.

    Parameters
    ----------
    sample_shape : tuple of int or None, default=None
        Shape (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X, which
        ``inverse_transform`` restores. If None, the shape is that of the samples in X.

    Attributes
    ----------
    sample_shape_ : tuple of int
        Shape of a sample.
    n_features_in_ : int
        Number of entries of a sample.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from twofold.decomposition import Flatten
    >>> model = make_pipeline(Flatten(), KMeans(10, random_state=0))
    >>> model.fit_predict(load_digits().images).shape
    (1797,)
    """

    _parameter_constraints: dict[str, list[Any]] = {"sample_shape": [tuple, list, None]}

    def __init__(self, *, sample_shape: tuple[int, ...] | None = None) -> None:
        self.sample_shape = sample_shape

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "Flatten":
        """Store the shape of the samples.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, f)
        y : ignored

        Returns
        -------
        self : Flatten
        """
        self._read_flat(X, reset=True)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Flatten the samples to rows.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.

        Returns
        -------
        rows : ndarray of shape (m, f)
        """
        check_is_fitted(self)
        return self._read_flat(X, reset=False)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Reshape rows to samples.

        Parameters
        ----------
        X : array-like of shape (m, f)

        Returns
        -------
        samples : ndarray of shape (m, h, w[, c]) or (m, f)
            Samples of the fitted shape.
        """
        check_is_fitted(self)
        rows = read_codes(X, self.n_features_in_, "n_features")
        return rows.reshape(-1, *self.sample_shape_)
