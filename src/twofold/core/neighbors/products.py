"""The largest absolute inner products: exact search, and lists that stay exact.

Lists of products are kept while the points move as ``certified`` keeps those of
distances. Where g_i moves by e_i, of length s_i, to h_i,

    |h_i'h_j|  <=  |g_i'g_j| + |e_i'h_j| + |g_i'e_j|
               <=  |g_i'g_j| + s_i ||h_j|| + ||g_i|| s_j,

so that an upper bound of an absolute product grows by that much. With the sign changed
it is a lower bound that falls, and all else is as for distances.
"""

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from twofold.core.arrays import (
    AnyArray,
    Array,
    filter_dtype,
    negative_absolute,
    positive_or_one,
    squared_norms,
)
from twofold.core.neighbors.certified import (
    Bounds,
    Losses,
    NeighborLists,
    PointSet,
    update_point_set,
)
from twofold.core.neighbors.exact import (
    concatenate,
    largest_norm,
    pair_products,
    part_of,
    row_blocks,
    rows_of,
    search_all_ties,
)
from twofold.core.neighbors.selection import SHORT_ROW, Candidates, smallest_values

EXTRA_CANDIDATES = (64, 512)
"""Numbers of candidates beyond the neighbours. Products lie closer than distances."""


def largest_products(
    points: Array, n_neighbors: int, queries: Array | None = None
) -> tuple[Array, Array]:
    """Find the points of largest absolute inner product with every query.

    Equal products, up to rounding, are listed by index.

    Parameters
    ----------
    points : array of shape (batch, n, d)
    n_neighbors : int
    queries : array of shape (batch, m, d) or None
        Queries. If None, every point is a query, and is not its own neighbour.

    Returns
    -------
    products, neighbors : arrays of shape (batch, m, n_neighbors)
        Absolute inner products, the largest first, and the indices of their points.
    """
    xp = array_namespace(points)
    n = points.shape[1]
    query_index = None if queries is not None else xp.arange(n, device=device(points))
    queries = points if queries is None else queries
    upper, tolerance = _upper_and_tolerance(points, queries)

    def search(count: int, rows: Array | None) -> Candidates:
        some, index = rows_of(queries, rows), part_of(query_index, rows)
        # As in ``exact.nearest``.
        filtered = rows is None and n > SHORT_ROW
        found, _ = filter_products(points, some, index, count, single=filtered)
        values = found.values
        if filtered:
            values = negative_absolute(pair_products(points, some, found.indices))
        limits = rows_of(upper, rows)
        return Candidates(found.indices, limits + values, limits[..., 0] + found.bound)

    possible = n if query_index is None else n - 1
    differences, neighbors = search_all_ties(search, n_neighbors, possible, tolerance)
    return _significant(upper - differences, tolerance), neighbors


def _upper_and_tolerance(
    points: AnyArray, queries: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Return twice the upper bounds of the products of queries, and tolerances.

    The difference of such a bound to a product is positive and grows as the product
    falls, so that it serves as a distance. Products tie if they differ by at most the
    tolerance. Both are of shape (batch, m, 1).
    """
    xp = array_namespace(points)
    norms = xp.sqrt(positive_or_one(squared_norms(queries)))[..., None]
    upper = 2 * norms * largest_norm(points)
    return upper, 100 * xp.finfo(points.dtype).eps * upper


def _significant(products: AnyArray, tolerance: AnyArray) -> AnyArray:
    """Replace products within the rounding error of zero by zero."""
    xp = array_namespace(products)
    return xp.where(products > tolerance, products, xp.zeros_like(products))


def filter_products(
    points: Array,
    queries: Array,
    query_index: Array | None,
    count: int,
    *,
    single: bool = True,
) -> tuple[Candidates, Array]:
    """Find the ``count`` largest products up to the rounding error of the filter.

    The arguments are those of ``exact.filter_candidates``. Queries and points are
    scaled to norms of at most 1, which the rounding error of a product refers to: it
    is at most (d + 8) eps, for the cast and the sum of d products in any order.

    Returns
    -------
    candidates : Candidates
        Candidates with minus their absolute products in the precision of the filter.
        The bound is valid for exact products.
    error : array of shape (batch, m, 1)
        Rounding error bound of the values.
    """
    xp = array_namespace(points)
    single = single or points.dtype == xp.float32
    dtype = filter_dtype(points) if single else points.dtype
    batch, n, d = points.shape
    scale = largest_norm(points)
    lengths = xp.sqrt(positive_or_one(squared_norms(queries)))[..., None]
    if single:
        x, y = (
            xp.astype(rows / unit, dtype)
            for rows, unit in ((points, scale), (queries, lengths))
        )
        unit = scale * lengths
    else:  # rounded as a search without a filter would be
        x, y, unit = points, queries, xp.ones_like(lengths)
    across, found = xp.matrix_transpose(x), []
    for rows in row_blocks(points, queries.shape[1], batch * n):
        values = negative_absolute(y[:, rows, :] @ across)
        excluded = None if query_index is None else query_index[rows]
        found.append(smallest_values(values, excluded, count))
    indices, values, bound = concatenate(found)
    error = scale * lengths * ((d + 8) * float(xp.finfo(dtype).eps))
    values, least = (
        unit * xp.astype(v, points.dtype) for v in (values, bound[..., None])
    )
    return Candidates(indices, values, (least - error)[..., 0]), error


def update_products(
    lists: NeighborLists | None, points: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray, NeighborLists]:
    """Find the largest absolute products of points (n, d), and update their lists.

    The arguments are those of ``certified.update_lists``. Returns products and indices
    (n, n_neighbors), as ``largest_products`` does, and the lists.
    """
    point_set = ProductSet.from_points(points, n_neighbors)
    differences, neighbors, updated = update_point_set(lists, point_set)
    products = point_set.upper[0] - differences
    return _significant(products, point_set.tolerance[0]), neighbors, updated


@dataclass(frozen=True)
class ProductSet(PointSet):
    """Points whose largest absolute inner products are searched.

    Bounds are lower bounds of minus the absolute products.
    """

    upper: np.ndarray  # (1, n, 1), see ``_upper_and_tolerance``

    @classmethod
    def from_points(cls, points: np.ndarray, n_neighbors: int) -> "ProductSet":
        """Take points (n, d) as they are."""
        one = points[None]
        upper, tolerance = _upper_and_tolerance(one, one)
        return cls(one, squared_norms(one), n_neighbors, tolerance, upper)

    @property
    def extra_candidates(self) -> tuple[int, ...]:
        """Numbers of candidates beyond the neighbours."""
        return EXTRA_CANDIDATES

    def values(self, indices: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return by how much the products of candidates fall below the upper bound."""
        queries = self.points[:, indices]
        products = pair_products(self.points, queries, candidates[None])[0]
        return self.upper[0, indices] + negative_absolute(products)

    def lower(self, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return lower bounds of minus the absolute products."""
        return values - (self.upper + self.tolerance)[0, indices]

    def reach(self, last_tie: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return minus the smallest product that a neighbour can have."""
        return last_tie + (2 * self.tolerance - self.upper)[0, indices, 0]

    def losses(self, before: np.ndarray) -> Losses:
        """Return s_i ||h_j|| + ||g_i|| s_j, as above, rounded upwards."""
        d, eps = before.shape[1], float(np.finfo(before.dtype).eps)
        steps, lengths, norms = (
            (1 + (d + 8) * eps) * np.sqrt(squared)
            for squared in (
                squared_norms(self.points[0] - before),
                squared_norms(before),
                self.norms[0],
            )
        )
        return Losses((steps, lengths), (norms, steps))

    def filtered(self, indices: np.ndarray, count: int, *, single: bool) -> Bounds:
        """Return the bounds of the points of these indices, by a filter."""
        queries = self.points[:, indices]
        found, error = filter_products(
            self.points, queries, indices, count, single=single
        )
        return Bounds(found.indices[0], (found.values - error)[0], found.bound[0])
