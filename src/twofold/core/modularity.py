"""Modularity of labels in a graph, and its improvement by moving single samples.

M. E. J. Newman, M. Girvan. Finding and evaluating community structure in networks.
Physical Review E 69, 2004.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from twofold.core.moves import N_BLOCKS, Clusters, improve_labels

LEAST_RISE = 1e-9
"""Rise of the modularity below which other labels are not worth taking."""


def modularity(weights: csr_array, labels: np.ndarray) -> float:
    """Return the modularity sum_c (w_c / w - (d_c / w)^2), at most 1 - 1 / k.

    w_c is the sum of the symmetric weights W (n, n) over pairs of samples in cluster c,
    d_c is the sum of the degrees of its samples, and w is the sum of all degrees.
    """
    return modularity_in(weights)(labels)


def modularity_in(weights: csr_array) -> Callable[[np.ndarray], float]:
    """Return the function that maps labels to their modularity in a graph."""
    degree, counts = weights.sum(axis=1), np.diff(weights.indptr)
    total = degree.sum() or 1.0  # a graph without edges has modularity 0

    def score(labels: np.ndarray) -> float:
        short = labels.astype(np.int32)  # half the memory to read for every edge
        same = np.take(short, weights.indices) == np.repeat(short, counts)
        degree_shares = np.bincount(labels, degree) / total
        return float(weights.data[same].sum() / total - degree_shares @ degree_shares)

    return score


def indicator(labels: np.ndarray, k: int | None = None) -> csr_array:
    """Return the (n, k) indicator array: a 1 in the column of each sample's cluster."""
    n = len(labels)
    shape = (n, k or 1 + labels.max())
    return csr_array((np.ones(n), labels, np.arange(n + 1)), shape=shape)


def weights_between(
    weights: csr_array, labels: np.ndarray, k: int | None = None
) -> np.ndarray:
    """Return the sums of the weights between each two clusters, dense: (k, k)."""
    k = k or 1 + labels.max()
    cells = np.repeat(labels * k, np.diff(weights.indptr)) + labels[weights.indices]
    # Without an edge the sums would be whole numbers.
    sums = np.bincount(cells, weights.data, k * k).astype(float, copy=False)
    return sums.reshape(k, k)


def rise_by_merging(between: np.ndarray) -> np.ndarray:
    """Return by how much merging each two clusters raises the modularity, (k, k).

    2 (w_ab / w - d_a d_b / w^2), where w_ab is the weight between clusters a and b, d
    are the sums of their degrees, and w is the sum of all degrees. Clusters may be
    empty.
    """
    degree = between.sum(axis=1)
    total = degree.sum() or 1.0
    return 2 * (between / total - np.outer(degree, degree) / total**2)


def modularity_gain(
    samples: np.ndarray, clusters: Clusters, total: float, resolution: float = 1.0
) -> np.ndarray:
    """Return the gain of each of b samples in each cluster, (b, k).

    It is the weight of its edges there, less ``resolution`` times the expected one.
    ``total`` is the sum of all weights.
    """
    weight = clusters.degree[samples]
    expected = np.outer(weight, resolution * (clusters.cluster_degree / total))
    found = clusters.weights_to[samples] - expected
    # The sample itself does not count against its own cluster.
    found[clusters.own(samples)] += resolution * (weight**2 / total)
    return found


def refine_labels(
    weights: csr_array, labels: np.ndarray, n_blocks: int = N_BLOCKS
) -> np.ndarray:
    """Move single samples between clusters while the modularity rises.

    Each sample moves to the cluster where it raises the modularity most, given the
    labels of all other samples. No cluster loses its last sample.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ..., without an empty cluster.
    n_blocks : int, default=32
        Number of blocks of samples. Blocks move in turn, samples of a block together.

    Returns
    -------
    int array of shape (n,)
        Labels whose modularity is at least as high.
    """
    # SciPy's sum of all would sort the edges of its argument.
    total = weights.sum(axis=1).sum() or 1.0

    def gain(samples: np.ndarray, clusters: Clusters) -> np.ndarray:
        return modularity_gain(samples, clusters, total)

    def score(clusters: Clusters) -> float:
        degree_shares = clusters.cluster_degree / total
        return clusters.inside() / total - float(degree_shares @ degree_shares)

    return improve_labels(weights, labels, score, gain, n_blocks)[0]
