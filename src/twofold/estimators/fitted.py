"""The fitted state of TSNMF: all that prediction, results and model files share."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace, device

from twofold.core.arrays import Array, like, to_numpy
from twofold.core.graphs.graph import Edges
from twofold.core.missing.completion import Completion
from twofold.core.missing.filling import fill
from twofold.core.modularity import indicator
from twofold.core.prediction import Predictor, project_both
from twofold.estimators.labels import mean_rows
from twofold.estimators.reading import to_stack
from twofold.estimators.scaling import new_divisors, scaled


@dataclass(frozen=True)
class Prediction:
    """The coefficients of new samples (m, k), and their edges to training samples."""

    coefficients: Array
    edges: tuple[Edges, ...]


@dataclass(frozen=True)
class FittedState:
    """What a fit leaves behind to predict new samples.

    Attributes
    ----------
    components : array of shape (k, *sample_shape)
        U, the centroids in the unit of the pixels.
    projections : arrays of shape (1, h, r) and (1, w, r)
        Q and P.
    predictor : Predictor
        Training samples with which new samples are compared.
    lengths : array of shape (1, k)
        Lengths of the columns of V before Eq. (adjust).
    labels : ndarray of shape (n,)
        Labels of the training samples, in the order of ``predictor``.
    assign_labels : {"graph", "k-means"}
        How the labels were assigned.
    scale : {"sample", "global"}
        Whether samples are divided by their own norm or by the typical norm.
    typical_norm : float
        Root mean square norm of the training samples.
    sample_shape : tuple of int
        (h, w), (h, w, c) or (f,).
    completion : Completion or None
        Completion of missing entries; None if the fit allowed none.
    known_centers : array of shape (n_found, k) or None
        ``centers`` as a model file has them; None to compute them when needed.
    """

    components: Array
    projections: tuple[Array, Array]
    predictor: Predictor
    lengths: Array
    labels: np.ndarray
    assign_labels: str
    scale: str
    typical_norm: float
    sample_shape: tuple[int, ...]
    completion: Completion | None
    known_centers: Array | None = None

    def predict(self, samples: Array, missing: Array | None = None) -> Prediction:
        """Predict the coefficients of completed samples (m, c, h, w).

        ``missing`` marks the entries that were missing; None if there were none.
        """
        dtype = to_numpy(self.components).dtype
        divisor = new_divisors(samples, self.scale, self.typical_norm, dtype)
        # Scaled in their own precision, which may exceed the precision of the model.
        samples = like(scaled(samples, divisor), self.components)
        prediction = self._predict_scaled(samples)
        if missing is None:
            return prediction
        # Once more with the missing entries that the model fills in, as in the fit.
        return self._predict_scaled(self._refilled(samples, missing, prediction))

    def _predict_scaled(self, samples: Array) -> Prediction:
        projected = project_both(samples, self.projections)
        edges = self.predictor.edges(projected)
        coefficients = self.predictor.predict(projected, edges) / self.lengths
        return Prediction(coefficients, edges)

    def _refilled(
        self, samples: Array, missing: Array, prediction: Prediction
    ) -> Array:
        """Take one step of the missing entries of scaled samples (m, c, h, w)."""
        xp = array_namespace(samples)
        missing = xp.asarray(to_numpy(missing), device=device(samples))
        images = self.components / self.typical_norm
        centroids = to_stack(images.reshape(images.shape[0], -1), self.sample_shape)
        factors = prediction.coefficients[None, ...], centroids[None, ...]
        weight = like([[[self.predictor.weights["energy_weight"]]]], samples)
        return fill(samples, missing, factors, self.projections, weight)[0, ...]

    def labels_of(self, prediction: Prediction) -> Array:
        """Return the cluster of every predicted sample: (m,).

        It is the cluster with most of the weight of the edges of the sample. With
        K-means, or if no edge has any weight, it is the cluster of the nearest center.
        """
        if self.assign_labels == "k-means":
            return self._nearest_center(prediction.coefficients)
        xp = array_namespace(prediction.coefficients)
        members = like(indicator(self.labels).toarray(), prediction.coefficients)
        votes = sum(edges.sums(members) for edges in prediction.edges)
        joined = xp.any(votes > 0, axis=1)
        labels = xp.argmax(votes, axis=1)
        if xp.all(joined):
            return labels
        centers = self._nearest_center(prediction.coefficients)
        return xp.where(joined, labels, centers)

    @cached_property
    def centers(self) -> Array:
        """Mean coefficients of each cluster, one row each.

        The training samples are predicted as new samples are, since a fit stops before
        V is at its optimum.
        """
        if self.known_centers is not None:
            return self.known_centers
        projected = tuple(side.features for side in self.predictor.sides)
        edges = self.predictor.edges(projected)
        coefficients = self.predictor.predict(projected, edges) / self.lengths
        return like(mean_rows(to_numpy(coefficients), self.labels), coefficients)

    def _nearest_center(self, coefficients: Array) -> Array:
        """Return the cluster whose center is nearest to each row (m, k)."""
        xp = array_namespace(coefficients)
        squared = xp.sum(self.centers**2, axis=1) - 2 * coefficients @ self.centers.T
        return xp.argmin(squared, axis=1)
