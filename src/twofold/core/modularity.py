"""How well labels fit a graph, and moves of samples that make them fit better.

M. E. J. Newman, M. Girvan. Finding and evaluating community structure in networks.
Physical Review E 69, 2004.
"""

import numpy as np
from scipy.sparse import csr_array, diags_array

_MOST_ROUNDS = 20
"""In which every sample may move once."""

_PARTS = 32
"""Of the samples, which move one after another; those of a part at once."""

_ROUNDING = 1e-12
"""A rise of no more than that part of all weights is none."""


def modularity(weights: csr_array, labels: np.ndarray) -> float:
    """sum_c (w_c / w - (d_c / w)^2): the edges within clusters beyond chance.

    w_c is the weight of the edges within cluster c, seen from both ends, d_c the sum of
    the degrees of its samples, and w that of all. It is at most 1 - 1 / k.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        W, symmetric.
    labels : int array of shape (n,)
        0, 1, ...
    """
    degree = weights.sum(axis=1)
    total = degree.sum() or 1.0  # without any edges
    ends = labels[weights.indices]
    owners = np.repeat(labels, np.diff(weights.indptr))
    within = weights.data[owners == ends].sum()
    chance = np.bincount(labels, degree) / total
    return float(within / total - chance @ chance)


def indicator(labels: np.ndarray, k: int | None = None) -> csr_array:
    """The (n, k) array that has a 1 for each sample, in the column of its cluster."""
    n = len(labels)
    shape = (n, k or 1 + labels.max())
    return csr_array((np.ones(n), labels, np.arange(n + 1)), shape=shape)


def improved(weights: csr_array, labels: np.ndarray) -> np.ndarray:
    """Labels of a higher modularity, or the same, by moves of single samples.

    Each sample goes where that raises the modularity most, all others staying; no
    cluster loses its last sample. Rounds are made while the modularity rises.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        W, symmetric.
    labels : int array of shape (n,)
        0, 1, ..., all of which occur.

    Returns
    -------
    int array of shape (n,)
    """
    parts = _parts(weights)
    best = modularity(weights, labels)
    for _ in range(_MOST_ROUNDS):
        moved = _one_round(weights, parts, labels)
        reached = modularity(weights, moved)
        if reached <= best:
            break
        labels, best = moved, reached
    return labels


def _parts(weights: csr_array) -> list[tuple[np.ndarray, csr_array]]:
    """The samples of each part, and their edges to all others."""
    n = weights.shape[0]
    edges = csr_array(weights - diags_array(weights.diagonal()))
    numbers = [np.arange(first, n, _PARTS) for first in range(min(_PARTS, n))]
    return [(part, edges[part]) for part in numbers]


def _one_round(
    weights: csr_array, parts: list[tuple[np.ndarray, csr_array]], labels: np.ndarray
) -> np.ndarray:
    """Labels after every sample could move once."""
    degree = weights.sum(axis=1)
    total = degree.sum() or 1.0
    labels, k = labels.copy(), 1 + labels.max()
    for part, edges in parts:
        rows, own, weight = np.arange(len(part)), labels[part], degree[part]
        # What a sample brings to each cluster: its edges there, beyond chance.
        others = np.tile(np.bincount(labels, degree, minlength=k), (len(part), 1))
        others[rows, own] -= weight
        brought = (edges @ indicator(labels, k)).toarray()
        brought -= others * weight[:, None] / total
        most = brought.max(axis=1, keepdims=True)
        best = (brought >= most - _ROUNDING * total).argmax(axis=1)
        rise = brought[rows, best] - brought[rows, own]
        labels[part] = np.where(rise > _ROUNDING * total, best, own)
        while (emptied := np.bincount(labels, minlength=k)[own] == 0).any():
            labels[part] = np.where(emptied, own, labels[part])
    return labels
