"""Clusters of a graph: spectral clustering, or merged from finer clusters.

K-means in the spectral embedding often splits one large cluster and joins two others.
Many small clusters that are merged step by step seldom do, as the modularity of the
result shows, and exchanges mend the rest. Where a cluster has few samples, all of this
follows the noise.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.core.exchanges import Halves, exchange_clusters
from twofold.core.kmeans import kmeans_labels
from twofold.core.modularity import (
    modularity,
    refine_labels,
    rise_by_merging,
    weights_between,
)
from twofold.core.spectral import spectral_embedding

_FINER, _MAX_MERGES = 3, 200
"""Finer clusters for each cluster, and the largest number of merges."""

_MAX_EXCHANGED = 200
"""Largest number of clusters for exchanges, which compare all pairs of them."""

_MIN_SIZE = 5
"""Least mean size of the finer clusters; smaller ones are made of noise."""

_MARGIN = 0.1
"""Rise of the modularity in units of k / n, the inverse of the size of a cluster, from
which on merged clusters are taken.
"""


def graph_clusters(
    weights: csr_array,
    k: int,
    seed: int,
    n_init: int = 10,
    sample_weight: np.ndarray | None = None,
    points: np.ndarray | None = None,
    *,
    exchanges: bool = True,
    device: Any = None,
) -> np.ndarray:
    """Cluster the samples of a graph by spectral clustering or by merges.

    K-means in the spectral embedding is run for k clusters and for three times as many,
    which are merged; both are improved by ``refine_labels`` and ``exchange_clusters``.
    The merged clusters are taken if their modularity is clearly higher. If the finer
    clusters would have fewer than five samples on average, there are neither merged
    clusters nor exchanges.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    k : int
        Number of clusters.
    seed : int
    n_init : int, default=10
        Number of starts of K-means.
    sample_weight : array of shape (n,) or None
        Weights of the samples in K-means; None if all are 1.
    points : array of shape (n, d) or None
        The spectral embedding, if it is known.
    exchanges : bool, default=True
        Whether there are exchanges, which take most of the time.
    device : torch.device or None
        GPU that finds eigenvectors and, of many samples, K-means; None for the CPU.

    Returns
    -------
    int array of shape (n,)
        Labels 0, 1, ..., in the order of the first sample of each cluster.
    """
    if points is None:
        points = spectral_embedding(weights, k, seed, device=device)
    rest = sample_weight, device
    labels = _refined(weights, kmeans_labels(points, k, seed, n_init, *rest))
    n, finer = len(points), min(_FINER * k, k + _MAX_MERGES)
    if not k < finer <= n // _MIN_SIZE:
        return in_order(labels)
    n_init = -(-n_init // _FINER)
    fine = _refined(weights, kmeans_labels(points, finer, seed, n_init, *rest))
    merged = refine_labels(weights, merge_clusters(weights, fine, k))
    if exchanges and k <= _MAX_EXCHANGED:
        halves: Halves = {}  # of clusters that both have
        labels = exchange_clusters(weights, labels, seed, halves, device)
        merged = exchange_clusters(weights, merged, seed, halves, device)
    rise = modularity(weights, merged) - modularity(weights, labels)
    return in_order(merged if rise > _MARGIN * k / n else labels)


def _refined(weights: csr_array, labels: np.ndarray) -> np.ndarray:
    # K-means may use fewer labels than clusters; ``refine_labels`` needs no gaps.
    return refine_labels(weights, np.unique(labels, return_inverse=True)[1])


def in_order(labels: np.ndarray) -> np.ndarray:
    """Name clusters by their first samples: the names of K-means turn on rounding."""
    _, first, cluster = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[cluster]


def merge_clusters(weights: csr_array, labels: np.ndarray, k: int) -> np.ndarray:
    """Merge pairs of clusters until k are left, each time at the least loss.

    The pair is merged for which the modularity rises most, or falls least.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ..., without an empty cluster.
    k : int

    Returns
    -------
    int array of shape (n,)
        Labels 0, 1, ..., of k clusters, or of all if there are fewer.
    """
    between = weights_between(weights, labels)
    cluster = np.arange(len(between))  # merged cluster of each given one
    for _ in range(len(between) - k):
        rise = rise_by_merging(between)
        np.fill_diagonal(rise, -np.inf)
        a, b = sorted(np.unravel_index(np.argmax(rise), rise.shape))
        between[a] += between[b]
        between[:, a] += between[:, b]
        between = np.delete(np.delete(between, b, axis=0), b, axis=1)
        cluster = np.where(cluster == b, a, cluster - (cluster > b))
    return cluster[labels]
