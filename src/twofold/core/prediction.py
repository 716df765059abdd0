"""Coefficients of new samples against fitted centroids, projections and neighbours."""

from dataclasses import dataclass

from array_api_compat import array_namespace, device

from twofold.core.arrays import Array, positive_or_one, slices
from twofold.core.grams import both_ways, project
from twofold.core.graphs import graph_kind
from twofold.core.state import Settings, State

_MAX_SWEEPS = 1000

_BLOCK = 4096
"""Samples reconstructed at once when their errors are measured."""


@dataclass(frozen=True)
class FittedSide:
    """What one side of a fitted model needs to meet new samples.

    Attributes
    ----------
    features : array of shape (n, m r)
        The projected training samples.
    centroid_features : array of shape (k, m r)
        The projected centroids.
    bandwidth : array of shape (1, 1)
        Of the heat weights in the last graph.
    """

    features: Array
    centroid_features: Array
    bandwidth: Array


@dataclass(frozen=True)
class FittedModel:
    """What is kept of a run that has ended to place new samples.

    Attributes
    ----------
    sides : tuple of FittedSide
        The left and the right one; a single one where nothing is projected.
    coefficients : array of shape (n, k)
        V of the training samples, before Eq. (adjust).
    graph_weight : float
        lambda_2.
    graph : str
        Name of a kind of graph.
    n_neighbors : int
    """

    sides: tuple[FittedSide, ...]
    coefficients: Array
    graph_weight: float
    graph: str
    n_neighbors: int


def fitted_model(
    samples: Array, state: State, graph_weight: float, settings: Settings
) -> FittedModel:
    """Keep what places new samples.

    Parameters
    ----------
    samples : array of shape (n, c, h, w)
    state : State
        Of one run with these samples.
    graph_weight : float
    settings : Settings
    """
    projections = state.left.projection, state.right.projection
    bandwidths = state.left.graph.bandwidth, state.right.graph.bandwidth
    sides = tuple(
        FittedSide(features, centroid_features, bandwidth[0, ...])
        for features, centroid_features, bandwidth in zip(
            project_both(samples, projections),
            project_both(state.centroids[0, ...], projections),
            bandwidths,
            strict=True,
        )
    )
    coefficients = state.coefficients[0, ...]
    return FittedModel(
        sides, coefficients, graph_weight, settings.graph, settings.n_neighbors
    )


def project_both(samples: Array, projections: tuple[Array, Array]) -> tuple[Array, ...]:
    """Samples (n, c, h, w) projected by Q and by P (1, d, r), each as (n, m r)."""
    return tuple(
        project(view, projection)[0, ...]
        for view, projection in zip(both_ways(samples), projections, strict=True)
    )


@dataclass(frozen=True)
class Edges:
    """The training samples that new ones are joined to on one side.

    Attributes
    ----------
    weights : array of shape (m, q)
    neighbors : integer array of shape (m, q)
    """

    weights: Array
    neighbors: Array

    def sums(self, rows: Array) -> Array:
        """sum_l w_l rows_l over the neighbours l of each new sample: (m, ...)."""
        xp = array_namespace(rows)
        taken = xp.take(rows, self.neighbors.reshape(-1), axis=0)
        taken = taken.reshape(*self.neighbors.shape, rows.shape[1])
        return xp.sum(self.weights[..., None] * taken, axis=1)

    @property
    def degree(self) -> Array:
        """sum_l w_l: (m, 1)."""
        return array_namespace(self.weights).sum(self.weights, axis=1, keepdims=True)


def edges_to(fitted: FittedModel, side: FittedSide, features: Array) -> Edges:
    """The edges of projected new samples (m, d) to the training samples of a side."""
    trained, queries = side.features[None, ...], features[None, ...]
    q = min(fitted.n_neighbors, trained.shape[1])
    kind = graph_kind(fitted.graph)
    weights, neighbors = kind.edges_to(trained, queries, q, side.bandwidth)
    return Edges(weights[0, ...], neighbors[0, ...])


def all_edges(projected: tuple[Array, ...], fitted: FittedModel) -> tuple[Edges, ...]:
    """``edges_to`` of the new samples as each of the fitted sides sees them."""
    return tuple(
        edges_to(fitted, side, features)
        for features, side in zip(projected, fitted.sides, strict=True)
    )


def place(
    projected: tuple[Array, ...], edges: tuple[Edges, ...], fitted: FittedModel
) -> Array:
    """The best coefficients v >= 0 of each new sample, all else being fixed.

    They minimise F of Eq. (sub_v) in the rows of the new samples alone,
    sum_sides ||x P - sum_j v_j U_j P||^2 + lambda_2 sum_l w_l ||v - v_l||^2,
    where l runs over the training samples that it is joined to. A training sample is
    its own nearest one, so that it is also drawn to the coefficients that it had in the
    fit.

    Parameters
    ----------
    projected : tuple of arrays of shape (m, d)
        The new samples as each of the fitted sides sees them.
    edges : tuple of Edges
        Theirs, as from ``all_edges``.
    fitted : FittedModel

    Returns
    -------
    array of shape (m, k)
        On the scale of V before Eq. (adjust).
    """
    weight = fitted.graph_weight
    inner, linear, degree, pulled = 0.0, 0.0, 0.0, 0.0
    for x, joined, side in zip(projected, edges, fitted.sides, strict=True):
        pull = joined.sums(fitted.coefficients)
        inner = inner + side.centroid_features @ side.centroid_features.T
        linear = linear + x @ side.centroid_features.T + weight * pull
        degree, pulled = degree + joined.degree, pulled + pull
    start = pulled / positive_or_one(degree)
    return nonnegative_quadratic(inner, linear, weight * degree, start)


def nonnegative_least_squares(samples: Array, centroids: Array) -> Array:
    """argmin over V >= 0 of ||X - V U||^2, for X (m, d) and U (k, d): (m, k)."""
    xp = array_namespace(samples)
    linear = samples @ centroids.T
    none = xp.zeros_like(linear[:, :1])
    start = xp.zeros_like(linear)
    return nonnegative_quadratic(centroids @ centroids.T, linear, none, start)


def nonnegative_quadratic(
    inner: Array, linear: Array, ridge: Array, start: Array
) -> Array:
    """argmin over v >= 0 of v'(A + ridge I) v - 2 b'v, by coordinate descent.

    Parameters
    ----------
    inner : array of shape (k, k)
        A, symmetric and positive semidefinite, shared by all problems.
    linear : array of shape (m, k)
        b of each problem.
    ridge : array of shape (m, 1)
    start : array of shape (m, k)

    Returns
    -------
    array of shape (m, k)
    """
    xp = array_namespace(linear)
    tolerance = 100 * xp.finfo(linear.dtype).eps
    solution = xp.asarray(start, copy=True)
    going = xp.arange(solution.shape[0], device=device(solution))
    for _ in range(_MAX_SWEEPS):
        before = xp.take(solution, going, axis=0)
        after = _sweep(
            inner,
            xp.take(linear, going, axis=0),
            xp.take(ridge, going, axis=0),
            before,
        )
        solution[going] = after
        change = xp.max(xp.abs(after - before), axis=1)
        going = going[change > tolerance * xp.max(after, axis=1)]
        if going.shape[0] == 0:
            break
    return solution


def _sweep(inner: Array, linear: Array, ridge: Array, solution: Array) -> Array:
    """Each coordinate in turn at its best, the others being as they are by then."""
    xp = array_namespace(linear)
    solution = xp.asarray(solution, copy=True)
    for j in range(solution.shape[1]):
        old = solution[:, j]
        slope = linear[:, j] - solution @ inner[:, j] - ridge[:, 0] * old
        curvature = inner[j, j] + ridge[:, 0]
        best = xp.clip(old + slope / positive_or_one(curvature), min=0.0)
        solution[:, j] = best
    return solution


def reconstruction_errors(
    samples: Array, coefficients: Array, centroids: Array, missing: Array | None = None
) -> Array:
    """||X_i - sum_j v_ij U_j||_F of every sample over what is not missing, as (n,)."""
    xp = array_namespace(samples)
    n = samples.shape[0]
    flat, basis = samples.reshape(n, -1), centroids.reshape(centroids.shape[0], -1)
    errors = []
    for some in slices(n, _BLOCK):
        rest = flat[some, :] - coefficients[some, :] @ basis
        if missing is not None:
            gone = missing.reshape(n, -1)[some, :]
            rest = xp.where(gone, xp.zeros_like(rest), rest)
        errors.append(xp.linalg.vector_norm(rest, axis=1))
    return xp.concat(errors)
