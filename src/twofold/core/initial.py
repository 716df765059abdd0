"""Seeded starts for V, all strictly positive: a zero never leaves zero."""

import warnings

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.cluster import k_means
from sklearn.exceptions import ConvergenceWarning

from twofold.core.arrays import Array, flat_neighbors, like, to_numpy
from twofold.core.grams import both_ways, one_side, project
from twofold.core.graph import Graph, neighbor_graph
from twofold.core.solver import Settings
from twofold.core.updates import update_projection

KINDS = ("spectral", "k-means", "random")

_FLOOR = 0.2
"""Added to cluster indicators, as Ding et al. (2010) start Semi-NMF."""


def starts(
    samples: Array, k: int, kind: str, settings: Settings, seeds: list[int]
) -> np.ndarray:
    """One start V^0 per seed: an array of shape (runs, n, k).

    Parameters
    ----------
    samples : array of shape (n, c, h, w)
    k : int
        Number of clusters.
    kind : {"spectral", "k-means", "random"}
        K-means indicators of the spectral embedding of the first graphs, of the
        samples themselves, or uniform random numbers.
    settings : Settings
    seeds : list of int
    """
    n = samples.shape[0]
    if kind == "random":
        draws = [np.random.RandomState(seed).uniform(size=(n, k)) for seed in seeds]
        return _FLOOR + np.stack(draws)
    points = to_numpy(samples).reshape(n, -1)
    if kind == "spectral" and n > 1:
        graphs = first_graphs(samples, settings)
        points = spectral_embedding(adjacency(graphs), k, seeds[0])
    return np.stack([indicators(_kmeans_labels(points, k, s), k) for s in seeds])


def indicators(labels: np.ndarray, k: int) -> np.ndarray:
    """The (n, k) cluster indicators of ``labels``, lifted off zero."""
    return np.eye(k)[labels] + _FLOOR


def first_graphs(samples: Array, settings: Settings) -> list[Graph]:
    """The graphs of both sides when P and Q keep the most energy.

    They are the P and Q of Eq. (sol_P_pre) while nothing has been explained but
    the mean direction of each Gram: eig_r(-G).
    """
    graphs = []
    for view, r in zip(both_ways(samples), settings.n_directions, strict=True):
        side = one_side(view)
        one = like([[[1.0]]], samples)
        projection = update_projection(0 * side.gram[None, ...], side.gram, one, r)
        features = project(side.rows, projection)
        graphs.append(neighbor_graph(features, settings.n_neighbors, settings.graph))
    return graphs


def adjacency(graphs: list[Graph]) -> csr_array:
    """The sum of the W of several graphs of one run, as a SciPy sparse array."""
    total = 0
    for graph in graphs:
        weights = to_numpy(graph.weights)
        _, n, q = weights.shape
        lists = to_numpy(flat_neighbors(graph.neighbors))
        starts = np.arange(0, n * q + 1, q)
        directed = csr_array(
            (weights.reshape(-1), lists.reshape(-1), starts), shape=(n, n)
        )
        total = total + directed + directed.T
    return csr_array(total)


def spectral_embedding(weights: csr_array, k: int, seed: int) -> np.ndarray:
    """Rows of the k leading eigenvectors of D^-1/2 W D^-1/2, scaled to length 1."""
    n = weights.shape[0]
    degree = weights.sum(axis=1)
    root = diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1)))
    guess = np.random.RandomState(seed).uniform(-1, 1, n)
    operator = (root @ weights @ root).astype(np.float64)
    try:
        _, vectors = eigsh(operator, k=min(k, n - 1), which="LA", v0=guess, tol=1e-6)
    except ArpackNoConvergence as stopped:
        vectors = stopped.eigenvectors
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def _kmeans_labels(points: np.ndarray, k: int, seed: int) -> np.ndarray:
    with warnings.catch_warnings():
        # Fewer distinct points than clusters is no fault of a start.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return k_means(points, k, n_init=10, random_state=seed)[1]
