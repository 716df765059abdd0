"""Prediction of the coefficients of new samples."""

from dataclasses import dataclass, replace
from typing import Any

from array_api_compat import array_namespace, device

from twofold.core.arrays import AnyArray, Array, positive_or_one, slices
from twofold.core.grams import both_ways, project
from twofold.core.graphs import graph_kind
from twofold.core.graphs.graph import Edges
from twofold.core.state import State
from twofold.core.terms import TERMS

_MAX_SWEEPS = 1000
"""Maximum number of sweeps of the coordinate descent."""

_BLOCK_ENTRIES = 2**22
"""Number of entries that are reconstructed at once."""


@dataclass(frozen=True)
class TrainingSide:
    """The training samples of one side, with which new samples are compared."""

    features: Array  # (n, m r), projected training samples
    centroid_features: Array  # (k, m r), projected centroids
    bandwidth: Array  # (1, 1), bandwidth of the last graph


@dataclass(frozen=True)
class Predictor:
    """Predicts the coefficients of new samples."""

    sides: tuple[TrainingSide, ...]  # left and right; one side if nothing is projected
    coefficients: Array  # (n, k), V of the training samples, before Eq. (adjust)
    weights: dict[str, float]  # weights of the terms of the objective, by parameter
    graph: str  # name of a kind of graph
    n_neighbors: int
    # What the kind of graph makes of each side, if many blocks are to share it.
    prepared: tuple[Any, ...] | None = None

    def for_blocks(self) -> "Predictor":
        """Return a predictor that shares among calls what they all make anew."""
        kind = graph_kind(self.graph)
        shared = tuple(kind.prepared(side.features) for side in self.sides)
        return replace(self, prepared=shared)

    def edges(self, projected: tuple[Array, ...]) -> tuple[Edges, ...]:
        """Join new samples, projected by each side (m, d), to the training samples."""
        kind = graph_kind(self.graph)
        q = min(self.n_neighbors, self.coefficients.shape[0])
        return tuple(
            kind.edges_to(side.features, features, q, side.bandwidth, known)
            for features, side, known in zip(
                projected,
                self.sides,
                self.prepared or (None,) * len(self.sides),
                strict=True,
            )
        )

    def predict(self, projected: tuple[Array, ...], edges: tuple[Edges, ...]) -> Array:
        """Return the best coefficients v >= 0 of every new sample.

        They minimise F of Eq. (sub_v) in the rows of the new samples,
        sum_sides ||x P - sum_j v_j U_j P||^2 + lambda_2 sum_l w_l ||v - v_l||^2,
        where l are the training samples to which a new sample is joined, and the
        overlap of v, with which the minimum may be a local one. A training
        sample is its own nearest neighbour, so it is drawn to the coefficients that it
        had in the fit.

        Parameters
        ----------
        projected : tuple of arrays of shape (m, d)
            The new samples, projected by each side.
        edges : tuple of Edges
            The result of ``edges`` for these samples.

        Returns
        -------
        array of shape (m, k)
            On the scale of V before Eq. (adjust).
        """
        zero: Any = 0.0  # the sums become arrays
        inner = linear = diagonal = degree = mean = zero
        for x, joined, side in zip(projected, edges, self.sides, strict=True):
            inner = inner + side.centroid_features @ side.centroid_features.T
            linear = linear + x @ side.centroid_features.T
            for term in TERMS:
                weight = self.weights.get(term.parameter, 0.0)
                parts = term.new_row_parts(joined, self.coefficients, weight)
                if parts is not None:
                    diagonal, linear = diagonal + parts[0], linear + parts[1]
                matrix = term.new_row_matrix(self.coefficients, weight)
                if matrix is not None:
                    inner = inner + matrix
            degree = degree + joined.degree
            mean = mean + joined.sums(self.coefficients)
        # The weighted mean of the neighbours is the minimum of the smoothness.
        start = mean / positive_or_one(degree)
        return nonnegative_quadratic(inner, linear, diagonal, start)


def training_sides(samples: Array, state: State) -> tuple[TrainingSide, ...]:
    """Return both sides of the training samples (n, c, h, w) for a batch of one."""
    projections = state.left.projection, state.right.projection
    bandwidths = state.left.graph.bandwidth, state.right.graph.bandwidth
    return tuple(
        TrainingSide(features, centroid_features, bandwidth[0, ...])
        for features, centroid_features, bandwidth in zip(
            project_both(samples, projections),
            project_both(state.centroids[0, ...], projections),
            bandwidths,
            strict=True,
        )
    )


def project_both(samples: Array, projections: tuple[Array, Array]) -> tuple[Array, ...]:
    """Project samples (n, c, h, w) by Q and by P (1, d, r), each flattened (n, m r)."""
    return tuple(
        project(view, projection)[0, ...]
        for view, projection in zip(both_ways(samples), projections, strict=True)
    )


def nonnegative_least_squares(samples: AnyArray, centroids: Array) -> AnyArray:
    """Minimise ||X - V U||^2 over V >= 0, for X (m, d) and U (k, d): (m, k)."""
    xp = array_namespace(samples)
    linear = samples @ centroids.T
    none = xp.zeros_like(linear[:, :1])
    start = xp.zeros_like(linear)
    return nonnegative_quadratic(centroids @ centroids.T, linear, none, start)


def nonnegative_quadratic(
    inner: Array, linear: AnyArray, diagonal: Array, start: Array
) -> AnyArray:
    """Minimise v'(A + diag) v - 2 b'v over v >= 0, by coordinate descent.

    Parameters
    ----------
    inner : array of shape (k, k)
        A, symmetric, the same for all m problems. If it is not positive semidefinite,
        the minimum is one along every coordinate.
    linear : array of shape (m, k)
        b of each problem.
    diagonal : array of shape (m, 1)
        Multiple of the identity that is added to A, for each problem.
    start : array of shape (m, k)
    """
    xp = array_namespace(linear)
    tolerance = 100 * xp.finfo(linear.dtype).eps  # changes below it may be rounding
    solution = xp.asarray(start, copy=True)
    running = xp.arange(solution.shape[0], device=device(solution))
    for _ in range(_MAX_SWEEPS):
        before = xp.take(solution, running, axis=0)
        after = _sweep(
            inner,
            xp.take(linear, running, axis=0),
            xp.take(diagonal, running, axis=0),
            before,
        )
        solution[running] = after
        # Each problem stops by itself: its solution does not depend on the others.
        change = xp.max(xp.abs(after - before), axis=1)
        running = running[change > tolerance * xp.max(after, axis=1)]
        if running.shape[0] == 0:
            break
    return solution


def _sweep(inner: Array, linear: Array, diagonal: Array, solution: Array) -> Array:
    """Minimise over each coordinate in turn, the others being fixed."""
    xp = array_namespace(linear)
    solution = xp.asarray(solution, copy=True)
    for j in range(solution.shape[1]):
        old = solution[:, j]
        slope = linear[:, j] - solution @ inner[:, j] - diagonal[:, 0] * old
        curvature = inner[j, j] + diagonal[:, 0]
        # A coordinate without curvature has no slope either, and stays where it is.
        best = xp.clip(old + slope / positive_or_one(curvature), min=0.0)
        solution[:, j] = best
    return solution


def reconstruction_errors(
    samples: Array, coefficients: Array, centroids: Array, missing: Array | None = None
) -> Array:
    """Compute ||X_i - sum_j v_ij U_j||_F over the observed entries: (n,)."""
    xp = array_namespace(samples)
    n = samples.shape[0]
    flat, basis = samples.reshape(n, -1), centroids.reshape(centroids.shape[0], -1)
    errors = []
    for block in slices(n, _BLOCK_ENTRIES // flat.shape[1]):
        residual = flat[block, :] - coefficients[block, :] @ basis
        if missing is not None:
            hidden = missing.reshape(n, -1)[block, :]
            residual = xp.where(hidden, xp.zeros_like(residual), residual)
        errors.append(xp.linalg.vector_norm(residual, axis=1))
    return xp.concat(errors)
