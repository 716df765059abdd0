"""Moves of single samples between the clusters of a graph."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

N_BLOCKS = 32
"""Number of blocks of samples."""

_TOLERANCE = 1e-12
"""Difference of gains, as a part of the sum of all weights, that is due to rounding."""

_MAX_ROUNDS = 20
"""Maximum number of rounds. In a round every sample may move once."""


class Clusters:
    """Labels that change, and sums of weights that follow them.

    A move changes the sums by the edges of the samples that move, so that a round in
    which few of them move costs little.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ..., without an empty cluster.

    Attributes
    ----------
    labels : int array of shape (n,)
    sizes : int array of shape (k,)
        Number of samples of each cluster.
    degree : array of shape (n,)
    cluster_degree : array of shape (k,)
        Sum of the degrees of each cluster.
    weights_to : array of shape (n, k)
        Weight of the edges of each sample to the other samples of each cluster.
    loops : array of shape (n,)
        Weight of the edge of each sample to itself.
    """

    def __init__(self, weights: csr_array, labels: np.ndarray) -> None:
        n = len(labels)
        self.labels, self.sizes = labels.copy(), np.bincount(labels)
        self.degree, self.loops = weights.sum(axis=1), weights.diagonal()
        self.cluster_degree = np.bincount(labels, self.degree)
        self._weights, k = weights, len(self.sizes)
        rows = np.repeat(np.arange(n), np.diff(weights.indptr))
        cells = rows * k + labels[weights.indices]
        # Without an edge the sums would be whole numbers.
        sums = np.bincount(cells, weights.data, n * k).astype(float, copy=False)
        self.weights_to = sums.reshape(n, k)
        self.weights_to[np.arange(n), labels] -= self.loops

    def own(self, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where each of b samples has its own cluster in an array (b, k)."""
        return np.arange(len(samples)), self.labels[samples]

    def inside(self) -> float:
        """Return the sum of the weights over pairs of samples in one cluster."""
        own = self.weights_to[np.arange(len(self.labels)), self.labels]
        return float(own.sum() + self.loops.sum())

    def between(self) -> np.ndarray:
        """Return the sums of the weights between each two clusters: (k, k)."""
        k = len(self.sizes)
        order = np.argsort(self.labels, kind="stable")
        first = np.cumsum(self.sizes) - self.sizes
        sums = np.add.reduceat(self.weights_to[order], first, axis=0)
        sums[np.diag_indices(k)] += np.bincount(self.labels, self.loops)
        return sums

    def move(self, samples: np.ndarray, clusters: np.ndarray) -> None:
        """Move b samples to other clusters, (b,) each."""
        before, degree = self.labels[samples], self.degree[samples]
        np.subtract.at(self.cluster_degree, before, degree)
        np.add.at(self.cluster_degree, clusters, degree)
        self.sizes += self._changes(before, clusters)
        self.labels[samples] = clusters
        edges, each = self._edges_of(samples)
        ends, k = self._weights.indices[edges], len(self.sizes)
        proper = ends != samples[each]
        edges, each, rows = edges[proper], each[proper], k * ends[proper].astype(int)
        weights, cells = self._weights.data[edges], self.weights_to.reshape(-1)
        np.subtract.at(cells, rows + before[each], weights)
        np.add.at(cells, rows + clusters[each], weights)

    def _edges_of(self, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions in W of the edges of b samples, and whose each is."""
        first = self._weights.indptr[samples]
        counts = self._weights.indptr[samples + 1] - first
        each = np.repeat(np.arange(len(samples)), counts)
        skipped = first - np.cumsum(counts) + counts
        return np.arange(len(each)) + skipped[each], each

    def kept(self, samples: np.ndarray, clusters: np.ndarray) -> np.ndarray:
        """Return the clusters (b,) to move to such that none becomes empty.

        Samples that move together may empty a cluster: these stay where they are.
        """
        before = self.labels[samples]
        while True:
            emptied = self.sizes + self._changes(before, clusters) == 0
            if not emptied.any():
                return clusters
            clusters = np.where(emptied[before], before, clusters)

    def _changes(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return by how much the sizes (k,) change."""
        k = len(self.sizes)
        return np.bincount(after, minlength=k) - np.bincount(before, minlength=k)


Score = Callable[[Clusters], float]

Gain = Callable[[np.ndarray, Clusters], np.ndarray]
"""Maps b samples and the clusters to the gain of each sample in each cluster, (b, k),
in the unit of the weights.
"""


def improve_labels(
    weights: csr_array,
    labels: np.ndarray,
    score: Score,
    gain: Gain,
    n_blocks: int = N_BLOCKS,
) -> tuple[np.ndarray, float]:
    """Move samples to the clusters of their highest gain while the score rises.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ..., without an empty cluster.
    score, gain : functions of the clusters
    n_blocks : int, default=32
        Number of blocks of samples. Blocks move in turn, samples of a block together.

    Returns
    -------
    labels : int array of shape (n,)
        Labels whose score is at least as high. No cluster is empty.
    score : float
        Their score.
    """
    clusters, n = Clusters(weights, labels), len(labels)
    blocks = [np.arange(i, n, n_blocks) for i in range(min(n_blocks, n))]
    best, rounding = score(clusters), _TOLERANCE * (clusters.degree.sum() or 1.0)
    for _ in range(_MAX_ROUNDS):
        for samples in blocks:
            _move(samples, clusters, gain, rounding)
        reached = score(clusters)
        if reached <= best:
            break
        labels, best = clusters.labels.copy(), reached
    return labels, best


def _move(samples: np.ndarray, clusters: Clusters, gain: Gain, rounding: float) -> None:
    """Let every sample of a block move once."""
    own, gains = clusters.own(samples), gain(samples, clusters)
    # Of clusters with equal gain, up to rounding, the first is chosen.
    highest = gains.max(axis=1, keepdims=True)
    best = (gains >= highest - rounding).argmax(axis=1)
    rises = gains[own[0], best] - gains[own] > rounding
    if rises.any():
        best = clusters.kept(samples, np.where(rises, best, own[1]))
        moves = best != own[1]
        clusters.move(samples[moves], best[moves])
