"""The samples as one side sees them: projected, with their graph."""

from dataclasses import dataclass, replace

from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.grams import Side, project
from twofold.core.graphs.graph import Graph, followed_graph
from twofold.core.neighbors.approximate import APPROXIMATE
from twofold.core.neighbors.certified import EXACT, NeighborLists, TrackedLists
from twofold.core.state import Settings

SEARCHES = {"exact": EXACT, "approximate": APPROXIMATE}
"""How neighbours are found that the lists of the last iteration have lost."""


@dataclass(frozen=True)
class View:
    """Line 5 of Algorithm 1 on one side.

    Attributes
    ----------
    turned : array of shape (runs, w, r)
        P, turned towards that of the iteration before: distances, inner products and
        graphs do not feel it, and the samples seem to have moved least.
    features : array of shape (runs, n, m r)
        The samples projected by it.
    graph : Graph
    followed : TrackedLists or None
        What the next view is found from.
    """

    turned: Array
    features: Array
    graph: Graph
    followed: TrackedLists | None

    def with_neighbors(self, n_neighbors: int, settings: Settings) -> "View":
        """With as many neighbours in the graph."""
        if n_neighbors == settings.n_neighbors:
            return self
        more = replace(settings, n_neighbors=n_neighbors)
        return replace(self, graph=_graph(self.features, self.followed, more)[0])


def see(
    side: Side, projection: Array, before: TrackedLists | None, settings: Settings
) -> View:
    """The samples under directions (runs, d, r) in the basis of the side."""
    if before is not None:
        rotation = turn_towards(side.outside(projection), before.projection)
        projection = projection @ rotation
    features, turned = project(side.rows, projection), side.outside(projection)
    graph, lists = _graph(features, before, settings)
    followed = None if lists is None else TrackedLists(turned, lists)
    return View(turned, features, graph, followed)


def _graph(
    features: Array, before: TrackedLists | None, settings: Settings
) -> tuple[Graph, list[NeighborLists] | None]:
    """``followed_graph`` as the settings have it."""
    return followed_graph(
        features,
        None if before is None else before.lists,
        settings.n_neighbors,
        settings.graph,
        SEARCHES[settings.neighbors],
    )


def turn_towards(projection: Array, before: Array) -> Array:
    """The rotations R (runs, r, r) that bring P R closest to another P."""
    xp = array_namespace(projection)
    overlap = xp.matrix_transpose(projection) @ before
    left, _, right = xp.linalg.svd(overlap, full_matrices=False)
    return left @ right  # the polar factor of the overlap
