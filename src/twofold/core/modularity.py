"""Modularity of labels in a graph, and its improvement by moving single samples.

M. E. J. Newman, M. Girvan. Finding and evaluating community structure in networks.
Physical Review E 69, 2004.
"""

import numpy as np
from scipy.sparse import csr_array, diags_array

_MAX_ROUNDS = 20
"""Maximum number of rounds. In a round every sample may move once."""

_N_BLOCKS = 32
"""Number of blocks of samples. Blocks move in turn, samples of a block together."""

_TOLERANCE = 1e-12
"""Relative tolerance below which a rise of the modularity is taken for rounding."""


def modularity(weights: csr_array, labels: np.ndarray) -> float:
    """Return the modularity sum_c (w_c / w - (d_c / w)^2), at most 1 - 1 / k.

    w_c is the sum of the symmetric weights W (n, n) over pairs of samples in cluster c,
    d_c is the sum of the degrees of its samples, and w is the sum of all degrees.
    """
    degree = weights.sum(axis=1)
    total = degree.sum() or 1.0  # a graph without edges has modularity 0
    column_labels = labels[weights.indices]
    row_labels = np.repeat(labels, np.diff(weights.indptr))
    within = weights.data[row_labels == column_labels].sum()
    degree_shares = np.bincount(labels, degree) / total
    return float(within / total - degree_shares @ degree_shares)


def indicator(labels: np.ndarray, k: int | None = None) -> csr_array:
    """Return the (n, k) indicator array: a 1 in the column of each sample's cluster."""
    n = len(labels)
    shape = (n, k or 1 + labels.max())
    return csr_array((np.ones(n), labels, np.arange(n + 1)), shape=shape)


def refine_labels(weights: csr_array, labels: np.ndarray) -> np.ndarray:
    """Move single samples between clusters while the modularity rises.

    Each sample moves to the cluster where it raises the modularity most, given the
    labels of all other samples. No cluster loses its last sample.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ..., without an empty cluster.

    Returns
    -------
    int array of shape (n,)
        Labels whose modularity is at least as high.
    """
    blocks = _blocks(weights)
    best = modularity(weights, labels)
    for _ in range(_MAX_ROUNDS):
        candidate = _one_round(weights, blocks, labels)
        score = modularity(weights, candidate)
        if score <= best:
            break
        labels, best = candidate, score
    return labels


def _blocks(weights: csr_array) -> list[tuple[np.ndarray, csr_array]]:
    """Return the samples of each block and the edges to all other samples."""
    n = weights.shape[0]
    edges = csr_array(weights - diags_array(weights.diagonal()))
    blocks = [np.arange(first, n, _N_BLOCKS) for first in range(min(_N_BLOCKS, n))]
    return [(block, edges[block]) for block in blocks]


def _one_round(
    weights: csr_array, blocks: list[tuple[np.ndarray, csr_array]], labels: np.ndarray
) -> np.ndarray:
    """Return the labels after each sample has had one chance to move."""
    degree = weights.sum(axis=1)
    total = degree.sum() or 1.0
    labels, k = labels.copy(), 1 + labels.max()
    for block, edges in blocks:
        rows, current, weight = np.arange(len(block)), labels[block], degree[block]
        # Gain of a sample in each cluster: its edges there, less the expected ones.
        degrees = np.tile(np.bincount(labels, degree, minlength=k), (len(block), 1))
        # Less the sample itself, whose degree would count against its own cluster.
        degrees[rows, current] -= weight
        gain = (edges @ indicator(labels, k)).toarray()
        gain -= degrees * weight[:, None] / total
        # Of clusters with equal gain, up to rounding, the first is chosen.
        highest = gain.max(axis=1, keepdims=True)
        best = (gain >= highest - _TOLERANCE * total).argmax(axis=1)
        rise = gain[rows, best] - gain[rows, current]
        labels[block] = np.where(rise > _TOLERANCE * total, best, current)
        # Samples of a block move together and may empty a cluster: move them back.
        while (emptied := np.bincount(labels, minlength=k)[current] == 0).any():
            labels[block] = np.where(emptied, current, labels[block])
    return labels
