"""The fitted state of TSNMF: all that prediction, results and model files share."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from twofold.channels.align import Alignment
from twofold.core.arrays import Array, like, to_numpy
from twofold.core.graphs.graph import Edges, Graph
from twofold.core.missing.completion import Completion
from twofold.core.missing.filling import fill
from twofold.core.modularity import indicator
from twofold.core.prediction import Predictor, project_both
from twofold.estimators.labels import mean_rows
from twofold.estimators.mapping import Mapping
from twofold.estimators.reading import to_stack
from twofold.estimators.scaling import largest_entry, new_divisors, scaled

LEAST_STRUCTURE = 0.4
"""Structure from which on there are clusters; docs/number.md has what noise reaches."""


@dataclass(frozen=True)
class Assessment:
    """What can be told of a fit without labels."""

    # A - A_0 + B - 1/2 of ``core.structure``: about 0 where there is nothing to be
    # found, and up to 1.5; NaN if there are too few samples to tell.
    structure: float
    agreement: float  # A, adjusted Rand index of clusters by halves of the samples
    # (n,), as X: how probable it is that a sample is of the majority class of its
    # cluster, so that of samples of 0.9 nine in ten should be; None in a model file.
    confidence: np.ndarray | None

    @property
    def found(self) -> bool:
        """Whether there are clusters, as far as can be told."""
        return not self.structure < LEAST_STRUCTURE


@dataclass(frozen=True)
class Prediction:
    """The coefficients of new samples, and their edges to training samples."""

    coefficients: Array  # (m, k)
    edges: tuple[Edges, ...]  # of the left and of the right side


@dataclass(frozen=True)
class FittedState:
    """What a fit leaves behind to predict new samples."""

    components: Array  # (k, *sample_shape), U in the unit of the pixels
    projections: tuple[Array, Array]  # Q (1, h, r) and P (1, w, r)
    predictor: Predictor  # training samples, with which new samples are compared
    lengths: Array  # (1, k), lengths of the columns of V before Eq. (adjust)
    labels: np.ndarray  # (rows,), of the training samples as predictor has them
    assign_labels: str  # as the parameter of TSNMF
    scale: str  # "sample" or "global": divide by the norm of a sample or typical_norm
    typical_norm: float  # root mean square norm of the training samples
    sample_shape: tuple[int, ...]  # (h, w), (h, w, c) or (f,)
    completion: Completion | None  # None if the fit allowed no missing entries
    alignment: Alignment | None = None  # None if images stay where they are
    # from pixels to what was factorised; None if it was the samples themselves
    mapping: Mapping | None = None
    # (rows,), weights of the training samples in ``centers``; None if all are 1
    sample_weight: np.ndarray | None = None
    # (n_found, k), centers as read from a model file; None to compute them when needed
    known_centers: Array | None = None
    assessment: Assessment | None = None  # None if the fit was not assessed
    # Of training samples alone, not in model files: both graphs, and the row (n,) of
    # each sample of X.
    graphs: tuple[Graph, Graph] | None = None
    row_of: np.ndarray | None = None

    @property
    def placed_labels(self) -> np.ndarray:
        """The cluster of each training sample as X, also of those that are outliers."""
        assert self.row_of is not None
        return self.labels[self.row_of]

    def predict(self, samples: Array, missing: Array | None = None) -> Prediction:
        """Predict the coefficients of completed samples (m, c, h, w).

        ``missing`` marks the entries that were missing; None if there were none.
        """
        return self.predict_aligned(self.aligned(samples), missing)

    def for_blocks(self) -> "FittedState":
        """Return a state that predicts many blocks of samples, for as long as it does.

        It holds more memory: what all blocks need of the training samples.
        """
        return replace(self, predictor=self.predictor.for_blocks())

    def aligned(self, samples: Array) -> Array:
        """Align completed samples (m, c, h, w), if the fit did."""
        return samples if self.alignment is None else self.alignment.aligned(samples)

    def predict_aligned(
        self, samples: Array, missing: Array | None = None
    ) -> Prediction:
        """As ``predict``, of samples that are ``aligned`` already."""
        samples = self._factorized(samples)
        prediction = self._predict_projected(project_both(samples, self.projections))
        if missing is None or self.mapping is not None or self.alignment is not None:
            return prediction
        # Once more with the missing entries that the model fills in, as in the fit.
        samples = self._refilled(samples, missing, prediction)
        return self._predict_projected(project_both(samples, self.projections))

    def projected(self, samples: Array) -> tuple[Array, ...]:
        """Project completed samples (m, c, h, w) by each side: arrays (m, d)."""
        samples = self._factorized(self.aligned(samples))
        return project_both(samples, self.projections)

    def _factorized(self, samples: Array) -> Array:
        """Map and scale aligned samples (m, c, h, w) as those that were factorised."""
        dtype = to_numpy(self.components).dtype
        if self.mapping is not None:
            samples = self.mapping.new_samples(samples, dtype)
        else:
            divisor = new_divisors(samples, self.scale, self.typical_norm, dtype)
            samples = scaled(samples, divisor)
        # Scaled in their own precision, which may exceed the precision of the model.
        return like(samples, self.components)

    def _predict_projected(self, projected: tuple[Array, ...]) -> Prediction:
        # The numbers of a forged model file may be finite but not their products.
        with np.errstate(over="ignore", invalid="ignore"):
            edges = self.predictor.edges(projected)
            coefficients = self.predictor.predict(projected, edges) / self.lengths
        peak = float(array_namespace(coefficients).max(coefficients))
        if not peak <= largest_entry(coefficients, math.prod(coefficients.shape)):
            raise ValueError(
                f"the model must give X finite coefficients, got {peak:.0e}: its "
                "numbers do not fit together; fit it again"
            )
        return Prediction(coefficients, edges)

    def _refilled(self, samples: Array, missing: Array, first: Prediction) -> Array:
        """Take one step of the missing entries of scaled samples (m, c, h, w)."""
        xp = array_namespace(samples)
        missing = xp.asarray(to_numpy(missing), device=device(samples))
        images = self.components / self.typical_norm
        centroids = to_stack(images.reshape(images.shape[0], -1), self.sample_shape)
        factors = first.coefficients[None, ...], centroids[None, ...]
        weight = like([[[self.predictor.weights["energy_weight"]]]], samples)
        return fill(samples, missing, factors, self.projections, weight)[0, ...]

    def labels_of(self, prediction: Prediction) -> Array:
        """Return the cluster of every predicted sample: (m,).

        It is the cluster with most of the weight of the edges of the sample. With
        K-means, or if no edge has any weight, it is the cluster of the nearest center.
        """
        if self.assign_labels == "k-means":
            return self._nearest_center(prediction.coefficients)
        xp, votes = array_namespace(prediction.coefficients), self.votes_of(prediction)
        labels, joined = xp.argmax(votes, axis=1), xp.any(votes > 0, axis=1)
        if xp.all(joined):  # the centers are costly to compute
            return labels
        return xp.where(joined, labels, self._nearest_center(prediction.coefficients))

    def votes_of(self, prediction: Prediction) -> Array:
        """Return the weights (m, k) of the edges of samples to each cluster."""
        members = like(indicator(self.labels).toarray(), prediction.coefficients)
        votes: Any = 0.0  # the sum becomes an array
        for edges in prediction.edges:
            votes = votes + edges.sums(members)
        return votes

    @cached_property
    def centers(self) -> Array:
        """Mean coefficients of each cluster, one row each.

        With K-means, whose labels are those of the nearest center, the training samples
        are predicted as new samples are, since a fit stops before V is at its optimum.
        For other labels centers are asked for samples without an edge alone, and the
        rows of V are near enough.
        """
        if self.known_centers is not None:
            return self.known_centers
        coefficients = self.predictor.coefficients / self.lengths
        if self.assign_labels == "k-means":
            projected = tuple(side.features for side in self.predictor.sides)
            coefficients = self._predict_projected(projected).coefficients
        means = mean_rows(to_numpy(coefficients), self.labels, self.sample_weight)
        return like(means, coefficients)

    def _nearest_center(self, coefficients: Array) -> Array:
        """Return the cluster whose center is nearest to each row (m, k)."""
        xp = array_namespace(coefficients)
        # |v - c|^2 without |v|^2, which is the same for all centers
        squared = xp.sum(self.centers**2, axis=1) - 2 * coefficients @ self.centers.T
        return xp.argmin(squared, axis=1)
