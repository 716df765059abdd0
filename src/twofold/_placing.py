"""What a fitted TSNMF answers to new samples."""

from typing import Any

from array_api_compat import array_namespace, device
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from twofold._labels import PlacedClusters
from twofold._missing import ImputingMixin
from twofold._samples import combine, new_divisors, scaled, to_stack
from twofold.core.arrays import Array, like, to_numpy
from twofold.core.holes import fill
from twofold.core.placement import FittedModel, place, project_both


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
        return self._place(X, mask)

    def _place(self, X: Any, mask: Any = None) -> Array:
        """``transform`` as an array, whatever ``set_output`` asks for."""
        return self._place_completed(*self._read_completed(X, mask))

    def _place_completed(self, samples: Array, missing: Array | None) -> Array:
        """``_place`` of samples as from ``_read_completed``."""
        dtype = to_numpy(self.components_).dtype
        divisor = new_divisors(samples, *self._scaling, dtype)
        # Scaled in their own precision, which may hold more than that of the model.
        samples = like(scaled(samples, divisor), self.components_)
        coefficients = place(project_both(samples, self._projections), self._fitted)
        if missing is not None:
            # Once more with what the model fills in, as in the fit.
            samples = self._refilled(samples, missing, coefficients / self._lengths)
            projected = project_both(samples, self._projections)
            coefficients = place(projected, self._fitted)
        return coefficients / self._lengths

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
        """The cluster whose training samples are on average nearest to those of X.

        Both are compared by their coefficients, as from ``transform``.

        Parameters
        ----------
        X, mask
            As for ``transform``.

        Returns
        -------
        labels : array of shape (m,)
        """
        coefficients = self._place(X, mask)
        nearest = self._clusters.nearest(coefficients)
        return array_namespace(nearest).astype(nearest, self.labels_.dtype)

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
