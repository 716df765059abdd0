"""Algorithm 1 as one would write it in an afternoon: the yardstick of the benchmark.

Batched matrix products instead of loops, a graph from one matrix of all distances, or
of all shares, in every iteration, and nothing that takes more thought. It shares no
code with the package; a test compares it with ``tests/reference.py``.
"""

import numpy as np
from scipy.sparse import coo_array, csr_array

RIDGE, FAR = 0.1, 1e-3


def ts_nmf(
    samples: np.ndarray,
    start: np.ndarray,
    *,
    n_directions: tuple[int, int],
    energy_weight: float,
    graph_weight: float,
    n_neighbors: int,
    n_iter: int,
    graph: str,
) -> tuple[np.ndarray, np.ndarray]:
    """V (n, k) and U (k, c, h, w) after some iterations.

    Parameters
    ----------
    samples : ndarray of shape (n, c, h, w)
    start : ndarray of shape (n, k)
        V^0, positive.
    n_directions : (left, right) numbers of directions.
    energy_weight, graph_weight : lambda_1 and lambda_2.
    n_neighbors, n_iter : int
    graph : {"heat", "subspace_knn"}
    """
    coefficients, centroids = start, update_centroids(samples, start)
    for _ in range(n_iter):
        upper = lower = np.zeros_like(coefficients)
        residuals = samples - np.tensordot(coefficients, centroids, 1)
        for r, x, u, e in zip(
            n_directions,
            *([m.swapaxes(-1, -2), m] for m in (samples, centroids, residuals)),
            strict=True,
        ):
            directions = np.linalg.eigh(gram(e) - energy_weight * gram(x))[1][:, :r]
            x, u = (np.reshape(m @ directions, (len(m), -1)) for m in (x, u))
            weights = build_graph(x, n_neighbors, graph)
            inner, cross = u @ u.T, x @ u.T
            degree = weights.sum(axis=1)[:, None]
            upper = upper + np.maximum(cross, 0) + coefficients @ np.maximum(-inner, 0)
            upper += graph_weight * (weights @ coefficients)
            lower = lower + np.maximum(-cross, 0) + coefficients @ np.maximum(inner, 0)
            lower += graph_weight * degree * coefficients
        coefficients = coefficients * np.sqrt(upper / lower)
        centroids = update_centroids(samples, coefficients)
    return coefficients, centroids


def update_centroids(samples: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """U = (V'V)^-1 V'X, (k, c, h, w)."""
    return np.tensordot(np.linalg.pinv(coefficients), samples, 1)


def gram(matrices: np.ndarray) -> np.ndarray:
    """The sum of M_i' M_i, for matrices (n, c, m, d): (d, d)."""
    rows = matrices.reshape(-1, matrices.shape[-1])
    return rows.T @ rows


def build_graph(features: np.ndarray, q: int, graph: str) -> csr_array:
    """W (n, n) of projected samples (n, d)."""
    norms = np.einsum("ij,ij->i", features, features)
    squared = norms[:, None] + norms - 2 * features @ features.T
    np.fill_diagonal(squared, np.inf)
    near, lengths = smallest(squared, q)
    if graph == "heat":
        joined = sparse(near, np.exp(-lengths / lengths.mean()))
        return joined.maximum(joined.T)
    unit = features / np.sqrt(norms.mean())
    ridged = unit.T @ unit + RIDGE * np.eye(unit.shape[1])
    shares = np.abs(unit @ np.linalg.solve(ridged, unit.T))
    np.fill_diagonal(shares, 0)
    ends, least = smallest(-shares, q)
    written = sparse(ends, least / least.min(axis=1, keepdims=True))
    close = sparse(near, np.ones(near.shape))
    close = close.maximum(close.T)
    both = (written + written.T) / 2
    return FAR * both + (1 - FAR) * both.multiply(close)


def smallest(values: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the q smallest of each row, both (n, q)."""
    columns = np.argpartition(values, q, axis=1)[:, :q]
    return columns, np.take_along_axis(values, columns, axis=1)


def sparse(columns: np.ndarray, values: np.ndarray) -> csr_array:
    """The (n, n) array with these values (n, q) in these columns."""
    n, q = columns.shape
    rows = np.repeat(np.arange(n), q)
    return csr_array(coo_array((values.ravel(), (rows, columns.ravel())), (n, n)))
