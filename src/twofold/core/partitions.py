"""The most telling partitions of a graph into every number of clusters."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.core.kmeans import kmeans_labels
from twofold.core.planted import best_split, merges, raise_partition_information
from twofold.core.spectral import nested_embedding

_N_STARTS = 3
"""Starts of K-means for each number."""

_FINER, _LEAST_SIZE = 3, 4
"""Fine clusters for each of the largest number, and their least mean size."""

_LEAST_RISE = 1e-9
"""Rise of the information below which other labels are not worth taking."""

_EIGEN_TOL = 1e-6
"""Tolerance of the eigenvectors; moves of samples mend the rest."""

_N_PASSES, _AHEAD = 2, (2, 5)
"""Number of passes over all numbers, and the positions ahead whose labels cut."""


class Partitions:
    """The best labels found for every number of clusters.

    For each number K-means in the spectral embedding, and merges of many fine clusters,
    are improved by moves of samples. Passes over all numbers then merge the clusters of
    the next larger one, and cut those of the next smaller one.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    largest : int
        Largest number of clusters, less than n.
    seed : int
    sample_weight : array of shape (n,) or None
        Weights of the samples in K-means; None if all are 1.
    device : torch.device or None
        GPU that finds eigenvectors; None for the CPU.

    Attributes
    ----------
    labels : dict of int to int array of shape (n,)
        Labels by number of clusters.
    told : dict of int to float
        Their partition information.
    """

    def __init__(
        self,
        weights: csr_array,
        largest: int,
        seed: int,
        sample_weight: np.ndarray | None = None,
        device: Any = None,
    ) -> None:
        self.weights, self.largest, self.seed = weights, largest, seed
        self.labels: dict[int, np.ndarray] = {}
        self.told: dict[int, float] = {}
        self._rest = sample_weight, device
        self._embedding = nested_embedding(weights, largest, seed, _EIGEN_TOL, device)
        n = weights.shape[0]
        n_fine = max(largest, min(_FINER * largest, n // _LEAST_SIZE))
        self._trees = [self._tree(n_fine, start) for start in range(_N_STARTS)]

    def add(self, numbers: Iterable[int]) -> None:
        """Find labels of more numbers, and improve those that are known."""
        for k in sorted(set(numbers) - set(self.labels)):
            for start, tree in enumerate(self._trees):
                if k in tree:
                    self._offer(tree[k])
                self._offer(self._kmeans(k, k, start))
        for _ in range(_N_PASSES):
            # Not ``or``, which would leave the second pass out.
            if not any([self._pass_down(), self._pass_up()]):
                break

    def _kmeans(self, n_vectors: int, k: int, start: int) -> np.ndarray:
        """Return labels 0, 1, ... of at most k clusters."""
        seed = _N_STARTS * self.seed + start
        points = self._embedding(n_vectors)
        labels = kmeans_labels(points, k, seed % 2**32, 1, *self._rest)
        return np.unique(labels, return_inverse=True)[1]

    def _tree(self, n_fine: int, start: int) -> dict[int, np.ndarray]:
        """Return the merges of fine clusters, by number of clusters."""
        labels = self._kmeans(self.largest, n_fine, start)
        fine, _ = raise_partition_information(self.weights, labels)
        merged = (labels for _, labels, _ in merges(self.weights, fine))
        return {1 + int(each.max()): each for each in (fine, *merged)}

    def _offer(self, labels: np.ndarray) -> bool:
        """Improve labels; return whether they are the best of their number."""
        labels, told = raise_partition_information(self.weights, labels)
        k = 1 + int(labels.max())
        if told <= self.told.get(k, -np.inf) + _LEAST_RISE:
            return False
        self.labels[k], self.told[k] = labels, told
        return True

    def _pass_down(self) -> bool:
        """Merge the clusters of each number to the next smaller one."""
        known, changed = sorted(self.labels, reverse=True), False
        for above, k in pairwise(known):
            merged = (each for _, each, _ in merges(self.weights, self.labels[above]))
            fewer = next((each for each in merged if 1 + each.max() == k), None)
            changed |= fewer is not None and self._offer(fewer)
        return changed

    def _pass_up(self) -> bool:
        """Cut the clusters of each number, along those of larger ones, to the next."""
        known, changed = sorted(self.labels), False
        for i, k in enumerate(known[1:]):
            for ahead in {min(i + step, len(known) - 1) for step in _AHEAD}:
                labels: np.ndarray | None = self.labels[known[i]]
                while labels is not None and 1 + labels.max() < k:
                    labels = best_split(self.weights, labels, self.labels[known[ahead]])
                changed |= labels is not None and self._offer(labels)
        return changed
