"""Exact nearest neighbours: a single-precision filter, then exact distances."""

import functools
from collections.abc import Callable

from array_api_compat import array_namespace, device, is_numpy_array

from twofold.core.arrays import (
    AnyArray,
    Array,
    filter_dtype,
    flat_neighbors,
    gather,
    positive_or_one,
    slices,
    squared_norms,
)
from twofold.core.neighbors.selection import SHORT_ROW, Candidates, smallest_values

_EXTRA_CANDIDATES = (8, 64, 512)
"""Numbers of candidates beyond the neighbours, tried in turn until all ties are in."""

_BLOCK_ENTRIES = {"cache": 2**21, "pairs": 2**18, "device": 2**27}
"""Maximum number of entries in a block. On a CPU a block fits in its cache."""

_MIN_BLOCK_ROWS = {"cache": 128, "pairs": 1}
"""Minimum number of rows in a block, for fast matrix products."""


def nearest(
    features: Array, n_neighbors: int, queries: Array | None = None
) -> tuple[Array, Array]:
    """Find the exact Euclidean nearest neighbours of every query.

    Points at equal distance, up to rounding, are listed by index, provided that at most
    512 points tie. Squared distances within the rounding error of zero are zero.

    Parameters
    ----------
    features : array of shape (batch, n, d)
        Points.
    n_neighbors : int
    queries : array of shape (batch, m, d) or None
        Queries. If None, every point is a query, and is not its own neighbour.

    Returns
    -------
    squared_distances, neighbors : arrays of shape (batch, m, n_neighbors)
        Squared distances and indices of the neighbours, the nearest first.
    """
    xp = array_namespace(features)
    points, tolerance = centred(features)
    n, query_index, centred_queries = points.shape[1], None, points
    if queries is None:
        query_index = xp.arange(n, device=device(points))
    else:
        centred_queries = queries - xp.mean(features, axis=1, keepdims=True)

    def search(count: int, rows: Array | None) -> Candidates:
        # Ties that the filter cannot resolve are searched in full precision. So are few
        # points, where measuring the candidates again would cost more than it saves.
        filtered = rows is None and n > SHORT_ROW
        some, index = rows_of(centred_queries, rows), part_of(query_index, rows)
        found, _ = filter_candidates(points, some, index, count, single=filtered)
        if not filtered:
            return found
        squared = _exact_squares(points, some, found.indices)
        return found._replace(values=squared)

    possible = n if query_index is None else n - 1
    return search_all_ties(search, n_neighbors, possible, tolerance)


def rows_of(array: Array, rows: Array | None) -> Array:
    """Return some rows of an array (batch, m, d), all if ``rows`` is None."""
    if rows is None:
        return array
    return array_namespace(array).take(array, rows, axis=1)


def part_of(index: Array | None, rows: Array | None) -> Array | None:
    """Return some entries of an index (m,), all if ``rows`` is None."""
    return index if index is None or rows is None else index[rows]


def search_all_ties(
    search: Callable[[int, Array | None], Candidates],
    n_neighbors: int,
    possible: int,
    tolerance: Array,
) -> tuple[Array, Array]:
    """Search with more and more candidates until all ties are candidates.

    ``search`` returns candidate sets, given their size and the queries, None for all.
    ``possible`` is the number of points that may be neighbours of a query. Tolerances
    are (batch, m, 1), or (batch, 1, 1) for all queries alike. Returns the values and
    indices (batch, m, n_neighbors) of the neighbours.
    """
    xp = array_namespace(tolerance)
    rows = None  # those that are searched: all at first
    for extra in _EXTRA_CANDIDATES:
        count = min(n_neighbors + extra, possible)
        found = search(count, rows)
        own = tolerance if tolerance.shape[1] == 1 else rows_of(tolerance, rows)
        order = xp.argsort(found.values, axis=-1)
        ascending = gather(found.values, order), gather(found.indices, order)
        *selected, last_tie = select_neighbors(*ascending, n_neighbors, own)
        if rows is None:
            values, neighbors = selected
            rows = xp.arange(values.shape[1], device=device(values))
        else:
            values[:, rows, :], neighbors[:, rows, :] = selected
        # No other point can tie with the last neighbour, even after rounding.
        complete = xp.all(found.bound > last_tie + 2 * own[..., 0], axis=0)
        rows = rows[~complete]
        if count == possible or len(rows) == 0:
            break
    return values, neighbors


def centred(features: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Centre points (batch, n, d); also return the tolerance for ties (batch, 1, 1).

    Squared distances tie if they differ by at most the tolerance. It is proportional to
    the squared norms before centring, which limit the precision of the features.
    """
    xp = array_namespace(features)
    largest = xp.max(squared_norms(features), axis=1)[:, None, None]
    tolerance = 100 * xp.finfo(features.dtype).eps * largest
    return features - xp.mean(features, axis=1, keepdims=True), tolerance


def select_neighbors(
    squared: Array, candidates: Array, n_neighbors: int, tolerance: Array
) -> tuple[Array, Array, Array]:
    """Select the nearest of sorted candidates, ordering ties by index.

    Parameters
    ----------
    squared, candidates : arrays of shape (batch, m, count)
        Squared distances and candidates, the nearest first.
    n_neighbors : int
    tolerance : array of shape (batch, 1, 1) or (batch, m, 1)
        Largest difference of successive squared distances that tie.

    Returns
    -------
    squared, neighbors : arrays of shape (batch, m, n_neighbors)
    last_tie : array of shape (batch, m)
        Largest squared distance in the chain of ties of the last neighbour. A point
        that is farther away cannot be a neighbour.
    """
    xp = array_namespace(squared)
    rounded = xp.where(squared > tolerance, squared, xp.zeros_like(squared))
    farther = squared[..., 1:] - squared[..., :-1] > tolerance
    if xp.all(farther):  # no ties
        last = squared[..., n_neighbors - 1]
        return rounded[..., :n_neighbors], candidates[..., :n_neighbors], last
    # Candidates of a chain of ties have the same level.
    first = xp.zeros_like(squared[..., :1], dtype=xp.int64)
    level = xp.astype(farther, xp.int64)
    level = xp.concat([first, xp.cumulative_sum(level, axis=-1)], axis=-1)
    tied = level == level[..., n_neighbors - 1 : n_neighbors]
    last_tie = xp.max(xp.where(tied, squared, xp.zeros_like(squared)), axis=-1)
    stride = 1 + xp.max(candidates)  # one integer key sorts by level, then by index
    order = xp.argsort(level * stride + candidates, axis=-1)[..., :n_neighbors]
    return gather(rounded, order), gather(candidates, order), last_tie


def filter_candidates(
    points: Array,
    queries: Array,
    query_index: Array | None,
    count: int,
    *,
    single: bool = True,
) -> tuple[Candidates, Array]:
    """Find the ``count`` nearest points up to the rounding error of the filter.

    The points are scaled to norms of at most 1. The rounding error of a squared
    distance is then at most (3 d + 16) eps: it covers the cast, the products and sums
    of d + 1 numbers in any order, and both squared norms.

    Parameters
    ----------
    points, queries : arrays of shape (batch, n, d) and (batch, m, d)
        Points with mean zero, and queries.
    query_index : integer array of shape (m,) or None
        Index of each query among the points, which is excluded from its candidates.
    count : int
    single : bool
        Whether to compute in single precision.

    Returns
    -------
    candidates : Candidates
        Candidates with their squared distances in the precision of the filter. The
        bound is valid for exact distances.
    error : array of shape (batch, 1, 1)
        Rounding error bound of the squared distances.
    """
    xp = array_namespace(points)
    single = single or points.dtype == xp.float32
    dtype = filter_dtype(points) if single else points.dtype
    same = query_index is not None
    scale = largest_norm(points) if same else largest_norm(points, queries)
    x = xp.astype(points / scale, dtype)
    y = x if queries is points else xp.astype(queries / scale, dtype)
    query_norms = squared_norms(y)[..., None]
    # (-2 x, |x|^2) (y, 1)' = |x - y|^2 - |y|^2
    x = xp.concat([-2 * x, squared_norms(x)[..., None]], axis=-1)
    y = xp.concat([y, xp.ones_like(query_norms)], axis=-1)
    batch, n, d = points.shape
    found = [
        smallest_values(
            y[:, rows, :] @ xp.matrix_transpose(x),
            None if query_index is None else query_index[rows],
            count,
        )
        for rows in row_blocks(points, queries.shape[1], batch * n)
    ]
    indices, values, bound = concatenate(found)
    error = scale**2 * (3 * d + 16) * float(xp.finfo(dtype).eps)
    squared, least = (
        scale**2 * xp.astype(xp.clip(v + query_norms, min=0.0), points.dtype)
        for v in (values, bound[..., None])
    )
    bound = xp.clip(least - error, min=0.0)[..., 0]
    return Candidates(indices, squared, bound), error


def concatenate(parts: list[Candidates]) -> Candidates:
    """Concatenate the candidate sets of blocks of queries."""
    xp = array_namespace(parts[0].indices)
    return Candidates(*(xp.concat(a, axis=1) for a in zip(*parts, strict=True)))


def largest_norm(*points: Array) -> Array:
    """Return the largest norm of a row, or 1 if all are zero: (batch, 1, 1)."""
    xp = array_namespace(points[0])
    squares = [xp.max(squared_norms(rows), axis=1) for rows in points]
    largest = functools.reduce(xp.maximum, squares)
    return xp.sqrt(positive_or_one(largest))[:, None, None]


def row_blocks(points: Array, m: int, width: int, kind: str = "cache") -> list[slice]:
    """Return slices of m rows such that rows of ``width`` entries fit in a block."""
    entries = _BLOCK_ENTRIES[kind if is_numpy_array(points) else "device"]
    return slices(m, max(_MIN_BLOCK_ROWS[kind], entries // width))


def _exact_squares(points: Array, queries: Array, candidates: Array) -> Array:
    """Return squared distances (batch, m, count) of candidates in full precision."""
    norms = squared_norms(points)
    query_norms = norms if queries is points else squared_norms(queries)
    return pair_squares(points, norms, queries, query_norms, candidates)


def pair_squares(
    points: Array, norms: Array, queries: Array, query_norms: Array, candidates: Array
) -> Array:
    """Return the squared distances (batch, m, count) of queries to their candidates.

    Points are (batch, n, d) and queries (batch, m, d), with the squared norms ``norms``
    (batch, n) and ``query_norms`` (batch, m). Candidates are (batch, m, count).
    """
    xp = array_namespace(points)
    flat = flat_neighbors(candidates, points.shape[1]).reshape(candidates.shape)
    sums = xp.take(norms.reshape(-1), flat.reshape(-1)).reshape(flat.shape)
    products = pair_products(points, queries, candidates)
    return xp.clip(sums + query_norms[..., None] - 2 * products, min=0.0)


def pair_products(points: Array, queries: Array, candidates: Array) -> Array:
    """Return the inner products of queries and candidates, as for ``pair_squares``."""
    xp = array_namespace(points)
    batch, n, d = points.shape
    _, m, count = candidates.shape
    flat = flat_neighbors(candidates, n).reshape(candidates.shape)
    lines, dots = points.reshape(batch * n, d), []
    for rows in row_blocks(points, m, batch * count * d, "pairs"):
        block = flat[:, rows, :]
        near = xp.take(lines, block.reshape(-1), axis=0).reshape(*block.shape, d)
        dots.append((near @ queries[:, rows, :, None])[..., 0])
    return xp.concat(dots, axis=1)
