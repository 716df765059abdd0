"""Robust manifold NMF by the augmented Lagrangian method (ALM).

Eq. (rmnmf): minimise ||X - V U||_{2,1} + lambda Tr(V' L V) over V >= 0 with V'V = I,
where ||.||_{2,1} adds up the Euclidean norms of the rows, one for each sample.

Each constraint gets a variable of its own, E = X - V U and H = V, so that V is
orthonormal, H is nonnegative, and both meet in the end; the graph term is written as
Tr(V' L H). With multipliers Y and Z and a penalty rho the augmented Lagrangian is

    ||E||_{2,1} + lambda Tr(V' L H) + <Y, X - V U - E> + rho/2 ||X - V U - E||^2
                                    + <Z, V - H>       + rho/2 ||V - H||^2

and every iteration puts E, U, H and V in turn at their minimum, moves the multipliers
along the constraints that are left open, and raises rho by a constant factor.
"""

from dataclasses import dataclass, replace

import numpy as np

from twofold.core.arrays import positive_or_one
from twofold.core.convergence import ConvergenceMonitor
from twofold.core.graphs.graph import Graph
from twofold.core.objective import smoothness
from twofold.core.prediction import FittedModel, edges_to
from twofold.core.solver import Progress

FIRST_PENALTY, GROWTH = 1e-5, 1.1
"""rho and its factor, as both papers have them."""

_REWEIGHTINGS = 20
"""Steps to the centroids of the final V."""

_BISECTIONS = 60
"""Halvings of the interval in which a new sample's coefficient lies."""


@dataclass(frozen=True)
class RobustFactors:
    """Where the ALM ended.

    Attributes
    ----------
    coefficients : array of shape (n, k)
        V, nonnegative and orthonormal: see ``nearest_feasible``.
    centroids : array of shape (k, d)
        U.
    history : array of shape (n_iter,)
        Eq. (rmnmf) at the orthonormal V after each iteration.
    objective : float
        Eq. (rmnmf) at ``coefficients`` and ``centroids``.
    gap : float
        The largest entry of |V - H| when the ALM ended, in terms of sqrt(k / n), the
        size of a typical entry of V other than zero.
    converged : bool
    """

    coefficients: np.ndarray
    centroids: np.ndarray
    history: np.ndarray
    objective: float
    gap: float
    converged: bool


@dataclass(frozen=True)
class _State:
    """Between two iterations: V, H, Z (n, k), U (k, d), X - V U and Y / rho (n, d)."""

    V: np.ndarray
    H: np.ndarray
    U: np.ndarray
    Z: np.ndarray
    residual: np.ndarray
    dual: np.ndarray


def robust_factors(
    samples: np.ndarray,
    start: np.ndarray,
    graph: Graph,
    graph_weight: float,
    *,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
    penalty: float = FIRST_PENALTY,
    growth: float = GROWTH,
) -> RobustFactors:
    """Solve Eq. (rmnmf) from a given start.

    Parameters
    ----------
    samples : array of shape (n, d)
        X.
    start : array of shape (n, k)
        V^0; the nearest orthonormal matrix is taken for it.
    graph : Graph
        Of one run.
    graph_weight : float
        lambda.
    tol : float
        It ends when no entry of V and H differs by more, in terms of sqrt(k / n),
        and the rows of X - V U - E are on average shorter than ``tol`` times those
        of X.
    """
    rows, basis = samples, None
    if len(samples) < samples.shape[1]:
        # Rotated into the n directions that they span, rows keep their lengths.
        basis, rotated = np.linalg.qr(samples.T)
        rows = rotated.T
    monitor = ConvergenceMonitor(max_iter, progress)
    state, gap = _alm(
        rows,
        start,
        graph,
        graph_weight,
        monitor,
        tol=tol,
        penalty=penalty,
        growth=growth,
    )
    V = nearest_feasible(state.H)
    U = robust_centroids(rows, V)
    objective = _objective(rows - V @ U, V, graph, graph_weight)
    U = U if basis is None else U @ basis.T
    return RobustFactors(V, U, monitor.history, objective, gap, monitor.converged)


def _alm(
    samples: np.ndarray,
    start: np.ndarray,
    graph: Graph,
    graph_weight: float,
    monitor: ConvergenceMonitor,
    *,
    tol: float,
    penalty: float,
    growth: float,
) -> tuple[_State, float]:
    """Iterate until V and H agree, and X - V U and E; returns how far V and H do."""
    V = polar_factor(start)
    U = V.T @ samples
    none = np.zeros_like(V), np.zeros_like(samples)
    state = _State(V, V, U, none[0], samples - V @ U, none[1])
    allowed = tol * row_norms(samples).sum()
    typical = (V.shape[1] / len(V)) ** 0.5
    while monitor.running:
        before = state.dual
        state = _iterate(samples, state, graph, graph_weight, penalty)
        gap = float(np.abs(state.V - state.H).max() / typical)
        # Y / rho moved by X - V U - E.
        met = gap <= tol and row_norms(state.dual - before).sum() <= allowed
        objective = _objective(state.residual, state.V, graph, graph_weight)
        monitor.record(objective, converged=met)
        state = replace(state, dual=state.dual / growth)
        penalty *= growth
    return state, gap


def _iterate(
    samples: np.ndarray, state: _State, graph: Graph, weight: float, penalty: float
) -> _State:
    """E, U, H and V in turn at the minimum of the Lagrangian, then Y and Z.

    Eq. (rmnmf_e): E = T with its rows shrunk by 1 / rho, T being X - V U + Y / rho, so
    that E itself is never held. Eq. (rmnmf_u): U = V'(X - E + Y / rho), as V'V = I.
    Eq. (rmnmf_h): H = max(V + (Z - lambda L V) / rho, 0). Eq. (rmnmf_v): since ||V U||
    and ||V|| are constant, V is the nearest orthonormal matrix to
    (X - E + Y / rho) U' + H - (Z + lambda L H) / rho.
    """
    V, Z = state.V, state.Z
    data = state.residual + state.dual
    data *= np.minimum(1 / (penalty * positive_or_one(row_norms(data))), 1)[:, None]
    data += samples
    data -= state.residual  # X - E + Y / rho
    U = V.T @ data
    H = np.maximum(V + (Z - weight * graph.laplacian(V[None])[0]) / penalty, 0)
    pull = Z + weight * graph.laplacian(H[None])[0]
    V = polar_factor(data @ U.T + H - pull / penalty)
    fit = V @ U
    data -= fit
    np.subtract(samples, fit, out=fit)
    return _State(V, H, U, Z + penalty * (V - H), fit, data)


def _objective(
    residual: np.ndarray, V: np.ndarray, graph: Graph, weight: float
) -> float:
    """Eq. (rmnmf), the residual being X - V U."""
    rough = smoothness(V[None], graph)[0]
    return float(row_norms(residual).sum() + weight * rough)


def robust_centroids(samples: np.ndarray, V: np.ndarray) -> np.ndarray:
    """argmin_U ||X - V U||_{2,1} for a V that meets both constraints.

    Weiszfeld's steps, least squares with rows weighed by the inverse of their last
    residuals, none of which raises it; from U = V'X.
    """
    U = V.T @ samples
    for _ in range(_REWEIGHTINGS):
        lengths = row_norms(samples - V @ U)
        floor = np.finfo(samples.dtype).eps ** 0.5 * lengths.mean()
        weighed = V / np.maximum(lengths, floor or 1.0)[:, None]
        U = weighed.T @ samples / np.sum(weighed * V, axis=0)[:, None]
    return U


def place_rows(samples: np.ndarray, fitted: FittedModel) -> np.ndarray:
    """Eq. (rmnmf_new): the best single coefficient of each new sample.

    min over j and v >= 0 of ||x - v u_j|| + lambda sum_l w_l ||v e_j - v_l||^2, where l
    runs over the nearest training samples. For each j it is convex in v, and bisection
    finds where its derivative turns positive.

    Parameters
    ----------
    samples : array of shape (m, d)
    fitted : FittedModel
        With a single side, whose features are the training samples.

    Returns
    -------
    array of shape (m, k)
        With one entry other than zero in a row, or none.
    """
    side, weight = fitted.sides[0], fitted.graph_weight
    edges = edges_to(fitted, side, samples)
    pull, degree = edges.sums(fitted.coefficients), edges.degree
    U = side.centroid_features
    inner, square = samples @ U.T, row_norms(U) ** 2
    energy = row_norms(samples)[:, None] ** 2

    def length(v: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(energy - 2 * v * inner + v**2 * square, 0))

    low = np.zeros_like(inner)
    alone, drawn = inner / positive_or_one(square), pull / positive_or_one(degree)
    high = np.maximum(np.maximum(alone, drawn), 0)  # of either term by itself
    for _ in range(_BISECTIONS):
        v = (low + high) / 2
        slope = (v * square - inner) / positive_or_one(length(v))
        rising = slope + 2 * weight * (degree * v - pull) > 0
        low, high = np.where(rising, low, v), np.where(rising, v, high)
    cost = length(low) + weight * (degree * low**2 - 2 * low * pull)
    best = cost.argmin(axis=1)[:, None]
    placed = np.zeros_like(low)
    np.put_along_axis(placed, best, np.take_along_axis(low, best, axis=1), axis=1)
    return placed


def nearest_feasible(nearly: np.ndarray) -> np.ndarray:
    """A V with V >= 0 and V'V = I close to one that nearly has both.

    Columns that are nonnegative and orthogonal share no row, so that every sample
    keeps its largest coefficient alone; columns are then scaled to length 1. The ALM
    draws both copies of V there, ever more slowly. A column that is the largest of no
    sample gets the one where it comes nearest.
    """
    owner = nearly.argmax(axis=1)
    for j in range(nearly.shape[1]):
        sizes = np.bincount(owner, minlength=nearly.shape[1])
        if sizes[j] == 0:
            spare = np.where(sizes[owner] > 1, nearly[:, j], -np.inf)
            owner[spare.argmax()] = j
    rows = np.arange(len(nearly))
    V = np.zeros_like(nearly)
    V[rows, owner] = np.maximum(nearly[rows, owner], np.finfo(nearly.dtype).eps)
    return V / np.linalg.norm(V, axis=0)


def polar_factor(matrix: np.ndarray) -> np.ndarray:
    """The V with V'V = I of the largest <V, M>: R S' of M = R s S'."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


def row_norms(matrix: np.ndarray) -> np.ndarray:
    """The Euclidean norms of the rows; their sum is the norm ||.||_{2,1}.

    Without a copy of the matrix, which the ALM's iterations would notice.
    """
    return np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
