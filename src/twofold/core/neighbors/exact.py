"""Exact nearest neighbours: a filter in single precision, then exact distances."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from array_api_compat import array_namespace, device, is_numpy_array

from twofold.core.arrays import (
    Array,
    filter_dtype,
    flat_neighbors,
    gather,
    kth_smallest,
    positive_or_one,
    slices,
    smallest_places,
    squared_norms,
)

_SPARES = (8, 64, 512)
"""Candidates beyond the neighbours asked for, to see all who tie with the last."""

_GROUPS = 8
"""Groups of points for each candidate, of whose minima the cutoff is one."""

_SHORT_ROW = 512
"""Of that many distances the smallest are found at once."""

_BLOCK_ENTRIES = {"cache": 2**21, "pairs": 2**15, "device": 2**27}
"""Distances held at once, and entries of pairs; on a CPU they stay in its cache."""

_FEWEST_ROWS = {"cache": 128, "pairs": 1}
"""Of a block, or products with it would be slow."""


Found = tuple[Array, Array, Array]
"""Candidates (runs, m, count), how near they are, and how near others at most.

The last is of shape (runs, m).
"""


@dataclass(frozen=True)
class Ranked:
    """The nearest points of every query, but for the precision of the filter.

    Attributes
    ----------
    neighbors : integer array of shape (runs, m, count)
        In any order.
    squared : array of shape (runs, m, count)
        Their squared distances in that precision.
    beyond : array of shape (runs, m)
        The squared distance at least of any point that is not listed.
    margin : array of shape (runs, 1, 1)
        By how much squared distances may be off.
    """

    neighbors: Array
    squared: Array
    beyond: Array
    margin: Array

    @property
    def lower(self) -> Array:
        """Squared distances at least."""
        xp = array_namespace(self.squared)
        return xp.clip(self.squared - self.margin, min=0.0)


def nearest(
    features: Array, n_neighbors: int, queries: Array | None = None
) -> tuple[Array, Array]:
    """Exact Euclidean nearest neighbours in every run.

    Of samples that are equally near, but for rounding, the first ones are listed, as
    long as no more than 512 tie. A distance that may be rounding is zero.

    Parameters
    ----------
    features : array of shape (runs, n, d)
    n_neighbors : int
    queries : array of shape (runs, m, d) or None
        With None every row of ``features`` is a query and never its own
        neighbour.

    Returns
    -------
    squared_distances : array of shape (runs, m, n_neighbors)
    neighbors : integer array of shape (runs, m, n_neighbors)
        Nearest first.
    """
    xp = array_namespace(features)
    points, rounding = centred(features)
    n, own, asked = points.shape[1], None, points
    if queries is None:
        own = xp.arange(n, device=device(points))
    else:
        asked = queries - xp.mean(features, axis=1, keepdims=True)

    def find(count: int, first: bool) -> Found:
        # What the filter cannot tell apart is looked at in full precision.
        filtered = first and n > _SHORT_ROW
        found = rank(points, asked, own, count, filtered=filtered)
        exact = _exact_squares(points, asked, found) if filtered else found.squared
        return found.neighbors, exact, found.beyond

    possible = n if own is None else n - 1
    return _all_ties_seen(find, n_neighbors, possible, rounding)


def largest_products(
    points: Array, n_neighbors: int, queries: Array | None = None
) -> tuple[Array, Array]:
    """The largest absolute inner products with other points, in every run.

    Of equal ones, but for rounding, the first are listed, as by ``nearest``.

    Parameters
    ----------
    points, n_neighbors, queries
        As for ``nearest``.

    Returns
    -------
    products : array of shape (runs, m, n_neighbors)
        The largest first.
    neighbors : integer array of shape (runs, m, n_neighbors)
    """
    xp = array_namespace(points)
    runs, n, _ = points.shape
    asked = points if queries is None else queries
    own = None if queries is not None else xp.arange(n, device=device(points))
    # Twice what those of a row can be: what they lack is a distance as well as any.
    lengths = xp.sqrt(positive_or_one(squared_norms(asked)))[..., None]
    most = 2 * lengths * _longest(points)
    rounding = 100 * xp.finfo(points.dtype).eps * most

    def find(count: int, first: bool) -> Found:
        parts = []
        for part in _blocks(points, asked.shape[1], runs * n):
            products = asked[:, part, :] @ xp.matrix_transpose(points)
            itself = None if own is None else own[part]
            parts.append(
                _candidates(most[:, part, :] - xp.abs(products), itself, count)
            )
        return _joined(parts)

    possible = n if own is None else n - 1
    lacking, neighbors = _all_ties_seen(find, n_neighbors, possible, rounding)
    found = most - lacking
    return xp.where(found > rounding, found, xp.zeros_like(found)), neighbors


def _all_ties_seen(
    find: Callable[[int, bool], Found],
    n_neighbors: int,
    possible: int,
    rounding: Array,
) -> tuple[Array, Array]:
    """Neighbours (runs, m, n_neighbors) and how near, found with more and more spares.

    ``find`` takes how many candidates there are to be, and whether it is the first
    time.
    """
    xp = array_namespace(rounding)
    for spare in _SPARES:
        count = min(n_neighbors + spare, possible)
        candidates, near, beyond = find(count, spare == _SPARES[0])
        order = xp.argsort(near, axis=-1)
        nearest_first = gather(near, order), gather(candidates, order)
        squared, neighbors, end = choose(*nearest_first, n_neighbors, rounding)
        if count == possible or xp.all(beyond > end + 2 * rounding[..., 0]):
            break
    return squared, neighbors


def centred(features: Array) -> tuple[Array, Array]:
    """Points (runs, n, d) about their mean, and what rounding does to squares.

    The latter, (runs, 1, 1), is in proportion to the features as they were given,
    which are no more exact than that.
    """
    xp = array_namespace(features)
    largest = xp.max(squared_norms(features), axis=1)[:, None, None]
    rounding = 100 * xp.finfo(features.dtype).eps * largest
    return features - xp.mean(features, axis=1, keepdims=True), rounding


def choose(
    squared: Array, neighbors: Array, n_neighbors: int, rounding: Array
) -> tuple[Array, Array, Array]:
    """The first neighbours of ranked candidates, ties being decided by index.

    Parameters
    ----------
    squared, neighbors : arrays of shape (runs, m, count)
        Nearest first.
    n_neighbors : int
    rounding : array of shape (runs, 1, 1) or (runs, m, 1)

    Returns
    -------
    squared, neighbors : arrays of shape (runs, m, n_neighbors)
    end : array of shape (runs, m)
        The largest square that ties with the last neighbour's, link by link: no
        point that is farther matters.
    """
    xp = array_namespace(squared)
    rounded = xp.where(squared > rounding, squared, xp.zeros_like(squared))
    farther = squared[..., 1:] - squared[..., :-1] > rounding
    if xp.all(farther):
        last = squared[..., n_neighbors - 1]
        return rounded[..., :n_neighbors], neighbors[..., :n_neighbors], last
    first = xp.zeros_like(squared[..., :1], dtype=xp.int64)
    level = xp.astype(farther, xp.int64)
    level = xp.concat([first, xp.cumulative_sum(level, axis=-1)], axis=-1)
    tied = level == level[..., n_neighbors - 1 : n_neighbors]
    end = xp.max(xp.where(tied, squared, xp.zeros_like(squared)), axis=-1)
    bound = 1 + xp.max(neighbors)
    chosen = xp.argsort(level * bound + neighbors, axis=-1)[..., :n_neighbors]
    return gather(rounded, chosen), gather(neighbors, chosen), end


def rank(
    points: Array, asked: Array, own: Array | None, count: int, *, filtered: bool = True
) -> Ranked:
    """The ``count`` nearest of the points, or who may be by the filter's precision.

    The filter works in single precision, on points scaled to lengths of at most 1. It
    is off by no more than (3 d + 16) eps there: casting the numbers, the products and
    sums of d + 1 of them in any order, and both squares. The bounds allow for that.

    Parameters
    ----------
    points : array of shape (runs, n, d)
        About their mean.
    asked : array of shape (runs, m, d)
    own : integer array of shape (m,) or None
        Which of the points each of those asked is itself.
    count : int
    filtered : bool
        Whether to filter in single precision at all.
    """
    xp = array_namespace(points)
    single = filtered or points.dtype == xp.float32
    dtype = filter_dtype(points) if single else points.dtype
    scale = _longest(points) if own is not None else _longest(points, asked)
    coarse = xp.astype(points / scale, dtype)
    coarse_asked = coarse if asked is points else xp.astype(asked / scale, dtype)
    own_squares = squared_norms(coarse_asked)[..., None]
    # (-2 y, |y|^2) (x, 1)' = |x - y|^2 - |x|^2
    coarse = xp.concat([-2 * coarse, squared_norms(coarse)[..., None]], axis=-1)
    coarse_asked = xp.concat([coarse_asked, xp.ones_like(own_squares)], axis=-1)
    found = [
        _candidates(
            coarse_asked[:, part, :] @ xp.matrix_transpose(coarse),
            None if own is None else own[part],
            count,
        )
        for part in _blocks(points, asked.shape[1], points.shape[0] * points.shape[1])
    ]
    neighbors, values, beyond = _joined(found)
    margin = scale**2 * (3 * points.shape[-1] + 16) * float(xp.finfo(dtype).eps)
    squared, least = (
        scale**2 * xp.astype(xp.clip(v + own_squares, min=0.0), points.dtype)
        for v in (values, beyond[..., None])
    )
    beyond = xp.clip(least - margin, min=0.0)[..., 0]
    return Ranked(neighbors, squared, beyond, margin)


def _joined(parts: list[Found]) -> Found:
    """What was found for blocks of queries, for all of them."""
    xp = array_namespace(parts[0][0])
    neighbors, values, beyond = (
        xp.concat(arrays, axis=1) for arrays in zip(*parts, strict=True)
    )
    return neighbors, values, beyond


def _longest(*points: Array) -> Array:
    """The largest length of a row in each run, 1 where all are zero: (runs, 1, 1)."""
    xp = array_namespace(points[0])
    squares = [xp.max(squared_norms(rows), axis=1) for rows in points]
    longest = functools.reduce(xp.maximum, squares)
    return xp.sqrt(positive_or_one(longest))[:, None, None]


def _blocks(points: Array, m: int, width: int, kind: str = "cache") -> list[slice]:
    """Slices of m rows whose ``width`` entries each fit into a block."""
    entries = _BLOCK_ENTRIES[kind if is_numpy_array(points) else "device"]
    return slices(m, max(_FEWEST_ROWS[kind], entries // width))


def _candidates(squares: Array, own: Array | None, count: int) -> Found:
    """Who is nearest (runs, b, count), how near, and how near at most others are.

    Of each row of ``squares`` (runs, b, n), or of what else grows with the distance,
    the entry at ``own`` (b,) is left out.
    """
    xp = array_namespace(squares)
    runs, b, n = squares.shape
    if own is not None:
        squares[:, xp.arange(b, device=device(own)), own] = xp.inf
    squares = squares.reshape(runs * b, n)
    values, columns, beyond = _few(squares, count)
    if columns.shape[1] > count:
        places = smallest_places(values, count + 1)
        values, columns = gather(values, places), gather(columns, places)
        values, columns = _largest_last(values, columns)
        beyond = xp.minimum(beyond, values[:, -1])
    shape = runs, b, count
    values, columns = values[:, :count].reshape(shape), columns[:, :count]
    return columns.reshape(shape), values, beyond.reshape(runs, b)


def _few(squares: Array, count: int) -> tuple[Array, Array, Array]:
    """The smallest of squares (b, n), no fewer than ``count``; their columns; a bound.

    Where rows are long enough, the count-th smallest of the minima of disjoint groups
    is a cutoff that at least ``count`` meet, and few more: no row has to be sorted.
    Others are taken as they are. No square that is left out is below the bound (b,).
    """
    xp = array_namespace(squares)
    b, n = squares.shape
    size = n // max(_SHORT_ROW, _GROUPS * count)
    if size < 2:
        columns = xp.broadcast_to(xp.arange(n, device=device(squares)), (b, n))
        return squares, columns, xp.full_like(squares[:, 0], xp.inf)
    groups = squares[:, : n // size * size].reshape(b, size, n // size)
    cutoff = kth_smallest(xp.min(groups, axis=1), count)
    return *_below(squares, cutoff[:, None]), cutoff


def _below(squares: Array, cutoff: Array) -> tuple[Array, Array]:
    """The squares (b, n) up to each row's cutoff (b, 1), and their columns.

    Both are of shape (b, width), filled up with infinity where a row has fewer.
    """
    xp = array_namespace(squares)
    b, n = squares.shape
    hits = xp.nonzero((squares <= cutoff).reshape(-1))[0]
    rows = hits // n
    lines = xp.arange(b, dtype=rows.dtype, device=device(rows))
    first = xp.searchsorted(rows, lines)
    places = xp.arange(hits.shape[0], device=device(rows)) - xp.take(first, rows)
    width = int(xp.max(places)) + 1
    found = xp.full((b, width), xp.inf, dtype=squares.dtype, device=device(squares))
    columns = xp.zeros((b, width), dtype=rows.dtype, device=device(rows))
    found[rows, places] = squares.reshape(-1)[hits]
    columns[rows, places] = hits - rows * n
    return found, columns


def _largest_last(values: Array, columns: Array) -> tuple[Array, Array]:
    """Both arrays (b, count), the largest value having changed places with the last."""
    xp = array_namespace(values)
    lines = xp.arange(values.shape[0], device=device(columns))
    largest = xp.argmax(values, axis=-1)
    for array in (values, columns):
        last = xp.asarray(array[:, -1], copy=True)
        array[:, -1] = array[lines, largest]
        array[lines, largest] = last
    return values, columns


def _exact_squares(points: Array, asked: Array, found: Ranked) -> Array:
    """The squared distances of ranked neighbours (runs, m, count) in full precision."""
    squares = squared_norms(points)
    own_squares = squares if asked is points else squared_norms(asked)
    return pair_squares(points, squares, asked, own_squares, found.neighbors)


def pair_squares(
    points: Array, squares: Array, asked: Array, own_squares: Array, neighbors: Array
) -> Array:
    """||a_i - p_j||^2 of those asked (runs, m, d) and their neighbours (runs, m, q).

    ``squares`` and ``own_squares`` are the squared lengths of the points and of those
    asked.
    """
    xp = array_namespace(points)
    runs, n, d = points.shape
    _, m, count = neighbors.shape
    flat = flat_neighbors(neighbors, n).reshape(neighbors.shape)
    lines, dots = points.reshape(runs * n, d), []
    for part in _blocks(points, m, runs * count * d, "pairs"):
        block = flat[:, part, :]
        near = xp.take(lines, block.reshape(-1), axis=0).reshape(*block.shape, d)
        dots.append((near @ asked[:, part, :, None])[..., 0])
    sums = xp.take(squares.reshape(-1), flat.reshape(-1)).reshape(flat.shape)
    squared = sums + own_squares[..., None] - 2 * xp.concat(dots, axis=1)
    return xp.clip(squared, min=0.0)
