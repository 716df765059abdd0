"""An order of the samples by their content, so that the given order does not matter."""

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from twofold.core.arrays import Array, positive_or_one, to_numpy
from twofold.core.grams import both_ways
from twofold.estimators.scaling import row_blocks

_MAX_RUNS = 8
"""Maximum number of runs of equal values in a short key of a sorted sample."""

_BLOCKS_PER_ROUND, _MAX_ROUNDS = 4, 8
"""Blocks of rows for one round of comparisons, and maximum number of rounds."""

Rows: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Returns the rounded entries of samples, int32 (m, f), by their indices (m,)."""


def sample_order(
    samples: Array, norms: Array, missing: Array | None, scale: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``content_order`` of scaled samples, rounded.

    Rounding makes the order independent of the unit of the pixels. Sorting hashes of
    the rounded entries would be simpler, but in single precision a change of unit moves
    entries of some samples across a rounding boundary. That changes the hash of such a
    sample, and with it the whole order, but hardly ever its position by content.
    """
    norms = to_numpy(norms)
    by_norm = np.argsort(norms, kind="stable")  # the order of identical samples
    rows = _rounded_rows(samples, norms, missing, scale)
    columns = np.arange(math.prod(samples.shape[1:])).reshape(samples.shape[1:])
    transposed = both_ways(columns)[0].reshape(-1)
    if scale == "global":  # the norm stays where it is
        transposed = np.append(transposed, columns.size)
    return content_order(rows, by_norm, transposed)


def _rounded_rows(
    samples: Array, norms: np.ndarray, missing: Array | None, scale: str
) -> Rows:
    """Return a function that gives the rounded entries of samples over their norms."""
    step = 1e-9 if norms.dtype == np.float64 else 1e-5
    if step > 1e-9 and scale == "sample":  # the norm is divided out with a larger error
        step = 0.01 / math.prod(samples.shape[1:]) ** 0.5
    sizes = positive_or_one(norms)
    lengths = norms / sizes.max()
    numbers, marks = to_numpy(samples), None if missing is None else to_numpy(missing)

    def rows(indices: np.ndarray) -> np.ndarray:
        flat = numbers[indices].reshape(len(indices), -1) / sizes[indices, None]
        if marks is not None:  # 2 exceeds all observed entries, which are at most 1
            flat[marks[indices].reshape(flat.shape)] = 2.0
        if scale == "global":
            flat = np.column_stack([flat, lengths[indices]])
        return np.rint(flat / step).astype(np.int32)

    return rows


def content_order(
    rows: Rows, first: np.ndarray, transposed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sort samples by their content, and find identical samples.

    Random numbers that are drawn for samples in this order do not depend on the order
    in which the samples were given. The sorted entries of two samples are compared
    first, and the arrangement of the entries only if these are equal. The samples are
    read by blocks, and never copied as a whole.

    Identical samples keep the order of ``first`` (n,), the indices of all samples.
    ``transposed`` (f,) are the indices of the entries of the transposed samples. Each
    sample is sorted by the smaller of both arrangements, so that transposing all
    samples does not change the order, except among samples that are transposes of each
    other.

    Returns
    -------
    order : array of shape (n,)
        Indices that sort the samples.
    group : array of shape (n,)
        The same number for identical samples, in that order: 0, 1, ..., ascending.
    """
    n, f = len(first), len(transposed)

    def sorted_rows(indices: np.ndarray) -> np.ndarray:
        return np.sort(rows(indices), axis=1)

    blocks = [np.arange(n)[block] for block in row_blocks(n, f)]
    level = _ranks(np.concatenate([_short_keys(sorted_rows(i)) for i in blocks]))
    [finer] = _ranks_within(level, [sorted_rows], f)
    level = _ranks(level * n + finer)
    views = [rows, lambda indices: rows(indices)[:, transposed]]
    upright, turned = _ranks_within(level, views, f)
    both = np.minimum(upright, turned), np.maximum(upright, turned)
    # lexsort is stable, and its last key decides first.
    keys = upright, *reversed(both), level
    order = first[np.lexsort([key[first] for key in keys])]
    new = [np.diff(rank[order], prepend=-1) != 0 for rank in (level, upright)]
    return order, np.cumsum(new[0] | new[1]) - 1


def _short_keys(rows: np.ndarray) -> np.ndarray:
    """Return short keys (m,) that sort as the sorted rows (m, f), but may be equal.

    Many entries of an image may be equal, such as zeros. A key therefore holds the
    first few runs of equal values: the start of each run, and its value. If two rows
    are equal up to a run, the row whose run starts later has the smaller value there.
    """
    m, f = rows.shape
    new = np.ones(rows.shape, dtype=bool)
    np.not_equal(rows[:, 1:], rows[:, :-1], out=new[:, 1:])
    positions, counts = np.flatnonzero(new), np.count_nonzero(new, axis=1)
    run = np.arange(_MAX_RUNS)
    before = (np.cumsum(counts) - counts)[:, None]  # runs in the rows above
    starts = positions.take(before + run, mode="clip") - f * np.arange(m)[:, None]
    starts = np.where(run < counts[:, None], starts, f)  # f: there is no such run
    numbers = np.take_along_axis(rows, np.minimum(starts, f - 1), axis=1)
    return _keys(np.stack([-starts, numbers], axis=2).reshape(m, 2 * _MAX_RUNS))


def _ranks_within(level: np.ndarray, views: list[Rows], f: int) -> np.ndarray:
    """Rank the samples (n,) of every level in each of v arrangements: (v, n)."""
    ranks = np.zeros((len(views), len(level)), dtype=np.int64)
    for members in _batches(level, f):
        ranks[:, members] = _view_ranks(members, views, f)
    return ranks


def _batches(level: np.ndarray, f: int) -> Iterator[np.ndarray]:
    """Yield the samples of tied levels, whole levels at a time, about a block each."""
    shared = np.flatnonzero(np.bincount(level)[level] > 1)
    members = shared[np.argsort(level[shared], kind="stable")]
    starts = np.flatnonzero(np.diff(level[members], prepend=-1))
    # The start of a block moves back to the start of its level.
    targets = [block.start for block in row_blocks(len(members), f)]
    cuts = np.unique(starts[np.searchsorted(starts, targets, side="right") - 1])
    yield from np.split(members, cuts)[1:]


def _view_ranks(members: np.ndarray, views: list[Rows], f: int) -> np.ndarray:
    """Rank all arrangements of the members (m,) in lexicographic order: (v, m)."""
    m = len(members)
    blocks = [members[block] for block in row_blocks(m, f)]
    ranks = np.zeros(len(views) * m, dtype=np.int64)
    rounds = min(f, _MAX_ROUNDS, 1 + len(blocks) // _BLOCKS_PER_ROUND)
    for columns in np.array_split(np.arange(f), rounds):
        keys = [_keys(view(block)[:, columns]) for view in views for block in blocks]
        # Ranks are below len(ranks), so that earlier columns decide first.
        ranks = _ranks(ranks * len(ranks) + _ranks(np.concatenate(keys)))
    return ranks.reshape(-1, m)


def _keys(numbers: np.ndarray) -> np.ndarray:
    """Return opaque keys (m,) that sort as rows (m, q) of 32-bit integers.

    Big-endian bytes compare as unsigned integers, much faster than rows.
    """
    # The flipped sign bit sorts negative numbers before the others.
    unsigned = numbers.astype(np.int32, order="C").view(np.uint32) ^ np.uint32(1 << 31)
    return unsigned.astype(">u4").view(f"V{4 * numbers.shape[1]}")[:, 0]


def _ranks(keys: np.ndarray) -> np.ndarray:
    """Rank keys: 0, 1, ..., the same for equal keys."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    ranks = np.zeros(len(keys), dtype=np.int64)
    ranks[order[1:]] = np.cumsum(keys[1:] != keys[:-1])
    return ranks
