"""The hierarchy of the clusters: which would be merged next, if there were fewer."""

from typing import NamedTuple

from twofold.app.report.clustering import Clustering
from twofold.app.report.schema import Count, Number, Part

_WIDTH, _LEFT, _RIGHT, _ROW = 640, 96, 14, 20
"""Width of the picture, its margins, and the height of a cluster, in pixels."""

_FEWEST, _MOST = 3, 200
"""Numbers of clusters of which there is a hierarchy to show."""


class Branch(NamedTuple):
    """A merge as it is drawn: two lines to the right, and one that joins them."""

    begins: tuple[float, float]  # x where both lines begin
    at: tuple[float, float]  # their y
    joined: float  # x where they are joined


class Tree(Part, frozen=True):
    """Merges of clusters; see ``AutoTSNMF.children_`` and ``distances_``."""

    children: list[tuple[Count, Count]]
    distances: list[Number]  # ascending, from 0 on

    def __post_init__(self) -> None:
        k = len(self.children) + 1
        named = sorted(name for pair in self.children for name in pair)
        known = all(max(pair) < k + i for i, pair in enumerate(self.children))
        if k == 1 or named != list(range(2 * k - 2)) or not known:
            raise ValueError("its hierarchy of clusters does not merge each one once")
        if len(self.distances) != k - 1 or sorted(self.distances) != self.distances:
            raise ValueError("its hierarchy of clusters has no ascending distances")
        if self.distances and self.distances[0] < 0:
            raise ValueError("its hierarchy of clusters has distances below 0")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture in pixels."""
        return _WIDTH, _ROW * (len(self.children) + 1)

    def members(self) -> list[list[int]]:
        """Return the clusters of each name: leaves first, then of each merge."""
        found = [[i] for i in range(len(self.children) + 1)]
        for one, other in self.children:
            found.append(found[one] + found[other])
        return found

    def leaves(self) -> list[tuple[int, int]]:
        """Return the clusters from top to bottom, each with its y."""
        order = self.members()[-1]
        return [(cluster, _ROW * i + _ROW // 2) for i, cluster in enumerate(order)]

    def branches(self) -> list[Branch]:
        """Return the merges as they are drawn."""
        height = dict(self.leaves())
        y = [float(height[i]) for i in range(len(height))]
        x = [float(_LEFT)] * len(height)
        longest = self.distances[-1] or 1.0
        found = []
        for (one, other), distance in zip(self.children, self.distances, strict=True):
            share = distance / longest
            joined = round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)
            found.append(Branch((x[one], x[other]), (y[one], y[other]), joined))
            y.append((y[one] + y[other]) / 2)
            x.append(joined)
        return found

    def steps(self) -> list[tuple[int, list[int], list[int]]]:
        """Return how many clusters each merge leaves, and which ones it merges."""
        members, k = self.members(), len(self.children) + 1
        return [
            (k - 1 - i, sorted(members[one]), sorted(members[other]))
            for i, (one, other) in enumerate(self.children)
        ]


def build_tree(clustering: Clustering) -> Tree | None:
    """Return the hierarchy, or None without a search, or with too few clusters."""
    search = clustering.search
    if search is None or not _FEWEST <= len(search.children_) + 1 <= _MOST:
        return None
    children = [(int(one), int(other)) for one, other in search.children_]
    return Tree(children, [round(float(each), 6) for each in search.distances_])
