"""What clusters tell about the edges of a graph, when all clusters are alike.

The planted-partition model has one rate of edges within clusters and another one
between them. It has no limit of resolution: many small clusters may tell more than a
few large ones, which the modularity does not see.

M. E. J. Newman. Equivalence between modularity optimization and maximum likelihood
methods for community detection. Physical Review E 94, 2016.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.core.modularity import modularity_gain, weights_between
from twofold.core.moves import Clusters, improve_labels

_LEAST_SHARE = 1e-12
"""Share below which there are no edges."""

_LEAST_BETWEEN = 1e-3
"""Share between clusters from which on edges there are unlikely, not impossible."""


def partition_information(inside: Any, expected: Any) -> Any:
    """Return f log(f / e) + (1 - f) log((1 - f) / (1 - e)), Eq. (partition), in nats.

    f is the share of the weights within clusters, and e the share that the degrees
    would give, e = sum_c d_c^2. It is negative where f is less than e.
    """
    f = np.clip(inside, _LEAST_SHARE, 1 - _LEAST_SHARE)
    e = np.clip(expected, _LEAST_SHARE, 1 - _LEAST_SHARE)
    told = f * np.log(f / e) + (1 - f) * np.log((1 - f) / (1 - e))
    return np.where(f > e, told, -told)


def raise_partition_information(
    weights: csr_array, labels: np.ndarray
) -> tuple[np.ndarray, float]:
    """Move single samples between clusters while the partition information rises.

    At given rates of edges it rises with f - gamma e, the modularity of a resolution
    gamma, which the labels themselves tell.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ..., without an empty cluster.

    Returns
    -------
    labels : int array of shape (n,)
    told : float
        Their partition information, at least that of the given labels.
    """
    total = weights.sum(axis=1).sum() or 1.0

    def gain(samples: np.ndarray, clusters: Clusters) -> np.ndarray:
        resolution = _resolution(*_shares(clusters, total))
        return modularity_gain(samples, clusters, total, resolution)

    def score(clusters: Clusters) -> float:
        return float(partition_information(*_shares(clusters, total)))

    return improve_labels(weights, labels, score, gain)


def _shares(clusters: Clusters, total: float) -> tuple[float, float]:
    """Return f and e."""
    degree_shares = clusters.cluster_degree / total
    return clusters.inside() / total, float(degree_shares @ degree_shares)


def _resolution(inside: float, expected: float) -> float:
    """Return gamma = (a - b) / log(a / b) for the rates a within and b between.

    It is 1, that of the modularity, where the rates are nearly the same.
    """
    a = inside / max(expected, _LEAST_SHARE)
    b = max(1 - inside, _LEAST_BETWEEN) / max(1 - expected, _LEAST_SHARE)
    return (a - b) / np.log(a / b) if a > 1.01 * b else 1.0


def merges(
    weights: csr_array, labels: np.ndarray, k: int | None = None
) -> Iterator[tuple[tuple[int, int], np.ndarray, float]]:
    """Merge pairs of clusters until two are left, each time at the least loss.

    Yields, for each merge, the names of both clusters among those that are left, the
    labels afterwards, and the partition information that is left. Clusters are named
    0, 1, ..., k - 1, and some may be empty if k is given; the merged one has the lower
    name of both, and names above the higher one move down.
    """
    between = _shares_between(weights, labels, k)
    cluster = np.arange(len(between))
    while len(between) > 2:
        degree = between.sum(axis=1)
        inside = np.trace(between) + 2 * between
        expected = degree @ degree + 2 * np.outer(degree, degree)
        told = partition_information(inside, expected)
        np.fill_diagonal(told, -np.inf)
        a, b = (int(i) for i in sorted(np.unravel_index(told.argmax(), told.shape)))
        between[a] += between[b]
        between[:, a] += between[:, b]
        between = np.delete(np.delete(between, b, axis=0), b, axis=1)
        cluster = np.where(cluster == b, a, cluster - (cluster > b))
        yield (a, b), cluster[labels], float(told[a, b])


def _shares_between(
    weights: csr_array, labels: np.ndarray, k: int | None = None
) -> np.ndarray:
    """Return the shares of all weights between each two clusters: (k, k)."""
    between = weights_between(weights, labels, k)
    return between / (between.sum() or 1.0)


def best_split(
    weights: csr_array, labels: np.ndarray, finer: np.ndarray
) -> np.ndarray | None:
    """Cut off the part of a cluster, along one of finer labels, that tells most.

    Returns one more cluster than ``labels`` have, or None if no cluster is cut by the
    finer labels.
    """
    count = 1 + finer.max()
    cells, cell = np.unique(labels * count + finer, return_inverse=True)
    own = cells // count
    between = _shares_between(weights, cell)
    degree = between.sum(axis=1)
    cluster_degree = np.bincount(own, degree)
    to_own = (between * (own[:, None] == own)).sum(axis=1)
    inside = to_own.sum() - 2 * (to_own - np.diagonal(between))
    rest = cluster_degree[own] - degree
    expected = cluster_degree @ cluster_degree - 2 * degree * rest
    told = partition_information(inside, expected)
    told[np.bincount(own)[own] == 1] = -np.inf
    best = told.argmax()
    if np.isneginf(told[best]):
        return None
    return np.where(cell == best, 1 + labels.max(), labels)


def merge_tree(
    weights: csr_array, labels: np.ndarray, k: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Merge k clusters up to one, and say how much is lost by each merge.

    Some may be empty if k is given; else it is the number of labels.

    Returns
    -------
    children : int array of shape (k - 1, 2)
        The two clusters of each merge. As in scikit-learn's AgglomerativeClustering,
        names from 0 to k - 1 are the clusters, and k + i is what merge i made.
    distances : array of shape (k - 1,)
        Partition information lost by this merge and those before, in nats, ascending.
    """
    k = k or 1 + int(labels.max())
    if k == 1:
        return np.empty((0, 2), dtype=int), np.empty(0)
    shares, names = _shares_between(weights, labels, k), list(range(k))
    degree, children, distances = shares.sum(axis=1), [], []
    whole = float(partition_information(np.trace(shares), degree @ degree))
    for (a, b), _, told in merges(weights, labels, k):
        children.append(sorted((names[a], names[b])))
        distances.append(whole - told)
        names[a] = k + len(children) - 1
        del names[b]
    children.append(sorted(names))
    distances.append(max(whole, 0.0))
    return np.array(children), np.maximum.accumulate(np.maximum(distances, 0))


def merged_labels(labels: np.ndarray, children: np.ndarray, k: int) -> np.ndarray:
    """Merge clusters, as ``merge_tree`` says, until k are left.

    Parameters
    ----------
    labels : int array of shape (n,)
        0, 1, ..., or -1 for samples of no cluster, which keep it.
    children : int array of shape (m - 1, 2)
    k : int
        From 1 to m.

    Returns
    -------
    int array of shape (n,)
        0, 1, ..., in the order of the first cluster of each.
    """
    m = len(children) + 1
    group = np.arange(m + len(children))  # name of each cluster after the merges
    for i, pair in enumerate(children[: m - k]):
        group[np.isin(group, group[pair])] = m + i
    names = list(dict.fromkeys(group[:m].tolist()))
    renamed = np.array([names.index(name) for name in group[:m]])
    return np.where(labels < 0, labels, renamed[labels])
