"""Spectral embedding of a graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from twofold.core.arrays import positive_or_one
from twofold.core.filtered_eigenvectors import filtered_eigenvectors
from twofold.core.workers import single_threads

_EXTRA = 20
"""Number of vectors beyond twice the eigenvectors."""


def spectral_embedding(
    weights: csr_array,
    k: int,
    seed: int,
    tolerance: float = 1e-10,
    device: Any = None,
) -> np.ndarray:
    """Return the k leading eigenvectors of D^-1/2 W D^-1/2, rows scaled to length 1.

    The eigenvalue 1 has one eigenvector for each connected component, D^1/2 times its
    indicator. Lanczos iterations miss repeated eigenvalues, so these eigenvectors are
    written down and deflated. Samples without an edge have rows of zeros.

    On a GPU, the ``device`` of a tensor, other iterations find the same vectors.
    """
    return _unit_rows(np.hstack(_leading(weights, k, seed, tolerance, device)))


def nested_embedding(
    weights: csr_array, k: int, seed: int, tolerance: float, device: Any = None
) -> Callable[[int], np.ndarray]:
    """Return the spectral embeddings of all numbers up to k, by one search.

    The function maps a number to the embedding by so many eigenvectors. All that belong
    to components are in each, as they are the same for the graph.
    """
    components, found = _leading(weights, k, seed, tolerance, device)
    vectors = np.hstack([components, found[:, ::-1]])  # descending eigenvalues

    def embedding(count: int) -> np.ndarray:
        return _unit_rows(vectors[:, : max(count, components.shape[1])])

    return embedding


def _unit_rows(vectors: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / positive_or_one(norms)


def _leading(
    weights: csr_array, k: int, seed: int, tolerance: float, device: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvectors of components, (n, c), and others, by rising eigenvalues.

    Rows of samples without an edge are zeros.
    """
    n = weights.shape[0]
    degree = weights.sum(axis=1)
    # Of symmetric weights these are the components; weak ones take a transpose.
    _, component = connected_components(weights, connection="strong")
    joined = np.unique(component[degree > 0])  # components that have an edge
    n_components, found = len(joined), np.zeros((n, 0))
    if n_components == 0:
        return np.zeros((n, 1)), found
    vectors = np.sqrt(degree)[:, None] * (component[:, None] == joined)
    vectors /= np.linalg.norm(vectors, axis=0)
    if n_components < min(k, n - 1):
        root = diags_array(1 / np.sqrt(positive_or_one(degree)))
        normalized = (root @ weights @ root).astype(np.float64)
        count, random = min(k, n - 1) - n_components, np.random.RandomState(seed)
        if device is None:
            guess = random.uniform(-1, 1, n)
            found = _by_lanczos(normalized, vectors, count, guess, tolerance)
        else:
            size = min(n - n_components, 2 * count + _EXTRA)
            guess = random.uniform(-1, 1, (n, size))
            found = filtered_eigenvectors(
                normalized, vectors, count, guess, tolerance, device
            )
    vectors[degree == 0], found[degree == 0] = 0, 0  # what rounding has left there
    return vectors, found


def _by_lanczos(
    matrix: csr_array,
    known: np.ndarray,
    count: int,
    guess: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Return ``filtered_eigenvectors`` by Lanczos iterations.

    ARPACK would draw the first vector, ``guess``, from a random state of its own.
    """
    # With a few vectors more than usual, close eigenvalues take far fewer steps. With
    # all that there are, but no fewer, it also ends where the rest is the null space.
    size = min(matrix.shape[0], 2 * count + _EXTRA)
    # All eigenvalues are at least -1. Deflation moves the eigenvalue 1 to -1.
    rest = LinearOperator(
        matrix.shape,
        matvec=lambda x: matrix @ x - 2 * known @ (known.T @ x),
        dtype=np.float64,
    )
    # SciPy and NumPy have a BLAS each. A step is a few short calls of both, and threads
    # of the one that wait for work take the cores from those of the other.
    with single_threads():
        try:
            return eigsh(rest, count, which="LA", v0=guess, tol=tolerance, ncv=size)[1]
        except ArpackNoConvergence as stopped:  # an approximate start is enough
            return stopped.eigenvectors
