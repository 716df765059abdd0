"""``transform``, ``predict`` and ``inverse_transform`` of a fitted TSNMF."""

from typing import Any

from array_api_compat import array_namespace
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import Array
from twofold.core.missing.completion import Completion
from twofold.estimators.fitted import FittedState, Prediction
from twofold.estimators.missing import ImputingMixin
from twofold.estimators.reading import combine


class PredictionMixin(ClassNamePrefixFeaturesOutMixin, ImputingMixin, TransformerMixin):
    """Predicts new samples by the fitted state of an estimator."""

    state_: FittedState
    labels_: Array  # (n,)

    @property
    def _completion(self) -> Completion | None:
        return self.state_.completion

    def _predict(self, X: Any, mask: Any) -> Prediction:
        samples, missing = self._read_completed(X, mask)
        return self.state_.predict(samples, missing)

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
        return self._predict(X, mask).coefficients

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
        prediction = self._predict(X, mask)  # first: it raises if there is no fit
        labels = self.state_.labels_of(prediction)
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
