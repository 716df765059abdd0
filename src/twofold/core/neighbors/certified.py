"""Neighbour lists that stay exact while the points move, without a new search.

Every iteration of Algorithm 1 changes the projections a little, and with them the
projected samples, but hardly changes their neighbours. So each point keeps a candidate
set, somewhat larger than its neighbour list, and a *radius*: a lower bound of its
distance to every point that is not a candidate. As long as the radius exceeds the
distance of the last neighbour, the nearest candidates are the nearest points.

Proof that a radius remains valid after a move. Distances are invariant under a rigid
motion of all points. Apply the rotation that brings the new projection closest to the
old one, and the translation of the points to mean zero. Let s_i be the distance that
point i has then moved since the last iteration. By the triangle inequality

    ||x_i - x_j||  >=  ||x_i_old - x_j_old|| - s_i - s_j  >=  radius_i - s_i - max_j s_j

for every j that is not a candidate of i. For a candidate j with the lower bound l_ij of
its distance, l_ij - s_i - s_j is a lower bound after the move. These lower bounds are
updated in every iteration and only decrease. A candidate is measured when its lower
bound no longer excludes it from the neighbours. A row whose radius has become too small
is searched again.

The lists are equal to those of ``exact.nearest``, ties included, provided that at most
512 points tie. Two precautions make this so. The radius must exceed the *reach*: the
largest distance that ties with the last neighbour, plus the rounding error bounds of
both. And every update of a bound subtracts a bound of its rounding error.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twofold.core.arrays import gather, squared_norms
from twofold.core.neighbors.exact import (
    centred,
    filter_candidates,
    pair_squares,
    select_neighbors,
)

EXTRA_CANDIDATES = (25, 64, 512)
"""Numbers of candidates beyond the neighbours; only ties need more than the first."""

_MEASURED_EXTRA = 3
"""Number of candidates beyond the neighbours that every iteration measures."""


@dataclass(frozen=True)
class Bounds:
    """Candidate sets of b points, with lower bounds of distances."""

    candidates: np.ndarray  # (b, c), indices, approximately the nearest first
    lower: np.ndarray  # (b, c), lower bounds of the distances of the candidates
    radius: np.ndarray  # (b,), lower bound of the distances of all other points

    def take(self, rows: np.ndarray) -> "Bounds":
        """Return the given rows."""
        return Bounds(*(array[rows] for array in vars(self).values()))

    def put(self, rows: np.ndarray, bounds: "Bounds") -> None:
        """Overwrite the given rows."""
        for name, array in vars(self).items():
            array[rows] = getattr(bounds, name)


@dataclass(frozen=True)
class NeighborLists:
    """Bounds of all points of one entry of the batch, and the points they hold for."""

    points: np.ndarray  # (n, d), with mean zero
    bounds: Bounds  # of all n points
    searched: int  # number of rows that were searched among all points


@dataclass(frozen=True)
class TrackedLists:
    """Neighbour lists of one side, from which the next iteration starts."""

    projection: np.ndarray  # (batch, w, r), rotated towards the iteration before
    lists: list[NeighborLists]  # of the samples under each projection


def update_lists(
    lists: NeighborLists | None,
    points: np.ndarray,
    n_neighbors: int,
    search: "Search",
) -> tuple[np.ndarray, np.ndarray, NeighborLists]:
    """Find the neighbours of points that have moved, and update their lists.

    Parameters
    ----------
    lists : NeighborLists or None
        Lists of the same points before the move; None in the first iteration.
    points : ndarray of shape (n, d)
        Points, rotated to be close to the points before the move.
    n_neighbors : int
        Number of neighbours, less than n.
    search : Search
        Search for rows that are not certified. The result is exact with ``EXACT``.

    Returns
    -------
    squared, neighbors : ndarrays of shape (n, n_neighbors)
        Squared distances and indices of the neighbours, the nearest first.
    lists : NeighborLists
        Lists for the next iteration.
    """
    point_set = PointSet.from_points(points, n_neighbors)
    all_rows, searched = np.arange(len(points)), 0
    bounds, remaining = None, search.extra_candidates
    if lists is not None:
        bounds = point_set.updated_bounds(lists)
    if bounds is None:
        bounds = search.find(point_set, all_rows, remaining[0], None)
        searched, remaining = len(points), remaining[1:]
    rows = point_set.select(all_rows, bounds)
    for extra in remaining:
        uncertified = np.flatnonzero(rows.uncertified)
        if len(uncertified) == 0:
            break
        found = search.find(point_set, uncertified, extra, rows.bounds)
        rows.put(uncertified, point_set.select(uncertified, found, always=True))
        searched += len(uncertified)
    updated = NeighborLists(point_set.points[0], rows.bounds, searched)
    return rows.squared, rows.neighbors, updated


@dataclass(frozen=True)
class _Rows:
    """Bounds of b points and the nearest of their candidates."""

    bounds: Bounds
    squared: np.ndarray  # (b, n_neighbors)
    neighbors: np.ndarray  # (b, n_neighbors)
    reach: np.ndarray  # (b,), no point farther away can be a neighbour

    @property
    def uncertified(self) -> np.ndarray:
        """Rows in which a point that is not a candidate may be a neighbour."""
        return self.bounds.radius <= self.reach

    def put(self, indices: np.ndarray, rows: "_Rows") -> None:
        """Overwrite the rows of these indices, with as many candidates as before."""
        width = self.bounds.candidates.shape[1]
        self.bounds.put(indices, _truncated(rows.bounds, width))
        for name in ("squared", "neighbors", "reach"):
            getattr(self, name)[indices] = getattr(rows, name)


def _truncated(bounds: Bounds, count: int) -> Bounds:
    """Keep ``count`` candidates; the next one limits the radius."""
    if bounds.lower.shape[1] <= count:
        return bounds
    order = np.argsort(bounds.lower, axis=1)
    candidates, lower = gather(bounds.candidates, order), gather(bounds.lower, order)
    radius = np.minimum(bounds.radius, lower[:, count])
    return Bounds(candidates[:, :count], lower[:, :count], radius)


@dataclass(frozen=True)
class PointSet:
    """Points whose neighbours are searched."""

    points: np.ndarray  # (1, n, d), with mean zero
    norms: np.ndarray  # (1, n), squared norms of the points
    n_neighbors: int
    tolerance: np.ndarray  # (1, 1, 1), largest difference of squares that tie

    @classmethod
    def from_points(cls, points: np.ndarray, n_neighbors: int) -> "PointSet":
        """Translate points (n, d) to mean zero."""
        moved, tolerance = centred(points[None])
        return cls(moved, squared_norms(moved), n_neighbors, tolerance)

    def updated_bounds(self, lists: NeighborLists) -> Bounds | None:
        """Return the bounds after the move; None if they certify too few rows."""
        last, width = self.n_neighbors - 1, self.n_neighbors + EXTRA_CANDIDATES[0]
        if lists.bounds.candidates.shape[1] <= last:
            return None
        if lists.points.shape != self.points[0].shape:  # those of another kind of graph
            return None
        before = _truncated(lists.bounds, width)
        steps = np.sqrt(squared_norms(self.points[0] - lists.points))
        kept = 1 - 8 * np.finfo(steps.dtype).eps  # subtracts the rounding error
        radius = kept * before.radius - steps - steps.max()
        # If most rows have to be searched, measuring their candidates is wasted.
        if np.mean(radius <= before.lower[:, last]) > 0.5:
            return None
        lower = kept * before.lower - steps[:, None] - steps[before.candidates]
        return Bounds(before.candidates, lower, radius)

    def select(
        self, indices: np.ndarray, bounds: Bounds, *, always: bool = False
    ) -> _Rows:
        """Find the nearest of the candidates of the points of these indices.

        Only the first candidates are measured, unless another candidate may be nearer.
        Rows that are not certified are then left for the search, unless ``always``.
        """
        first = self.n_neighbors + _MEASURED_EXTRA
        rows = self._measure(indices, bounds, first)
        unmeasured = np.min(rows.bounds.lower[:, first:], axis=1, initial=np.inf)
        incomplete = (unmeasured <= rows.reach) & (always | ~rows.uncertified)
        repeated = np.flatnonzero(incomplete)
        if len(repeated):
            again = rows.bounds.take(repeated)
            rows.put(repeated, self._measure(indices[repeated], again, None))
        return rows

    def _measure(self, indices: np.ndarray, bounds: Bounds, count: int | None) -> _Rows:
        """Measure and sort the first ``count`` candidates, or all if None."""
        candidates = bounds.candidates[:, :count]
        queries, norms = self.points[:, indices], self.norms[:, indices]
        squared = pair_squares(
            self.points, self.norms, queries, norms, candidates[None]
        )
        order = np.argsort(squared[0], axis=1)
        candidates, squared = gather(candidates, order), gather(squared[0], order)
        selected, neighbors, last_tie = select_neighbors(
            squared[None], candidates[None], self.n_neighbors, self.tolerance
        )
        # The tolerance covers the rounding error of a measured squared distance.
        tolerance = self.tolerance[0, 0, 0]
        lower = np.sqrt(np.maximum(squared - tolerance, 0))
        if count is not None:
            candidates = np.hstack([candidates, bounds.candidates[:, count:]])
            lower = np.hstack([lower, bounds.lower[:, count:]])
        reach = np.sqrt(last_tie[0] + 2 * tolerance)
        measured = Bounds(candidates, lower, bounds.radius)
        return _Rows(measured, selected[0], neighbors[0], reach)


@dataclass(frozen=True)
class Search:
    """Search for the rows that are not certified."""

    # The bounds of points, given the point set, the indices of the points, the number
    # of extra candidates, and the known bounds of all points or None.
    find: Callable[[PointSet, np.ndarray, int, Bounds | None], Bounds]
    extra_candidates: tuple[int, ...]  # tried in turn while rows are not certified


def search_all(
    point_set: PointSet, indices: np.ndarray, extra: int, known: Bounds | None
) -> Bounds:
    """Return the bounds of the points of these indices, by a search of all points."""
    possible = point_set.points.shape[1] - 1
    count = min(point_set.n_neighbors + extra, possible)
    # Ties that the filter cannot resolve are searched in full precision.
    single = extra == EXTRA_CANDIDATES[0]
    queries = point_set.points[:, indices]
    found, error = filter_candidates(
        point_set.points, queries, indices, count, single=single
    )
    lower = np.maximum(found.values - error, 0)[0]
    order = np.argsort(lower, axis=1)
    radius = np.sqrt(found.bound[0])
    if count == possible:  # there are no other points
        radius[:] = np.inf
    return Bounds(
        gather(found.indices[0], order), np.sqrt(gather(lower, order)), radius
    )


EXACT = Search(search_all, EXTRA_CANDIDATES)
"""Search that makes the lists exact."""
