"""Robust manifold NMF by the augmented Lagrangian method (ALM).

Eq. (rmnmf): minimise ||X - V U||_{2,1} + lambda Tr(V' L V) over V >= 0 with V'V = I,
where ||.||_{2,1} is the sum of the Euclidean norms of the rows, one for each sample.

The constraints are split by two variables, E = X - V U and H = V. V is orthonormal, H
is a nonnegative copy of V, and both agree in the limit. The graph term is written as
Tr(V' L H). With multipliers Y and Z and a penalty rho the augmented Lagrangian is

    ||E||_{2,1} + lambda Tr(V' L H) + <Y, X - V U - E> + rho/2 ||X - V U - E||^2
                                    + <Z, V - H>       + rho/2 ||V - H||^2

Every iteration minimises it over E, U, H and V in turn, adds rho times the constraint
residuals to the multipliers, and multiplies rho by a constant factor.
"""

from dataclasses import dataclass, replace

import numpy as np

from twofold.core.arrays import positive_or_one, to_numpy
from twofold.core.convergence import Callback, ConvergenceMonitor
from twofold.core.graphs.graph import Graph
from twofold.core.prediction import Predictor
from twofold.core.terms.smoothness import smoothness

FIRST_PENALTY, GROWTH = 1e-5, 1.1
"""Initial penalty rho and its growth factor, as published."""

_REWEIGHTINGS = 20
"""Number of Weiszfeld steps for the centroids of the final V."""

_BISECTIONS = 60
"""Number of bisections for the coefficient of a new sample."""


@dataclass(frozen=True)
class RobustFactors:
    """Result of ``robust_factors``."""

    coefficients: np.ndarray  # V, (n, k), feasible: see ``nearest_feasible``
    centroids: np.ndarray  # U, (k, d)
    history: np.ndarray  # (n_iter,), objective after each iteration, orthonormal V
    objective: float  # Eq. (rmnmf) at ``coefficients`` and ``centroids``
    # Largest entry of |V - H| after the last iteration, divided by sqrt(k / n), the
    # size of a typical nonzero entry of V.
    gap: float
    converged: bool  # whether the tolerance was met


@dataclass(frozen=True)
class _State:
    """Variables of the ALM between two iterations."""

    V: np.ndarray  # (n, k)
    H: np.ndarray  # (n, k)
    U: np.ndarray  # (k, d)
    Z: np.ndarray  # (n, k)
    residual: np.ndarray  # X - V U, (n, d)
    dual: np.ndarray  # Y / rho, (n, d)


def robust_factors(
    samples: np.ndarray,
    start: np.ndarray,
    graph: Graph,
    graph_weight: float,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
    penalty: float = FIRST_PENALTY,
    growth: float = GROWTH,
) -> RobustFactors:
    """Solve Eq. (rmnmf) from a given start.

    Parameters
    ----------
    samples : array of shape (n, d)
        X.
    start : array of shape (n, k)
        V^0, which is replaced by the nearest orthonormal matrix.
    graph : Graph
        Graph with a batch axis of length 1.
    graph_weight : float
        lambda.
    tol : float
        Tolerance: the iteration stops when the entries of |V - H| are at most
        ``tol`` sqrt(k / n), and ||X - V U - E||_{2,1} at most ``tol`` ||X||_{2,1}.
    max_iter : int
    callback : callable or None
        As for ``ConvergenceMonitor``.
    penalty, growth : float
        Initial rho and its growth factor.
    """
    rows, basis = samples, None
    if len(samples) < samples.shape[1]:
        # Coordinates in an orthonormal basis of the row space: same norms, n columns.
        basis, rotated = np.linalg.qr(samples.T)
        rows = rotated.T
    monitor = ConvergenceMonitor(max_iter, callback)
    state, gap = _alm(rows, start, graph, graph_weight, monitor, tol, penalty, growth)
    V = nearest_feasible(state.H)
    U = robust_centroids(rows, V)
    objective = _objective(rows - V @ U, V, graph, graph_weight)
    U = U if basis is None else U @ basis.T
    return RobustFactors(V, U, monitor.objectives, objective, gap, monitor.converged)


def _alm(
    samples: np.ndarray,
    start: np.ndarray,
    graph: Graph,
    graph_weight: float,
    monitor: ConvergenceMonitor,
    tol: float,
    penalty: float,
    growth: float,
) -> tuple[_State, float]:
    """Iterate until both constraints are met; return the state and the gap."""
    V = polar_factor(start)
    U = V.T @ samples
    zeros = np.zeros_like(V), np.zeros_like(samples)
    state = _State(V, V, U, zeros[0], samples - V @ U, zeros[1])
    allowed = tol * row_norms(samples).sum()
    typical = (V.shape[1] / len(V)) ** 0.5
    while monitor.is_running:
        before = state.dual
        state = _iterate(samples, state, graph, graph_weight, penalty)
        gap = float(np.abs(state.V - state.H).max() / typical)
        # The step of Y / rho is the constraint residual X - V U - E.
        met = gap <= tol and row_norms(state.dual - before).sum() <= allowed
        objective = _objective(state.residual, state.V, graph, graph_weight)
        monitor.finish_iteration(objective, converged=met)
        state = replace(state, dual=state.dual / growth)  # Y / rho of the next rho
        penalty *= growth
    return state, gap


def _iterate(
    samples: np.ndarray, state: _State, graph: Graph, weight: float, penalty: float
) -> _State:
    """Minimise the Lagrangian over E, U, H and V in turn, then update Y and Z.

    Eq. (rmnmf_e): E = T with its rows shrunk by 1 / rho, where T = X - V U + Y / rho. E
    itself is never stored. Eq. (rmnmf_u): U = V'(X - E + Y / rho), because V'V = I.
    Eq. (rmnmf_h): H = max(V + (Z - lambda L V) / rho, 0). Eq. (rmnmf_v): because
    ||V U|| and ||V|| are constant, V is the nearest orthonormal matrix to
    (X - E + Y / rho) U' + H - (Z + lambda L H) / rho.
    """
    V, Z = state.V, state.Z
    data = state.residual + state.dual  # T
    # In place, as copies of X are expensive: T - E, then X - E + Y / rho.
    data *= np.minimum(1 / (penalty * positive_or_one(row_norms(data))), 1)[:, None]
    data += samples
    data -= state.residual
    U = V.T @ data
    H = np.maximum(V + (Z - weight * graph.laplacian(V[None])[0]) / penalty, 0)
    pull = Z + weight * graph.laplacian(H[None])[0]
    V = polar_factor(data @ U.T + H - pull / penalty)
    fit = V @ U
    data -= fit  # Y / rho + X - V U - E, the new Y / rho
    np.subtract(samples, fit, out=fit)
    return _State(V, H, U, Z + penalty * (V - H), fit, data)


def _objective(
    residual: np.ndarray, V: np.ndarray, graph: Graph, weight: float
) -> float:
    """Return the objective of Eq. (rmnmf) from the residual X - V U."""
    roughness = smoothness(V[None], graph)[0]
    return float(row_norms(residual).sum() + weight * roughness)


def robust_centroids(samples: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Compute argmin_U ||X - V U||_{2,1} for a V that satisfies both constraints.

    The algorithm is Weiszfeld's, from U = V'X. Each step solves a least squares problem
    with rows weighted by the inverse norms of the last residuals. No step raises the
    norm.
    """
    U = V.T @ samples
    for _ in range(_REWEIGHTINGS):
        norms = row_norms(samples - V @ U)
        # A residual of zero would get an infinite weight. If all are zero, all get 1.
        floor = np.finfo(samples.dtype).eps ** 0.5 * norms.mean()
        weighted = V / np.maximum(norms, floor or 1.0)[:, None]
        U = weighted.T @ samples / np.sum(weighted * V, axis=0)[:, None]
    return U


def predict_single_coefficients(samples: np.ndarray, fitted: Predictor) -> np.ndarray:
    """Eq. (rmnmf_new): compute the best single coefficient of each new sample.

    Minimise ||x - v u_j|| + lambda sum_l w_l ||v e_j - v_l||^2 over j and v >= 0, where
    l runs over the neighbours of x among the training samples. For each j the function
    is convex in v, and bisection finds the zero of its derivative.

    Parameters
    ----------
    samples : array of shape (m, d)
    fitted : Predictor
        Predictor with a single side, whose features are the training samples.

    Returns
    -------
    array of shape (m, k)
        Coefficients, with at most one nonzero entry in each row.
    """
    side, weight = fitted.sides[0], fitted.weights["graph_weight"]
    [edges] = fitted.edges((samples,))
    pull, degree = edges.sums(fitted.coefficients), edges.degree
    U = to_numpy(side.centroid_features)
    inner, square = samples @ U.T, row_norms(U) ** 2
    energy = row_norms(samples)[:, None] ** 2

    def distance(v: np.ndarray) -> np.ndarray:  # ||x - v u_j||
        return np.sqrt(np.maximum(energy - 2 * v * inner + v**2 * square, 0))

    # Each term has its own minimum; the minimum of the sum lies between them.
    data_minimum = inner / positive_or_one(square)
    graph_minimum = pull / positive_or_one(degree)
    low = np.zeros_like(inner)
    high = np.maximum(np.maximum(data_minimum, graph_minimum), 0)
    for _ in range(_BISECTIONS):
        v = (low + high) / 2
        slope = (v * square - inner) / positive_or_one(distance(v))
        rising = slope + 2 * weight * (degree * v - pull) > 0
        low, high = np.where(rising, low, v), np.where(rising, v, high)
    cost = distance(low) + weight * (degree * low**2 - 2 * low * pull)
    best = cost.argmin(axis=1)[:, None]
    coefficients = np.zeros_like(low)
    np.put_along_axis(coefficients, best, np.take_along_axis(low, best, axis=1), axis=1)
    return coefficients


def nearest_feasible(matrix: np.ndarray) -> np.ndarray:
    """Return a V with V >= 0 and V'V = I close to a matrix that nearly has both.

    Two columns that are nonnegative and orthogonal have no nonzero entry in the same
    row. So only the largest coefficient of every sample is kept, and columns are scaled
    to length 1. Both copies of V converge to such a matrix, but slowly. A column
    without a sample gets the sample in which its entry is largest.
    """
    column = matrix.argmax(axis=1)
    for j in range(matrix.shape[1]):
        sizes = np.bincount(column, minlength=matrix.shape[1])
        if sizes[j] == 0:
            # No other column may lose its last sample.
            movable = np.where(sizes[column] > 1, matrix[:, j], -np.inf)
            column[movable.argmax()] = j
    rows = np.arange(len(matrix))
    V = np.zeros_like(matrix)
    # eps keeps a sample in its column, even if all its coefficients are zero.
    V[rows, column] = np.maximum(matrix[rows, column], np.finfo(matrix.dtype).eps)
    return V / np.linalg.norm(V, axis=0)


def polar_factor(matrix: np.ndarray) -> np.ndarray:
    """Return the V with V'V = I that maximises <V, M>: R S' of the SVD M = R s S'."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


def row_norms(matrix: np.ndarray) -> np.ndarray:
    """Return the Euclidean norms of the rows; their sum is the norm ||.||_{2,1}."""
    # einsum makes no copy of the matrix, which saves time in every iteration.
    return np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
