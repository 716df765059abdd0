"""Seeded starts of V, all strictly positive: multiplicative steps keep zeros."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from twofold.core.arrays import Array, gpu_of, like, to_numpy
from twofold.core.communities import graph_clusters
from twofold.core.grams import Side, both_residuals
from twofold.core.graphs.construction import unweighted
from twofold.core.kmeans import kmeans_labels
from twofold.core.projected import ProjectedSide, project_side
from twofold.core.spectral import spectral_embedding
from twofold.core.state import SolverOptions
from twofold.core.terms import Weights
from twofold.core.updates import update_centroids, update_projection

STARTS = ("graph", "spectral", "k-means", "random")

SIMPLE_STARTS = ("k-means", "random")
"""Starts that need no projections."""

FLOOR = 0.2
"""Constant that is added to cluster indicators, as in Ding et al. (2010)."""

_SLIVER = 0.1
"""A connected component with fewer samples, in units of n / k, is not a cluster."""


def starts(
    samples: Array,
    sides: tuple[Side, ...],
    k: int,
    kind: str,
    options: SolverOptions,
    weights: dict[str, float],
    seeds: list[int],
    roots: Array | None = None,
) -> np.ndarray:
    """Return one start V^0 for each seed: (batch, n, k).

    Parameters
    ----------
    samples : array of shape (n, c, h, w)
    sides : (left, right)
    k : int
        Number of clusters.
    kind : {"graph", "spectral", "k-means", "random"}
        Indicators of the clusters of the first graphs, see ``graph_clusters``, K-means
        indicators of the spectral embedding of these graphs, or of the samples
        themselves, or uniform random numbers.
    options : SolverOptions
    weights : dict of str to float
        Weights of the terms, on which the first directions depend.
    seeds : list of int
    roots : array of shape (n, 1) or None
        As for ``solve``.
    """
    root = None if roots is None else to_numpy(roots)
    m = None if root is None else root[:, 0] ** 2
    adjacency = None
    if kind not in SIMPLE_STARTS:
        projected = first_projections(samples, sides, options, weights, roots)
        adjacency = first_adjacency(projected, k, options)
    gpu = gpu_of(samples)
    if adjacency is None:  # another kind, or a graph too loose to embed
        points = unweighted(to_numpy(samples).reshape(samples.shape[0], -1), root)
    else:
        # The seed only starts the eigensolver: one embedding serves all seeds.
        points = spectral_embedding(adjacency, k, seeds[0], options.eigen_tol, gpu)
    if adjacency is not None and kind == "graph":
        labels = [
            graph_clusters(adjacency, k, each, 10, m, points, device=gpu)
            for each in seeds
        ]
        start = np.stack([indicators(each, k) for each in labels])
    else:
        simple = kind if kind in SIMPLE_STARTS else "k-means"
        start = np.stack([simple_start(points, k, simple, each, m) for each in seeds])
    return start if root is None else start * root


def simple_start(
    points: np.ndarray,
    k: int,
    kind: str,
    seed: int,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return V^0 (n, k): K-means indicators of ``points`` (n, d), or random numbers."""
    if kind == "random":
        draws = np.random.RandomState(seed).uniform(size=(len(points), k))
        return draws + FLOOR
    return indicators(kmeans_labels(points, k, seed, sample_weight=sample_weight), k)


def indicators(labels: np.ndarray, k: int) -> np.ndarray:
    """Return the (n, k) cluster indicators of ``labels``, plus a constant."""
    return np.eye(k)[labels] + FLOOR


Pair = tuple[ProjectedSide, ProjectedSide]
"""The samples projected by the left and by the right side."""


def first_adjacency(
    projected: Pair, k: int, options: SolverOptions
) -> csr_array | None:
    """Return W_P + W_Q of the first projections, connected well enough to embed.

    The number of neighbours is doubled up to three times while the graph has more
    connected components than clusters, which an embedding would merge at random, or a
    component far smaller than a cluster, which would become a cluster. None if there
    are still more components than clusters.
    """
    for doublings in range(4):
        n_neighbors = options.n_neighbors * 2**doublings
        adjacency = joint_adjacency(projected, n_neighbors, options)
        if is_well_connected(adjacency, k):
            return adjacency
    return adjacency if 0 < len(component_sizes(adjacency)) <= k else None


def joint_adjacency(
    projected: Pair, n_neighbors: int, options: SolverOptions
) -> csr_array:
    """Return W_P + W_Q with the given number of neighbours, in double precision.

    Clusters are compared by small differences of their modularity.
    """
    both = (side.with_neighbors(n_neighbors, options).graph for side in projected)
    return sum(graph.adjacency.astype(np.float64) for graph in both)


def is_well_connected(adjacency: csr_array, k: int) -> bool:
    """Return whether a graph has at most k connected components, none of them tiny.

    Samples without an edge, such as blank images, do not count: they would have none
    with more neighbours either.
    """
    sizes = component_sizes(adjacency)
    return bool(0 < len(sizes) <= k and sizes.min() * k >= _SLIVER * sizes.sum())


def component_sizes(adjacency: csr_array) -> np.ndarray:
    """Return the sizes of the connected components that have an edge."""
    _, component = connected_components(adjacency, directed=False)
    sizes = np.bincount(component)
    return sizes[np.unique(component[adjacency.sum(axis=1) > 0])]


def first_projections(
    samples: Array,
    sides: tuple[Side, ...],
    options: SolverOptions,
    weights: dict[str, float],
    roots: Array | None = None,
) -> Pair:
    """Run lines 4 and 5 of Algorithm 1 on a single cluster, in a batch of one.

    With V a column of ones, U is the mean sample. The first P therefore minimises the
    scatter about the mean less lambda_1 times the energy that it keeps. ``roots`` are
    as for ``solve``. The projected samples are kept as points alone.
    """
    column = np.ones((samples.shape[0], 1)) if roots is None else roots
    ones = like(column, samples)[None, ...]
    residuals = both_residuals(sides, ones, update_centroids(samples, ones))
    batch: Weights = {
        name: like([[[weight]]], samples) for name, weight in weights.items()
    }
    left, right = (
        project_side(
            side, update_projection(side, residual, batch, r), None, options, roots
        ).of_points()
        for side, residual, r in zip(
            sides, residuals, options.n_directions, strict=True
        )
    )
    return left, right
