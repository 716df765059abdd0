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

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

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


def update_lists(
    lists: NeighborLists | None,
    points: np.ndarray,
    n_neighbors: int,
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

    Returns
    -------
    squared, neighbors : ndarrays of shape (n, n_neighbors)
        Squared distances and indices of the neighbours, the nearest first.
    lists : NeighborLists
        Lists for the next iteration.
    """
    point_set = DistanceSet.from_points(points, n_neighbors)
    return update_point_set(lists, point_set)


def update_point_set(
    lists: NeighborLists | None, point_set: "PointSet"
) -> tuple[np.ndarray, np.ndarray, NeighborLists]:
    """Find the neighbours of a point set as ``update_lists`` does.

    Instead of squared distances it returns ``PointSet.values``.
    """
    all_rows, searched = np.arange(point_set.points.shape[1]), 0
    bounds, remaining = None, point_set.extra_candidates
    if lists is not None:
        bounds = point_set.updated_bounds(lists)
    if bounds is None:
        bounds = search_all(point_set, all_rows, remaining[0])
        searched, remaining = len(all_rows), remaining[1:]
    rows = point_set.select(all_rows, bounds)
    for extra in remaining:
        uncertified = np.flatnonzero(rows.uncertified)
        if len(uncertified) == 0:
            break
        found = search_all(point_set, uncertified, extra)
        rows.put(uncertified, point_set.select(uncertified, found, always=True))
        searched += len(uncertified)
    updated = NeighborLists(point_set.points[0], rows.bounds, searched)
    return rows.values, rows.neighbors, updated


@dataclass(frozen=True)
class _Rows:
    """Bounds of b points and the nearest of their candidates."""

    bounds: Bounds
    values: np.ndarray  # (b, n_neighbors), see ``PointSet.values``
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
        for name in ("values", "neighbors", "reach"):
            getattr(self, name)[indices] = getattr(rows, name)


def _truncated(bounds: Bounds, count: int) -> Bounds:
    """Keep ``count`` candidates; the next one limits the radius."""
    if bounds.lower.shape[1] <= count:
        return bounds
    order = np.argsort(bounds.lower, axis=1)
    candidates, lower = gather(bounds.candidates, order), gather(bounds.lower, order)
    radius = np.minimum(bounds.radius, lower[:, count])
    return Bounds(candidates[:, :count], lower[:, :count], radius)


def _rounded_down(bounds: np.ndarray) -> np.ndarray:
    """Subtract the rounding error of an update from lower bounds of any sign."""
    return bounds * (1 - 8 * np.finfo(bounds.dtype).eps * np.sign(bounds))


class Losses(NamedTuple):
    """By how much bounds fall: the loss of i and j is sum_t own[t][i] other[t][j]."""

    own: tuple[np.ndarray, np.ndarray]  # (n,) each
    other: tuple[np.ndarray, np.ndarray]  # (n,) each

    def of(self, candidates: np.ndarray) -> np.ndarray:
        """Return the losses of all points and their candidates (n, c)."""
        (a, b), (p, q) = self.own, self.other
        return a[:, None] * p[candidates] + b[:, None] * q[candidates]

    def largest(self) -> np.ndarray:
        """Return the largest loss of each point with any other: (n,)."""
        (a, b), (p, q) = self.own, self.other
        return a * p.max() + b * q.max()


@dataclass(frozen=True)
class PointSet(ABC):
    """Points whose neighbours are searched: the nearest, or others of least value."""

    points: np.ndarray  # (1, n, d)
    norms: np.ndarray  # (1, n), squared norms of the points
    n_neighbors: int
    tolerance: np.ndarray  # (1, 1 or n, 1), largest difference of values that tie

    @property
    @abstractmethod
    def extra_candidates(self) -> tuple[int, ...]:
        """Numbers of candidates beyond the neighbours, tried in turn."""

    @abstractmethod
    def values(self, indices: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Measure candidates (b, c) of the points of these indices, (b,)."""

    @abstractmethod
    def lower(self, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return the lower bounds, in the unit of ``Bounds``, of values (b, c)."""

    @abstractmethod
    def reach(self, last_tie: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return the bound above which no point ties with values (b,)."""

    @abstractmethod
    def losses(self, before: np.ndarray) -> Losses:
        """Return by how much lower bounds fall as the points move from ``before``."""

    @abstractmethod
    def filtered(self, indices: np.ndarray, count: int, *, single: bool) -> Bounds:
        """Return the bounds of points by a search of all, in single precision or not.

        The candidates may be in any order.
        """

    def usable(self, lists: NeighborLists) -> Bounds | None:
        """Return the bounds before the move; None if they are of something else."""
        width = self.n_neighbors + self.extra_candidates[0]
        if lists.bounds.candidates.shape[1] < self.n_neighbors:
            return None
        if lists.points.shape != self.points[0].shape:  # those of another kind of graph
            return None
        return _truncated(lists.bounds, width)

    def updated_bounds(self, lists: NeighborLists) -> Bounds | None:
        """Return the bounds after the move; None if they certify too few rows."""
        last, before = self.n_neighbors - 1, self.usable(lists)
        if before is None:
            return None
        losses = self.losses(lists.points)
        radius = _rounded_down(before.radius) - losses.largest()
        # If most rows have to be searched, measuring their candidates is wasted.
        if np.mean(radius <= before.lower[:, last]) > 0.5:
            return None
        lost = losses.of(before.candidates)
        return Bounds(before.candidates, _rounded_down(before.lower) - lost, radius)

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
        values = self.values(indices, candidates)
        order = np.argsort(values, axis=1)
        candidates, values = gather(candidates, order), gather(values, order)
        tolerance = self.tolerance
        if tolerance.shape[1] > 1:
            tolerance = tolerance[:, indices]
        selected, neighbors, last_tie = select_neighbors(
            values[None], candidates[None], self.n_neighbors, tolerance
        )
        lower = self.lower(values, indices)
        if count is not None:
            candidates = np.hstack([candidates, bounds.candidates[:, count:]])
            lower = np.hstack([lower, bounds.lower[:, count:]])
        measured = Bounds(candidates, lower, bounds.radius)
        reach = self.reach(last_tie[0], indices)
        return _Rows(measured, selected[0], neighbors[0], reach)


@dataclass(frozen=True)
class DistanceSet(PointSet):
    """Points whose nearest neighbours are searched; values are squared distances."""

    @classmethod
    def from_points(cls, points: np.ndarray, n_neighbors: int) -> "DistanceSet":
        """Translate points (n, d) to mean zero."""
        moved, tolerance = centred(points[None])
        return cls(moved, squared_norms(moved), n_neighbors, tolerance)

    @property
    def extra_candidates(self) -> tuple[int, ...]:
        """Numbers of candidates beyond the neighbours."""
        return EXTRA_CANDIDATES

    def values(self, indices: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return the squared distances of candidates."""
        queries, norms = self.points[:, indices], self.norms[:, indices]
        return pair_squares(self.points, self.norms, queries, norms, candidates[None])[
            0
        ]

    def lower(self, values: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return lower bounds of the distances.

        The tolerance covers the rounding error of a measured squared distance.
        """
        return np.sqrt(np.maximum(values - self.tolerance[0], 0))

    def reach(self, last_tie: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return the largest distance of a point that ties."""
        return np.sqrt(last_tie + 2 * self.tolerance[0, 0, 0])

    def losses(self, before: np.ndarray) -> Losses:
        """Return s_i + s_j, how far both have moved."""
        steps = np.sqrt(squared_norms(self.points[0] - before))
        ones = np.ones_like(steps)
        return Losses((steps, ones), (ones, steps))

    def filtered(self, indices: np.ndarray, count: int, *, single: bool) -> Bounds:
        """Return the bounds of the points of these indices, by a filter."""
        queries = self.points[:, indices]
        found, error = filter_candidates(
            self.points, queries, indices, count, single=single
        )
        lower = np.sqrt(np.maximum(found.values - error, 0))
        return Bounds(found.indices[0], lower[0], np.sqrt(found.bound[0]))


def search_all(point_set: PointSet, indices: np.ndarray, extra: int) -> Bounds:
    """Return the bounds of the points of these indices, by a search of all points."""
    possible = point_set.points.shape[1] - 1
    count = min(point_set.n_neighbors + extra, possible)
    # Ties that the filter cannot resolve are searched in full precision.
    single = extra == point_set.extra_candidates[0]
    found = point_set.filtered(indices, count, single=single)
    order = np.argsort(found.lower, axis=1)
    radius = found.radius
    if count == possible:  # there are no other points
        radius = np.full_like(radius, np.inf)
    return Bounds(gather(found.candidates, order), gather(found.lower, order), radius)
