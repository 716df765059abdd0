"""The smallest values of long rows, without sorting the rows."""

from typing import NamedTuple

from array_api_compat import array_namespace, device

from twofold.core.arrays import Array, gather, kth_smallest, smallest_indices

_GROUPS_PER_CANDIDATE = 8
"""Number of groups of points for each candidate; the cutoff is a minimum of a group."""

SHORT_ROW = 512
"""Minimum number of groups in a row. Rows too short for it are not reduced."""


class Candidates(NamedTuple):
    """Candidate sets of the queries."""

    indices: Array  # (batch, m, count), candidates of each query, in any order
    values: Array  # (batch, m, count), numbers that grow with their distances
    bound: Array  # (batch, m), lower bound of the values of all other points


def smallest_values(values: Array, excluded: Array | None, count: int) -> Candidates:
    """Return the ``count`` smallest values of every row, and a bound of the others.

    The values (batch, b, n) are overwritten. ``excluded`` (b,) has the column that is
    excluded from each row, or is None.
    """
    xp = array_namespace(values)
    batch, b, n = values.shape
    if excluded is not None:
        values[:, xp.arange(b, device=device(excluded)), excluded] = xp.inf
    values, columns, bound = _reduce_rows(values.reshape(batch * b, n), count)
    if columns.shape[1] > count:
        # One more than needed: the largest bounds the remaining values.
        positions = smallest_indices(values, count + 1)
        values, columns = gather(values, positions), gather(columns, positions)
        values, columns = _swap_largest_last(values, columns)
        bound = xp.minimum(bound, values[:, -1])
    shape = batch, b, count
    values, columns = values[:, :count].reshape(shape), columns[:, :count]
    return Candidates(columns.reshape(shape), values, bound.reshape(batch, b))


def _reduce_rows(values: Array, count: int) -> tuple[Array, Array, Array]:
    """Reduce long rows (b, n) to a few values that include the ``count`` smallest.

    The columns are divided into groups, and the cutoff is the count-th smallest of the
    minima of the groups. At least ``count`` values are up to the cutoff, and few more,
    so that no row has to be sorted. Short rows are returned unchanged. Returns values
    and columns (b, width), and a lower bound (b,) of the values that were dropped.
    """
    xp = array_namespace(values)
    b, n = values.shape
    size = n // max(SHORT_ROW, _GROUPS_PER_CANDIDATE * count)
    if size < 2:
        columns = xp.broadcast_to(xp.arange(n, device=device(values)), (b, n))
        return values, columns, xp.full_like(values[:, 0], xp.inf)
    # Strided groups: their minima are elementwise minima of contiguous parts. The last
    # n % size columns are in no group, but their values up to the cutoff count as well.
    groups = values[:, : n // size * size].reshape(b, size, n // size)
    cutoff = kth_smallest(xp.min(groups, axis=1), count)
    return *_values_up_to(values, cutoff[:, None]), cutoff


def _values_up_to(values: Array, cutoff: Array) -> tuple[Array, Array]:
    """Return the values (b, n) up to the cutoff (b, 1) of each row, and their columns.

    Both are of shape (b, width). Rows with fewer values are padded with infinity.
    """
    xp = array_namespace(values)
    b, n = values.shape
    # Hits come row by row: the position of a hit is its rank behind the first of a row.
    hits = xp.nonzero((values <= cutoff).reshape(-1))[0]
    rows = hits // n
    row_numbers = xp.arange(b, dtype=rows.dtype, device=device(rows))
    first = xp.searchsorted(rows, row_numbers)
    positions = xp.arange(hits.shape[0], device=device(rows)) - xp.take(first, rows)
    width = int(xp.max(positions)) + 1
    selected = xp.full((b, width), xp.inf, dtype=values.dtype, device=device(values))
    columns = xp.zeros((b, width), dtype=rows.dtype, device=device(rows))
    selected[rows, positions] = values.reshape(-1)[hits]
    columns[rows, positions] = hits - rows * n
    return selected, columns


def _swap_largest_last(values: Array, columns: Array) -> tuple[Array, Array]:
    """Swap the largest value of each row (b, count) with the last, in both arrays."""
    xp = array_namespace(values)
    rows = xp.arange(values.shape[0], device=device(columns))
    largest = xp.argmax(values, axis=-1)
    for array in (values, columns):
        last = xp.asarray(array[:, -1], copy=True)
        array[:, -1] = array[rows, largest]
        array[rows, largest] = last
    return values, columns
