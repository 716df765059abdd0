"""Identical samples, which a fit takes as one sample with a weight."""

import math
from dataclasses import dataclass

import numpy as np

from twofold.core.arrays import AnyArray, Array, positive_or_one, take, to_numpy
from twofold.estimators.scaling import row_blocks

DUPLICATES = ("merge", "keep")
"""Values of ``duplicates``."""

_ROUNDING = 8
"""Largest difference of identical samples of norm 1, in units of rounding errors."""


@dataclass(frozen=True)
class Copies:
    """Which of n sorted samples are identical: one of them, a row, stands for all."""

    row: np.ndarray  # (n,), 0, 1, ..., ascending

    @property
    def first(self) -> np.ndarray:
        """The first sample of every row: (rows,)."""
        return np.flatnonzero(np.diff(self.row, prepend=-1))

    @property
    def weights(self) -> np.ndarray | None:
        """Weights (rows,) of mean 1, proportional to the numbers of samples.

        None if all are 1: if there are no copies, or all samples come equally often.
        """
        counts = np.bincount(self.row)
        return None if np.ptp(counts) == 0 else counts / counts.mean()

    def rows_of(self, array: AnyArray) -> AnyArray:
        """Return the first of the samples (n, ...) of every row: (rows, ...)."""
        first = self.first
        return array if len(first) == len(self.row) else take(array, first)

    def expanded(self, array: AnyArray) -> AnyArray:
        """Return the rows (rows, ...) of an array for all samples: (n, ...)."""
        return array if len(array) == len(self.row) else take(array, self.row)


def find_copies(
    samples: Array, norms: Array, scale: str, order: np.ndarray, group: np.ndarray
) -> Copies:
    """Find identical samples (n, ...) by their ``content_order`` and its groups.

    A group holds samples that are equal when rounded to a coarse grid. Its samples are
    identical if they differ by rounding errors alone: with ``scale="sample"`` after
    each is divided by its norm.
    """
    numbers, sizes = to_numpy(samples), positive_or_one(to_numpy(norms))
    if scale == "global":
        sizes = np.full_like(sizes, sizes.max())
    tolerance = _ROUNDING * float(np.finfo(sizes.dtype).eps)
    starts = np.ones(len(order), dtype=bool)
    candidates = np.flatnonzero(np.diff(group, prepend=-1) == 0)
    for block in row_blocks(len(candidates), math.prod(numbers.shape[1:])):
        ends = candidates[block]
        this, before = (
            numbers[i].reshape(len(i), -1) / sizes[i, None]
            for i in (order[ends], order[ends - 1])
        )
        starts[ends] = np.abs(this - before).max(axis=1) > tolerance
    return Copies(np.cumsum(starts) - 1)
