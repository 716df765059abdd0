"""``transform``, ``predict`` and ``inverse_transform`` of a fitted TSNMF."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import Array, slices
from twofold.core.missing.completion import Completion
from twofold.estimators.fitted import FittedState, Prediction
from twofold.estimators.missing import ImputingMixin
from twofold.estimators.reading import combine
from twofold.io.stored import StoredRows

_BLOCK_ENTRIES, _BLOCK_SAMPLES = 2**23, 2**13
"""Number of entries, and of samples, that are predicted at once."""


def prediction_blocks(X: Any, mask: Any = None) -> list[slice]:
    """Return slices that divide X into blocks that are predicted one by one.

    Whatever is no array of numbers in memory or in a file is a single block.
    """
    plain = isinstance(X, np.ndarray | StoredRows)
    if not plain or isinstance(X, np.ma.MaskedArray) or X.dtype.kind not in "biuf":
        return [slice(None)]
    if len(X.shape) < 2 or 0 in X.shape:
        return [slice(None)]
    step = min(_BLOCK_SAMPLES, _BLOCK_ENTRIES // math.prod(X.shape[1:]))
    whole_mask = mask is None or getattr(mask, "shape", ())[:1] == X.shape[:1]
    return slices(len(X), step) if whole_mask else [slice(None)]


class PredictionMixin(ClassNamePrefixFeaturesOutMixin, ImputingMixin, TransformerMixin):
    """Predicts new samples by the fitted state of an estimator."""

    state_: FittedState
    labels_: Array  # (n,)

    @property
    def _completion(self) -> Completion | None:
        return self.state_.completion

    def _predict(self, X: Any, mask: Any, part: Callable[[Prediction], Array]) -> Array:
        """Return a part of the predictions of X.

        Numbers of X are converted, mapped and compared by blocks, so that memory does
        not grow with n but for the part itself.
        """
        check_is_fitted(self)
        blocks, state = prediction_blocks(X, mask), self.state_
        if len(blocks) == 1:
            return part(state.predict(*self._read_completed(X, mask)))
        state, parts = state.for_blocks(), []
        for block in blocks:
            marks = None if mask is None else mask[block]
            try:
                samples, missing = self._read_completed(X[block], marks)
            except ValueError:
                self._read_completed(X, mask)  # which counts in all of X
                raise
            parts.append(part(state.predict(samples, missing)))
        return array_namespace(parts[0]).concat(parts)

    def transform(self, X: Any, *, mask: Any = None) -> Array:
        """Coefficients of samples against the fitted centroids.

        Each sample gets the nonnegative coefficients that best reconstruct it in the
        fitted directions while staying close to the coefficients of its nearest
        training samples. A training sample is its own nearest neighbour, so its
        coefficients are close to its row of ``coefficients_``. They are not the same,
        since the fit stops before V is at its optimum. ``fit_transform`` is ``fit`` and
        then ``transform``.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.
        mask : array-like of bool, or None
            As for ``fit``.

        Returns
        -------
        coefficients : array of shape (m, n_clusters)
            On the scale of ``coefficients_``.
        """
        return self._predict(X, mask, lambda found: found.coefficients)

    def predict(self, X: Any, *, mask: Any = None) -> Array:
        """Cluster of each sample.

        It is the cluster with most of the weight of the edges that join the sample to
        its nearest training samples on both sides, whatever the weights of merged
        samples, so that a training sample among many copies of others may get another
        label than that of the fit. With ``assign_labels="k-means"`` it is the cluster
        whose mean coefficients, as from ``transform``, are nearest.

        Parameters
        ----------
        X, mask
            As for ``transform``.

        Returns
        -------
        labels : array of shape (m,)
        """
        labels = self._predict(X, mask, lambda found: self.state_.labels_of(found))
        return array_namespace(labels).astype(labels, self.labels_.dtype)

    def inverse_transform(self, X: Any) -> Array:
        """Images reconstructed from coefficients.

        Parameters
        ----------
        X : array-like of shape (m, n_clusters)
            Coefficients, as from ``transform``.

        Returns
        -------
        images : array of shape (m, h, w[, c]) or (m, f)
            With ``scale="sample"`` they have the typical norm of the training
            samples, since the norm of a sample is not part of its coefficients.
        """
        check_is_fitted(self)
        return combine(X, self.state_.components, "n_clusters")
