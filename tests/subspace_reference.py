"""Self-expressive graphs written literally, on dense (n, n) arrays."""

import numpy as np

Array = np.ndarray

RIDGE = 0.1

FAR = 1e-3


def written(F: Array, asked: Array | None = None) -> Array:
    """Row i writes sample i of ``asked`` (m, d) in terms of all of F (n, d): (m, n).

    It is argmin_z ||f - F'z||^2 + ridge ||z||^2, as the least squares that it is, where
    F is scaled to unit mean square norm and f along with it.
    """
    asked = F if asked is None else asked
    scale = np.sqrt(np.mean(np.sum(F**2, axis=1))) or 1.0
    n = len(F)
    equations = np.vstack([F.T / scale, np.sqrt(RIDGE) * np.eye(n)])
    sides = np.vstack([asked.T / scale, np.zeros((n, len(asked)))])
    return np.linalg.lstsq(equations, sides)[0].T


def affinities(Z: Array, q: int, own: bool = True) -> Array:
    """A: of every row of |Z| the q largest, divided by the first; (m, n).

    Of two equal ones the lower index comes first. If they are its own, the samples take
    no part in themselves.
    """
    A = np.zeros(Z.shape)
    for i, row in enumerate(np.abs(Z)):
        others = [j for j in range(len(row)) if not own or j != i]
        others.sort(key=lambda j: (-round(row[j], 9), j))
        for j in others[:q]:
            A[i, j] = row[j] / (row[others[0]] or 1.0)
    return A


def near(F: Array, q: int, asked: Array | None = None) -> Array:
    """Who of F (n, d) is among the q nearest of each sample asked: (m, n) bool."""
    points = F if asked is None else asked
    listed = np.zeros((len(points), len(F)), dtype=bool)
    for i, point in enumerate(points):
        squares = np.sum((F - point) ** 2, axis=1)
        others = [j for j in range(len(F)) if asked is not None or j != i]
        others.sort(key=lambda j: (round(squares[j], 9), j))
        listed[i, others[:q]] = True
    return listed


def build_w(F: Array, q: int, graph: str) -> Array:
    """W of samples F (n, d), in the graph "subspace" or "subspace_knn"."""
    A = affinities(written(F), q)
    W = (A + A.T) / 2
    if graph == "subspace_knn":
        listed = near(F, q)
        W = np.where(listed | listed.T, W, FAR * W)
    return W


def new_edges(F: Array, q: int, graph: str, asked: Array) -> Array:
    """The weights of edges from new samples (m, d) to those of F (n, d): (m, n)."""
    A = affinities(written(F, asked), q, own=False)
    if graph == "subspace_knn":
        A = np.where(near(F, q, asked), A, FAR * A)
    return A
