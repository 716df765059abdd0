"""Exchanges of clusters: two are merged while a third is split.

A partition of high modularity can be wrong in one place twice: two clusters are joined
and another is cut in half. No move of single samples leads out of it, since each move
alone lowers the modularity. An exchange does both repairs at once.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.core.modularity import (
    LEAST_RISE,
    modularity,
    refine_labels,
    rise_by_merging,
    weights_between,
)
from twofold.core.spectral import spectral_embedding

_MAX_EXCHANGES = 50
"""Maximum number of exchanges."""

_TRIES = 3
"""Number of clusters whose splits are tried before the search ends."""

_N_BLOCKS = 8
"""Number of blocks of samples that move between the halves of a cluster."""

_EIGEN_TOL = 1e-4
"""Tolerance of the eigenvectors by which clusters are split."""

_DIGITS = 10
"""Digits of a rise that count, so that rounding errors decide nothing."""

Halves = dict[bytes, np.ndarray]
"""Samples of one half of each cluster, by the members of the cluster."""


def exchange_clusters(
    weights: csr_array,
    labels: np.ndarray,
    seed: int,
    halves: Halves | None = None,
    device: Any = None,
) -> np.ndarray:
    """Merge two clusters and split a third as long as the modularity rises.

    Each exchange is followed by ``refine_labels``.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ..., without an empty cluster.
    seed : int
    halves : Halves or None
        Halves of clusters that are known already; those that are found are added.
    device : torch.device or None
        GPU that finds eigenvectors; None for the CPU.

    Returns
    -------
    int array of shape (n,)
        As many clusters, whose modularity is at least as high.
    """
    best, halves = modularity(weights, labels), {} if halves is None else halves
    for _ in range(_MAX_EXCHANGES):
        for proposal in _proposals(weights, labels, seed, halves, device):
            trial = refine_labels(weights, proposal)
            reached = modularity(weights, trial)
            if reached > best + LEAST_RISE:
                labels, best = trial, reached
                break
        else:
            break
    return labels


def _proposals(
    weights: csr_array, labels: np.ndarray, seed: int, halves: Halves, device: Any
) -> list[np.ndarray]:
    """Return labels after the most promising exchanges, the best first."""
    k = 1 + labels.max()
    second = _second_halves(weights, labels, seed, halves, device)
    rise = rise_by_merging(weights_between(weights, labels + k * second, 2 * k))
    whole = np.bincount(labels, second, k) == 0  # clusters without a second half
    split = np.where(whole, -np.inf, np.round(-np.diagonal(rise, k), _DIGITS))
    # Clusters are pairs of halves, and the rises of their pairs add up.
    merge = np.round(rise.reshape(2, k, 2, k).sum(axis=(0, 2)), _DIGITS)
    found = []
    for cluster in np.argsort(-split, kind="stable")[:_TRIES]:
        others = merge.copy()
        others[cluster], others[:, cluster] = -np.inf, -np.inf
        np.fill_diagonal(others, -np.inf)
        a, b = np.unravel_index(np.argmax(others), others.shape)
        total = split[cluster] + others[a, b]
        if np.isfinite(total):
            proposal = np.where(labels == b, a, labels)
            proposal[(labels == cluster) & (second == 1)] = b
            found.append((total, proposal))
    return [proposal for _, proposal in sorted(found, key=lambda pair: -pair[0])]


def _second_halves(
    weights: csr_array, labels: np.ndarray, seed: int, halves: Halves, device: Any
) -> np.ndarray:
    """Return 1 for the samples of one half of each cluster, else 0: (n,)."""
    second = np.zeros(len(labels), dtype=int)
    for cluster in range(1 + labels.max()):
        members = np.flatnonzero(labels == cluster)
        key = members.tobytes()
        if key not in halves:
            halves[key] = _half(weights, members, seed, device)
        second[halves[key]] = 1
    return second


def _half(
    weights: csr_array, members: np.ndarray, seed: int, device: Any
) -> np.ndarray:
    """Return one of the two clusters within a cluster, empty if there are none.

    A cluster is cut where the second eigenvector changes its sign. The half is the one
    without the first member, since the sign itself is arbitrary.
    """
    inside = csr_array(weights[members][:, members])
    points = spectral_embedding(inside, 2, seed, _EIGEN_TOL, device)
    positive = (points[:, -1] > 0).astype(int)
    if positive.all():  # no second eigenvector: there are no edges, or one sample
        return members[:0]
    halves = refine_labels(inside, positive, _N_BLOCKS)
    return members[halves != halves[0]]
