"""Approximate neighbours, for more points than are worth comparing with each other.

The points are divided into cells of about a hundred points each by K-means. A point
visits the cells whose means are nearest to it, and is compared with the points there:
about 1,500, however many points there are in all. All visitors of a cell are compared
with its points by one product of matrices. This is an inverted file without
compression: H. Jégou, M. Douze, C. Schmid. Product quantization for nearest neighbor
search. IEEE Transactions on Pattern Analysis and Machine Intelligence 33(1), 2011.

How many cells a point has to visit is tried on some points that are compared with all
others: nearly all of their nearest neighbours must be found. The largest affinities of
a sample are searched in the same cells, so that those of distant samples are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from twofold.core.arrays import (
    gather,
    negative_absolute,
    slices,
    smallest_indices,
    squared_norms,
)
from twofold.core.neighbors.selection import smallest_values

MANY_SAMPLES = 5000
"""Number of samples from which on the approximate search is faster at the defaults; in
the few dimensions of pixels it is from some 20,000 on.
"""

_CELL_SIZE, _MAX_CELL_SIZE = 96, 128
"""Mean number of points in a cluster of K-means, and largest number in a cell."""

_TRAINING_POINTS, _TRAINING_STEPS = 32, 4
"""Number of points for each cluster that K-means is run on, and of its iterations."""

_VISITS = 16
"""Number of cells that a point visits at first; it is doubled until it is enough."""

_N_TRIED, _RECALL = 300, 0.98
"""Number of points that are compared with all others, and the least fraction of their
neighbours that must be found.
"""

_BLOCK_ENTRIES = 2**23
"""Maximum number of values in a block."""

_ASSIGNED_ENTRIES = 2**21
"""The same where only the smallest of them are kept, so that they fit in the cache."""

Measure = Callable[[np.ndarray, slice], np.ndarray]
"""Maps the indices (m,) of points, and the slice of b points, to values (m, b) by which
they are compared, the smallest being the best.
"""


@dataclass(frozen=True)
class Cells:
    """Points in cells, numbered cell by cell; ``order`` has their indices."""

    points: np.ndarray  # (n, d), in single precision
    order: np.ndarray  # (n,), index that each point had
    bounds: np.ndarray  # (c + 1,), cell j has the points bounds[j], ..., bounds[j+1]-1
    means: np.ndarray  # (c, d), of the points of each cell
    visited: np.ndarray  # (n, p), cells that each point visits
    recall: float  # fraction found of the nearest neighbours of the points tried

    @cached_property
    def cell(self) -> np.ndarray:
        """Cell of each point (n,)."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    def nearest(self, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared distances and indices of near points, as ``exact`` does.

        Both are of shape (n, n_neighbors), in the order that the points had. Squared
        distances within the rounding error of zero are zero.
        """
        squared, neighbors = self._find(n_neighbors, _by_distance(self.points))
        radii = squared_norms(self.points - self.means[self.cell])
        radii = np.minimum(radii, np.median(radii))[:, None]
        rounding = 100 * np.finfo(np.float32).eps * radii
        return self._as_given(np.where(squared > rounding, squared, 0), neighbors)

    def largest_products(
        self, points: np.ndarray, n_neighbors: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return large absolute inner products of points (n, d'), and their indices.

        Both are of shape (n, n_neighbors), the largest first. Only points in visited
        cells are compared.
        """
        own = points[self.order].astype(np.float32)
        values, neighbors = self._find(n_neighbors, _by_product(own))
        return self._as_given(-values, neighbors)

    def _find(
        self, n_neighbors: int, measure: Measure
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest values of all points, ascending, and the points."""
        rows = np.arange(len(self.points))
        values, found = search_visited(self, rows, self.visited, n_neighbors, measure)
        few = np.flatnonzero(np.isinf(values[:, -1]))  # only tiny cells were visited
        if len(few):
            values[few], found[few] = search_all(few, len(rows), n_neighbors, measure)
        return values, found

    def _as_given(
        self, values: np.ndarray, found: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values and points (n, q) in the order and by the indices of before."""
        back = np.argsort(self.order)
        return values[back], self.order[found[back]]


def divide(points: np.ndarray, n_neighbors: int) -> Cells:
    """Divide points (n, d) into cells in which the nearest neighbours are found."""
    moved = (points - points.mean(axis=0)).astype(np.float32)
    count = max(len(points) // _CELL_SIZE, 1)
    some = moved[_spread(len(points), _TRAINING_POINTS * count)]
    cell = nearest_rows(moved, cluster_centres(some, count), 1)[:, 0]
    order = np.argsort(cell, kind="stable")
    moved, bounds = moved[order], cell_bounds(np.bincount(cell))
    means = group_means(moved, bounds)
    cells = Cells(moved, order, bounds, means, np.empty((0, 0), int), 0.0)
    visits, recall = _enough_visits(cells, points, n_neighbors)
    return replace(cells, visited=nearest_rows(moved, means, visits), recall=recall)


def cluster_centres(points: np.ndarray, count: int) -> np.ndarray:
    """Return at most ``count`` centres (c, d) of points (n, d), by K-means.

    Empty clusters are dropped. scikit-learn's K-means would sum in an order that its
    threads determine, so that rounding, and then the cells, would differ each time.
    """
    centres = points[_spread(len(points), count)]
    for _ in range(_TRAINING_STEPS):
        cell = nearest_rows(points, centres, 1)[:, 0]
        ascending = points[np.argsort(cell, kind="stable")]
        centres = group_means(ascending, cell_bounds(np.bincount(cell), len(points)))
    return centres


def group_means(points: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return the means (c, d) of points that follow each other, none of them empty."""
    return np.add.reduceat(points, bounds[:-1]) / np.diff(bounds)[:, None]


def cell_bounds(sizes: np.ndarray, largest: int = _MAX_CELL_SIZE) -> np.ndarray:
    """Return the bounds of cells, given the sizes of clusters that follow each other.

    Larger clusters are cut into cells of nearly one size, and empty ones left out.
    """
    parts = -(-sizes // largest)
    cells = [
        size * (1 + np.arange(n)) // n - size * np.arange(n) // n
        for size, n in zip(sizes, parts, strict=True)
    ]
    return np.concatenate([[0], *cells]).cumsum()


def _enough_visits(
    cells: Cells, points: np.ndarray, n_neighbors: int
) -> tuple[int, float]:
    """Return how many cells a point should visit, and the recall that this gives.

    The points (n, d) are those that were divided, in their own order and precision.
    """
    n, means, tried = len(points), cells.means, _spread(len(points), _N_TRIED)
    own, measure = cells.order[tried], _by_all_distances(points)
    near = search_all(own, n, n_neighbors, measure)[1]
    measure, visits = _by_distance(cells.points), min(_VISITS, len(means))
    while True:
        visited = nearest_rows(cells.points[tried], means, visits)
        values, found = search_visited(cells, tried, visited, n_neighbors, measure)
        listed = np.where(np.isfinite(values), cells.order[found], -1)
        pairs = zip(near, listed, strict=True)
        recalls = [np.isin(theirs, ours).mean() for theirs, ours in pairs]
        if np.mean(recalls) >= _RECALL or visits == len(means):
            return visits, float(np.mean(recalls))
        visits = min(2 * visits, len(means))


def search_visited(
    cells: Cells, rows: np.ndarray, visited: np.ndarray, count: int, measure: Measure
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest values of points and those in cells that they visit.

    Parameters
    ----------
    cells : Cells
    rows : int array of shape (m,)
        Points that visit cells; they are not compared with themselves.
    visited : int array of shape (m, p)
        Cells that each of them visits.
    count : int
        Number of values; where fewer points are in the cells, the rest is infinite.
    measure : Measure

    Returns
    -------
    values, found : arrays of shape (m, count)
        Ascending values, and the points that they belong to.
    """
    p = visited.shape[1]
    width = max(int(np.diff(cells.bounds).max()), -(-count // p))
    blocks = slices(len(rows), _BLOCK_ENTRIES // (p * width))
    height = min(len(rows), blocks[0].stop)
    table = np.empty((height, p, width), np.float32)
    values = np.empty((len(rows), count), np.float32)
    found = np.empty((len(rows), count), np.int64)
    for block in blocks:
        some = visited[block]
        each = table[: len(some)]
        each.fill(np.inf)
        _compare_with_cells(each, cells, rows[block], some, measure)
        best = smallest_values(each.reshape(1, len(some), p * width), None, count)
        order = np.argsort(best.values[0], axis=1)
        values[block] = gather(best.values[0], order)
        place = gather(best.indices[0], order)
        inside = cells.bounds[gather(some, place // width)] + place % width
        found[block] = np.minimum(inside, len(cells.points) - 1)  # infinite values
    return values, found


def _compare_with_cells(
    table: np.ndarray,
    cells: Cells,
    rows: np.ndarray,
    visited: np.ndarray,
    measure: Measure,
) -> None:
    """Write the values of points (m,) and those in visited cells (m, p) into a table.

    The table is of shape (m, p, size of the largest cell).
    """
    p = visited.shape[1]
    visits = np.argsort(visited, axis=None, kind="stable")  # cell by cell
    visitors, which = visits // p, visits % p
    own = cells.cell[rows]
    names, first = np.unique(visited.ravel()[visits], return_index=True)
    ends = np.append(first[1:], len(visits))
    for cell, begin, end in zip(names, first, ends, strict=True):
        inside = slice(cells.bounds[cell], cells.bounds[cell + 1])
        at = visitors[begin:end]
        values = measure(rows[at], inside)
        residents = np.flatnonzero(own[at] == cell)
        values[residents, rows[at[residents]] - inside.start] = np.inf  # themselves
        table[at, which[begin:end], : values.shape[1]] = values


def search_all(
    rows: np.ndarray, n: int, count: int, measure: Measure
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest values of some points with all n points, as for cells."""
    parts = []
    for block in slices(len(rows), _BLOCK_ENTRIES // n):
        some = rows[block]
        best = smallest_values(measure(some, slice(0, n))[None], some, count)
        order = np.argsort(best.values[0], axis=1)
        parts.append((gather(best.values[0], order), gather(best.indices[0], order)))
    values, found = (np.concatenate(each) for each in zip(*parts, strict=True))
    return values, found


def _by_distance(points: np.ndarray) -> Measure:
    """Compare by the squared distance of points (n, d), in single precision.

    It is computed from one of the points of the slice: rounding is relative to squared
    distances from there, not from the mean of all points.
    """
    norms = squared_norms(points)

    def measure(rows: np.ndarray, inside: slice) -> np.ndarray:
        # The shortest one is none that lies far from all others.
        centre = points[inside.start + norms[inside].argmin()]
        ours, theirs = points[rows] - centre, points[inside] - centre
        values = ours @ (-2 * theirs).T
        values += squared_norms(ours)[:, None]
        values += squared_norms(theirs)
        return values

    return measure


def _by_all_distances(points: np.ndarray) -> Measure:
    """Compare by |y|^2 - 2 x'y = |x - y|^2 - |x|^2, in the precision of the points."""
    norms = squared_norms(points)
    return lambda rows, inside: norms[inside] - 2 * points[rows] @ points[inside].T


def _by_product(points: np.ndarray) -> Measure:
    """Compare by minus the absolute inner product of points (n, d)."""
    return lambda rows, inside: negative_absolute(points[rows] @ points[inside].T)


def nearest_rows(points: np.ndarray, rows: np.ndarray, count: int) -> np.ndarray:
    """Return the ``count`` nearest rows of each point in any order, (n, count)."""
    across, halves, found = rows.T.copy(), squared_norms(rows) / 2, []
    for block in slices(len(points), _ASSIGNED_ENTRIES // len(rows)):
        products = points[block] @ across
        # |x|^2 / 2 - x'y = (|x - y|^2 - |y|^2) / 2
        values = np.subtract(halves, products, out=products)
        if count == 1:
            found.append(values.argmin(axis=1)[:, None])
        else:
            found.append(smallest_indices(values, count))
    return np.concatenate(found)


def _spread(n: int, count: int) -> np.ndarray:
    """Return at most ``count`` of the indices 0, ..., n - 1, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, count)).astype(int))
