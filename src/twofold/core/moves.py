"""Moves of single samples between the clusters of a graph."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

N_BLOCKS = 32
"""Number of blocks of samples."""

_TOLERANCE = 1e-12
"""Difference of gains, as a part of the sum of all weights, that is due to rounding."""

_MAX_ROUNDS = 20
"""Maximum number of rounds. In a round every sample may move once."""


class Block(NamedTuple):
    """Samples that move together, and their edges to all other samples."""

    samples: np.ndarray  # (b,)
    rows: np.ndarray  # (edges,), position in ``samples`` of one end of each edge
    ends: np.ndarray  # (edges,), sample at the other end
    weights: np.ndarray  # (edges,)

    def weights_to(self, labels: np.ndarray, k: int) -> np.ndarray:
        """Return the weight of the edges of each sample to each cluster, (b, k)."""
        cells = self.rows * k + labels[self.ends]
        size = len(self.samples) * k
        return np.bincount(cells, self.weights, size).reshape(-1, k)


Gain = Callable[[Block, np.ndarray, int], np.ndarray]
"""Maps a block and the labels in k clusters to the gain of each of its samples in each
cluster, (b, k), in the unit of the weights.
"""


def improve_labels(
    weights: csr_array,
    labels: np.ndarray,
    score: Callable[[np.ndarray], float],
    gain: Gain,
    n_blocks: int = N_BLOCKS,
) -> np.ndarray:
    """Move samples to the clusters of their highest gain while the score rises.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ..., without an empty cluster.
    score : function of labels
    gain : function of a block, the labels and k
    n_blocks : int, default=32
        Number of blocks of samples. Blocks move in turn, samples of a block together.

    Returns
    -------
    int array of shape (n,)
        Labels whose score is at least as high. No cluster is empty.
    """
    blocks, best = _blocks(weights, n_blocks), score(labels)
    rounding = _TOLERANCE * (weights.sum(axis=1).sum() or 1.0)
    for _ in range(_MAX_ROUNDS):
        candidate = _one_round(blocks, labels, gain, rounding)
        reached = score(candidate)
        if reached <= best:
            break
        labels, best = candidate, reached
    return labels


def _blocks(weights: csr_array, n_blocks: int) -> list[Block]:
    """Divide the samples into blocks."""
    n = weights.shape[0]
    members = [np.arange(i, n, n_blocks) for i in range(min(n_blocks, n))]
    by_block = weights[np.concatenate(members)]
    blocks, begin = [], 0
    for samples in members:
        bounds = by_block.indptr[begin : begin + len(samples) + 1]
        begin += len(samples)
        edges = slice(bounds[0], bounds[-1])
        rows = np.repeat(np.arange(len(samples)), np.diff(bounds))
        ends, data = by_block.indices[edges], by_block.data[edges]
        proper = samples[rows] != ends
        blocks.append(Block(samples, rows[proper], ends[proper], data[proper]))
    return blocks


def _one_round(
    blocks: list[Block], labels: np.ndarray, gain: Gain, rounding: float
) -> np.ndarray:
    """Return the labels after each sample has had one chance to move."""
    labels, k = labels.copy(), 1 + labels.max()
    for block in blocks:
        rows, current = np.arange(len(block.samples)), labels[block.samples]
        gains = gain(block, labels, k)
        # Of clusters with equal gain, up to rounding, the first is chosen.
        highest = gains.max(axis=1, keepdims=True)
        best = (gains >= highest - rounding).argmax(axis=1)
        moves = gains[rows, best] - gains[rows, current] > rounding
        if not moves.any():
            continue
        labels[block.samples] = np.where(moves, best, current)
        # Samples of a block move together and may empty a cluster: move them back.
        while (emptied := np.bincount(labels, minlength=k)[current] == 0).any():
            labels[block.samples] = np.where(emptied, current, labels[block.samples])
    return labels
