"""Neighbour lists that stay exact while the points move, without a new search.

Every iteration of Algorithm 1 turns the projections a little, and with them the
projected samples. Who is near whom hardly changes. So each point keeps somewhat more
candidates than the neighbours it is asked for, and a *radius*: all points that are no
candidates of it are at least that far away. As long as the radius exceeds the distance
of its last neighbour, the nearest candidates are the nearest points.

Proof that the radius may be carried on. Distances do not change when all points are
moved by one rigid motion, a turn and a shift. After the turn that brings the new
projection closest to the old one, and the shift of all points to mean zero, let point i
have moved by s_i since the last time. By the triangle inequality

    ||x_i - x_j||  >=  ||x_i_old - x_j_old|| - s_i - s_j  >=  radius_i - s_i - max_j s_j

for every j that is no candidate of i; and a candidate that was at least l_ij away is
at least l_ij - s_i - s_j away. These lower bounds are carried from one iteration to the
next and only fall, until they no longer tell that a point is out of reach. Candidates
are then measured, and a row whose radius has shrunk too far is searched anew.

What is listed is what ``neighbors.nearest`` lists, ties included, as long as no more
than 512 points tie: the reach that the bounds must exceed is the largest distance that
ties with the last neighbour's, plus what rounding may do to both; and every bound that
is carried on loses what rounding may have added to it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twofold.core.arrays import gather, squared_norms
from twofold.core.neighbors.exact import centred, choose, pair_squares, rank

SPARES = (25, 64, 512)
"""Candidates beyond the neighbours; more than the first only to see all ties."""

_FIRST = 3
"""Candidates beyond the neighbours that are measured in every iteration."""


@dataclass(frozen=True)
class Bounds:
    """Who may be near some of the points, a row for each.

    Attributes
    ----------
    candidates : integer ndarray of shape (b, c)
        About the nearest first.
    lower : ndarray of shape (b, c)
        Their distances at least.
    radius : ndarray of shape (b,)
        The distance of any other point at least.
    """

    candidates: np.ndarray
    lower: np.ndarray
    radius: np.ndarray

    def take(self, numbers: np.ndarray) -> "Bounds":
        """The rows of these numbers."""
        return Bounds(*(array[numbers] for array in vars(self).values()))

    def put(self, numbers: np.ndarray, bounds: "Bounds") -> None:
        """Others in the place of the rows of these numbers."""
        for name, array in vars(self).items():
            array[numbers] = getattr(bounds, name)


@dataclass(frozen=True)
class Lists:
    """The bounds of all points of one run, and where the points were.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        About their mean.
    bounds : Bounds
    searched : int
        Rows for which all points were looked at, not only candidates.
    """

    points: np.ndarray
    bounds: Bounds
    searched: int


@dataclass(frozen=True)
class Followed:
    """What the graphs of the next iteration are found from, on one side.

    Attributes
    ----------
    turned : ndarray of shape (runs, w, r)
        The projections, turned towards those of the iteration before.
    lists : list of Lists
        Of the samples projected by them, one for each run.
    """

    turned: np.ndarray
    lists: list[Lists]


def follow(
    lists: Lists | None, points: np.ndarray, n_neighbors: int, search: "Search"
) -> tuple[np.ndarray, np.ndarray, Lists]:
    """The neighbours of points that have moved, and the lists to go on with.

    Parameters
    ----------
    lists : Lists or None
        Of where the same points were; None the first time.
    points : ndarray of shape (n, d)
        Where they are, turned to be close to where they were.
    n_neighbors : int
        Fewer than n.
    search : Search
        Finds rows that are lost: ``EXACT``, or nothing is certain.

    Returns
    -------
    squared : ndarray of shape (n, n_neighbors)
    neighbors : integer ndarray of shape (n, n_neighbors)
    lists : Lists
    """
    scene = Scene.of(points, n_neighbors)
    everyone, searched = np.arange(len(points)), 0
    bounds, spares = None, search.spares
    if lists is not None:
        bounds = scene.carried(lists)
    if bounds is None:
        bounds, searched = search.find(scene, everyone, spares[0], None), len(points)
        spares = spares[1:]
    rows = scene.settled(everyone, bounds)
    for spare in spares:
        lost = np.flatnonzero(rows.lost)
        if len(lost) == 0:
            break
        found = search.find(scene, lost, spare, rows.bounds)
        rows.put(lost, scene.settled(lost, found, thorough=True))
        searched += len(lost)
    now = Lists(scene.points[0], rows.bounds, searched)
    return rows.squared, rows.neighbors, now


@dataclass(frozen=True)
class _Rows:
    """Bounds, the neighbours within them (b, n_neighbors), and their reach.

    Nobody beyond the reach (b,) can be a neighbour.
    """

    bounds: Bounds
    squared: np.ndarray
    neighbors: np.ndarray
    reach: np.ndarray

    @property
    def lost(self) -> np.ndarray:
        """Where a point that is no candidate may be a neighbour."""
        return self.bounds.radius <= self.reach

    def put(self, numbers: np.ndarray, rows: "_Rows") -> None:
        """Others in the place of the rows of these numbers, as wide as these."""
        width = self.bounds.candidates.shape[1]
        self.bounds.put(numbers, _shortened(rows.bounds, width))
        self.squared[numbers] = rows.squared
        self.neighbors[numbers] = rows.neighbors
        self.reach[numbers] = rows.reach


def _shortened(bounds: Bounds, count: int) -> Bounds:
    """With ``count`` candidates only, the next one bounding the others."""
    if bounds.lower.shape[1] <= count:
        return bounds
    order = np.argsort(bounds.lower, axis=1)
    candidates, lower = gather(bounds.candidates, order), gather(bounds.lower, order)
    radius = np.minimum(bounds.radius, lower[:, count])
    return Bounds(candidates[:, :count], lower[:, :count], radius)


@dataclass(frozen=True)
class Scene:
    """Points (1, n, d) about their mean, their squares (1, n), and what is asked."""

    points: np.ndarray
    squares: np.ndarray
    n_neighbors: int
    rounding: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, n_neighbors: int) -> "Scene":
        """Points (n, d), moved to mean zero."""
        centre, rounding = centred(points[None])
        return cls(centre, squared_norms(centre), n_neighbors, rounding)

    def carried(self, lists: Lists) -> Bounds | None:
        """What is left of the bounds after the move; None if most rows are lost."""
        near, most = self.n_neighbors - 1, self.n_neighbors + SPARES[0]
        if lists.bounds.candidates.shape[1] <= near:
            return None
        before = _shortened(lists.bounds, most)
        steps = np.sqrt(squared_norms(self.points[0] - lists.points))
        kept = 1 - 8 * np.finfo(steps.dtype).eps  # what rounding takes of a bound
        radius = kept * before.radius - steps - steps.max()
        if np.mean(radius <= before.lower[:, near]) > 0.5:
            return None
        lower = kept * before.lower - steps[:, None] - steps[before.candidates]
        return Bounds(before.candidates, lower, radius)

    def settled(
        self, numbers: np.ndarray, bounds: Bounds, *, thorough: bool = False
    ) -> _Rows:
        """The neighbours among the candidates of the points of these numbers.

        Only the first candidates are measured, and all where another may be nearer;
        with ``thorough`` even if a point that is no candidate may be nearer still.
        """
        first = self.n_neighbors + _FIRST
        rows = self._measured(numbers, bounds, first)
        others = np.min(rows.bounds.lower[:, first:], axis=1, initial=np.inf)
        doubt = (others <= rows.reach) & (thorough | ~rows.lost)
        doubtful = np.flatnonzero(doubt)
        if len(doubtful):
            some = rows.bounds.take(doubtful)
            rows.put(doubtful, self._measured(numbers[doubtful], some, None))
        return rows

    def _measured(
        self, numbers: np.ndarray, bounds: Bounds, count: int | None
    ) -> _Rows:
        """With the first ``count`` candidates measured and sorted."""
        candidates = bounds.candidates[:, :count]
        asked, own = self.points[:, numbers], self.squares[:, numbers]
        squared = pair_squares(self.points, self.squares, asked, own, candidates[None])
        order = np.argsort(squared[0], axis=1)
        candidates, squared = gather(candidates, order), gather(squared[0], order)
        near, neighbors, end = choose(
            squared[None], candidates[None], self.n_neighbors, self.rounding
        )
        rounding = self.rounding[0, 0, 0]
        lower = np.sqrt(np.maximum(squared - rounding, 0))
        if count is not None:
            candidates = np.hstack([candidates, bounds.candidates[:, count:]])
            lower = np.hstack([lower, bounds.lower[:, count:]])
        reach = np.sqrt(end[0] + 2 * rounding)
        measured = Bounds(candidates, lower, bounds.radius)
        return _Rows(measured, near[0], neighbors[0], reach)


@dataclass(frozen=True)
class Search:
    """How rows are found that are lost.

    Attributes
    ----------
    find : callable
        The bounds of the points of given numbers with so many candidates to spare,
        given those of all points, where there are any.
    spares : tuple of int
        With how many, one after another, while rows are lost.
    """

    find: Callable[[Scene, np.ndarray, int, Bounds | None], Bounds]
    spares: tuple[int, ...]


def look_at_all(
    scene: Scene, numbers: np.ndarray, spare: int, known: Bounds | None
) -> Bounds:
    """The bounds of the points of these numbers, from a look at all points."""
    possible = scene.points.shape[1] - 1
    count = min(scene.n_neighbors + spare, possible)
    # What the filter cannot tell apart is looked at in full precision.
    filtered = spare == SPARES[0]
    asked = scene.points[:, numbers]
    found = rank(scene.points, asked, numbers, count, filtered=filtered)
    order = np.argsort(found.lower[0], axis=1)
    radius = np.sqrt(found.beyond[0])
    if count == possible:
        radius[:] = np.inf
    return Bounds(
        gather(found.neighbors[0], order),
        np.sqrt(gather(found.lower[0], order)),
        radius,
    )


EXACT = Search(look_at_all, SPARES)
