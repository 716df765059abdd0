"""An order of the samples by what they hold, so that the given order is no matter."""

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from twofold.core.arrays import Array, positive_or_one, to_numpy
from twofold.core.grams import both_ways
from twofold.estimators.scaling import row_blocks

_RUNS = 8
"""Runs of equal numbers that a short key shows of a sorted sample."""

_BLOCKS_A_ROUND, _MOST_ROUNDS = 4, 8
"""Rows that fill more blocks are compared part by part, in so many parts at most."""

Rows: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Gives the entries of samples, int32 of shape (m, f), by their indices (m,)."""


def sample_order(
    samples: Array, norms: Array, missing: Array | None, scale: str
) -> tuple[np.ndarray, np.ndarray]:
    """``content_order`` of the samples as the fit sees them, but for rounding."""
    norms = to_numpy(norms)
    by_norm = np.argsort(norms, kind="stable")  # decides between what is else alike
    rows = _rounded_rows(samples, norms, missing, scale)
    columns = np.arange(math.prod(samples.shape[1:])).reshape(samples.shape[1:])
    transposed = both_ways(columns)[0].reshape(-1)
    if scale == "global":  # the norm stays where it is
        transposed = np.append(transposed, columns.size)
    return content_order(rows, by_norm, transposed)


def _rounded_rows(
    samples: Array, norms: np.ndarray, missing: Array | None, scale: str
) -> Rows:
    """Entries of samples by index, in units of the rounding in terms of their norms."""
    step = 1e-9 if norms.dtype == np.float64 else 1e-5
    if step > 1e-9 and scale == "sample":  # brightness is divided out with more error
        step = 0.01 / math.prod(samples.shape[1:]) ** 0.5
    sizes = positive_or_one(norms)
    lengths = norms / sizes.max()
    numbers = to_numpy(samples)
    holes = None if missing is None else to_numpy(missing)

    def rows(indices: np.ndarray) -> np.ndarray:
        flat = numbers[indices].reshape(len(indices), -1) / sizes[indices, None]
        if holes is not None:  # what is missing in both is alike, and no number is 2
            flat[holes[indices].reshape(flat.shape)] = 2.0
        if scale == "global":
            flat = np.column_stack([flat, lengths[indices]])
        return np.rint(flat / step).astype(np.int32)

    return rows


def content_order(
    rows: Rows, first: np.ndarray, transposed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sort samples by what they hold, and tell which of them are identical.

    Whatever draws random numbers for samples in this order is indifferent to the
    order in which they came. Their sorted entries decide, and the arrangement of
    the entries only between samples that hold the same ones. The samples are read
    by blocks and never held as a whole.

    Parameters
    ----------
    rows : callable
        ``rows(indices)`` gives the entries of some of the n samples.
    first : integer array of shape (n,)
        All samples, in the order that is kept by those which are identical.
    transposed : integer array of shape (f,)
        The entries in the order that gives the transposed samples. Each sample is
        sorted by the smaller of both, so that transposing all of them does not
        change the order, but for samples that are transposes of each other.

    Returns
    -------
    order : array of shape (n,)
        Indices that sort the samples.
    group : array of shape (n,)
        A number for each sample in that order, the same for identical ones:
        0, 1, ..., never falling.
    """
    n, f = len(first), len(transposed)

    def sorted_rows(indices: np.ndarray) -> np.ndarray:
        return np.sort(rows(indices), axis=1)

    def transposed_rows(indices: np.ndarray) -> np.ndarray:
        return rows(indices)[:, transposed]

    blocks = [np.arange(n)[block] for block in row_blocks(n, f)]
    level = _ranks(np.concatenate([_short_keys(sorted_rows(i)) for i in blocks]))
    [finer] = _ranks_within(level, [sorted_rows], f)
    level = _ranks(level * n + finer)
    own, other = _ranks_within(level, [rows, transposed_rows], f)
    deciding = (level, np.minimum(own, other), np.maximum(own, other), own)
    order = first[np.lexsort([rank[first] for rank in reversed(deciding)])]
    new = [np.diff(rank[order], prepend=-1) != 0 for rank in (level, own)]
    return order, np.cumsum(new[0] | new[1]) - 1


def _short_keys(rows: np.ndarray) -> np.ndarray:
    """Keys (m,) of sorted rows (m, f) that sort as the rows do, but may be equal.

    The first numbers that differ decide between two rows, and most numbers of an
    image may be one and the same, such as zero. So a key tells the first few runs of
    equal numbers: where each starts, and its number. Of two rows that are alike up to
    a run, the one whose run starts later goes on with the smaller number.
    """
    m, f = rows.shape
    new = np.ones(rows.shape, dtype=bool)
    np.not_equal(rows[:, 1:], rows[:, :-1], out=new[:, 1:])
    places, counts = np.flatnonzero(new), np.count_nonzero(new, axis=1)
    run = np.arange(_RUNS)
    before = (np.cumsum(counts) - counts)[:, None]
    starts = places.take(before + run, mode="clip") - f * np.arange(m)[:, None]
    starts = np.where(run < counts[:, None], starts, f)
    numbers = np.take_along_axis(rows, np.minimum(starts, f - 1), axis=1)
    return _keys(np.stack([-starts, numbers], axis=2).reshape(m, 2 * _RUNS))


def _ranks_within(level: np.ndarray, views: list[Rows], f: int) -> np.ndarray:
    """Ranks (v, n) of samples in each of v views, to compare within a level (n,)."""
    ranks = np.zeros((len(views), len(level)), dtype=np.int64)
    for members in _batches(level, f):
        ranks[:, members] = _view_ranks(members, views, f)
    return ranks


def _batches(level: np.ndarray, f: int) -> Iterator[np.ndarray]:
    """Samples that share their level, by whole levels: about a block at a time."""
    shared = np.flatnonzero(np.bincount(level)[level] > 1)
    members = shared[np.argsort(level[shared], kind="stable")]
    starts = np.flatnonzero(np.diff(level[members], prepend=-1))
    wanted = [block.start for block in row_blocks(len(members), f)]
    cuts = np.unique(starts[np.searchsorted(starts, wanted, side="right") - 1])
    yield from np.split(members, cuts)[1:]


def _view_ranks(members: np.ndarray, views: list[Rows], f: int) -> np.ndarray:
    """Ranks (v, m) of all views of the members (m,), their first numbers deciding."""
    m = len(members)
    blocks = [members[block] for block in row_blocks(m, f)]
    ranks = np.zeros(len(views) * m, dtype=np.int64)
    rounds = min(f, _MOST_ROUNDS, 1 + len(blocks) // _BLOCKS_A_ROUND)
    for columns in np.array_split(np.arange(f), rounds):
        keys = [_keys(view(block)[:, columns]) for view in views for block in blocks]
        ranks = _ranks(ranks * len(ranks) + _ranks(np.concatenate(keys)))
    return ranks.reshape(-1, m)


def _keys(numbers: np.ndarray) -> np.ndarray:
    """Opaque keys (m,) that sort as rows (m, q) of 32-bit integers do.

    Big-endian bytes compare as unsigned numbers do, much faster than rows.
    """
    unsigned = numbers.astype(np.int32, order="C").view(np.uint32) ^ np.uint32(1 << 31)
    return unsigned.astype(">u4").view(f"V{4 * numbers.shape[1]}")[:, 0]


def _ranks(keys: np.ndarray) -> np.ndarray:
    """0, 1, ... as the keys sort, the same for equal ones."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    ranks = np.zeros(len(keys), dtype=np.int64)
    ranks[order[1:]] = np.cumsum(keys[1:] != keys[:-1])
    return ranks
