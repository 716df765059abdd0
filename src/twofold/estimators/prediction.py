"""What a fitted TSNMF answers to new samples."""

from typing import Any

from array_api_compat import array_namespace, device
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import Array, like, to_numpy
from twofold.core.missing.filling import fill
from twofold.core.prediction import (
    Edges,
    FittedModel,
    all_edges,
    place,
    project_both,
)
from twofold.estimators.labels import PlacedClusters
from twofold.estimators.missing import ImputingMixin
from twofold.estimators.samples import combine, new_divisors, scaled, to_stack


class PlacingMixin(ImputingMixin, TransformerMixin):
    """``transform``, ``predict`` and ``inverse_transform``, besides ``impute``.

    Attributes
    ----------
    _fitted : FittedModel
    _clusters : PlacedClusters
    _projections : arrays of shape (1, h, r) and (1, w, r)
    _lengths : array of shape (1, k)
        By which the columns of V were divided.
    _scaling : (str, float)
        What new samples are divided by: their own norm or the typical one.
    _energy_weight : float
        lambda_1 of the fit.
    """

    components_: Array
    labels_: Array
    _fitted: FittedModel
    _clusters: PlacedClusters
    _projections: tuple[Array, Array]
    _lengths: Array
    _scaling: tuple[str, float]
    _energy_weight: float

    def transform(self, X: Any, *, mask: Any = None) -> Array:
        """Coefficients of samples against the fitted centroids.

        Each sample gets the nonnegative coefficients that best reconstruct it in
        the fitted directions while staying close to those of its nearest training
        samples. A training sample is its own nearest one, so that it gets
        coefficients close to its row of ``coefficients_``, though not the same:
        the fit stops before V is at its optimum. ``fit_transform`` is ``fit`` and
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
        return self._place(*self._read_completed(X, mask))[0]

    def _place(
        self, samples: Array, missing: Array | None
    ) -> tuple[Array, tuple[Edges, ...]]:
        """Coefficients and edges of samples as from ``_read_completed``."""
        dtype = to_numpy(self.components_).dtype
        divisor = new_divisors(samples, *self._scaling, dtype)
        # Scaled in their own precision, which may hold more than that of the model.
        samples = like(scaled(samples, divisor), self.components_)
        coefficients, edges = self._place_scaled(samples)
        if missing is not None:
            # Once more with what the model fills in, as in the fit.
            samples = self._refilled(samples, missing, coefficients)
            coefficients, edges = self._place_scaled(samples)
        return coefficients, edges

    def _place_scaled(self, samples: Array) -> tuple[Array, tuple[Edges, ...]]:
        """``_place`` of complete samples (m, c, h, w) that are scaled."""
        projected = project_both(samples, self._projections)
        edges = all_edges(projected, self._fitted)
        return place(projected, edges, self._fitted) / self._lengths, edges

    def _refilled(self, samples: Array, missing: Array, coefficients: Array) -> Array:
        """Scaled samples (m, c, h, w) after one step of their missing entries."""
        xp = array_namespace(samples)
        missing = xp.asarray(to_numpy(missing), device=device(samples))
        images = self.components_ / self._scaling[1]
        centroids = to_stack(images.reshape(images.shape[0], -1), self.sample_shape_)
        factors = coefficients[None, ...], centroids[None, ...]
        weight = like([[[self._energy_weight]]], samples)
        return fill(samples, missing, factors, self._projections, weight)[0, ...]

    def predict(self, X: Any, *, mask: Any = None) -> Array:
        """The cluster of the training samples that each of X is joined to.

        That is the one which has most of the weight of its edges to its nearest
        training samples on both sides. With ``assign_labels="k-means"`` it is the one
        whose samples have the nearest coefficients on average, as from ``transform``.

        Parameters
        ----------
        X, mask
            As for ``transform``.

        Returns
        -------
        labels : array of shape (m,)
        """
        coefficients, edges = self._place(*self._read_completed(X, mask))
        labels = self._clusters.of(edges, coefficients)
        return array_namespace(labels).astype(labels, self.labels_.dtype)

    def inverse_transform(self, X: Any) -> Array:
        """The images that coefficients stand for.

        Parameters
        ----------
        X : array-like of shape (m, n_clusters)
            Coefficients, as from ``transform``.

        Returns
        -------
        images : array of shape (m, h, w[, c]) or (m, f)
            With ``scale="sample"`` they have the typical norm of the training
            samples, since their own is not part of the coefficients.
        """
        check_is_fitted(self)
        return combine(X, self.components_, "n_clusters")
