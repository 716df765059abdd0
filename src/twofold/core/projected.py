"""The samples projected by one side, and their graph: line 5 of Algorithm 1."""

from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import array_namespace

from twofold.core.arrays import Array, to_numpy
from twofold.core.grams import Side, project
from twofold.core.graphs.construction import approximate_graph, update_graph
from twofold.core.graphs.graph import Graph
from twofold.core.isometry import shortened
from twofold.core.neighbors.tracked import GraphLists, TrackedLists
from twofold.core.state import SolverOptions


@dataclass(frozen=True)
class ProjectedSide:
    """The samples projected by one side, and their graph."""

    projection: Array  # P, (batch, w, r), rotated as in ``project_side``
    features: Array  # (batch, n, m r), the projected samples, flattened
    points: Array  # the same, or fewer coordinates with the same distances and products
    graph: Graph
    tracked: TrackedLists | None  # neighbour lists for the next iteration
    roots: Array | None = None  # (n, 1), see ``project_side``

    def with_neighbors(
        self, n_neighbors: int, options: SolverOptions
    ) -> "ProjectedSide":
        """Return the same samples with another number of neighbours in the graph."""
        if n_neighbors == options.n_neighbors:
            return self
        return self.with_graph(replace(options, n_neighbors=n_neighbors))

    def with_graph(self, options: SolverOptions) -> "ProjectedSide":
        """Return the same samples, in a batch of one, with another graph."""
        lists = None if self.tracked is None else self.tracked.lists
        known = None if lists is None else lists.products
        white = None if known is None else known[0].points[None]
        graph, _ = graph_of(self.points, options, lists, self.roots, white)
        return replace(self, graph=graph)

    def of_points(self) -> "ProjectedSide":
        """Return the same with the points alone, which are all that graphs need."""
        return replace(self, features=self.points)


def project_side(
    side: Side,
    projection: Array,
    before: TrackedLists | None,
    options: SolverOptions,
    roots: Array | None = None,
) -> ProjectedSide:
    """Project the samples by P (batch, d, r) and build their graph.

    P is written in the basis of the side. ``before`` has the neighbour lists of the
    last iteration; it is None in the first. ``roots`` (n, 1) are the square roots of
    the weights of the samples, by which the samples are multiplied; None if all are 1.
    """
    if before is not None:
        # Rotate P towards the projection before, so that the projected samples move
        # least. Distances, inner products and graphs do not depend on the rotation.
        rotation = rotation_towards(side.outside(projection), before.projection)
        projection = projection @ rotation
    features, outside = project(side.rows, projection), side.outside(projection)
    points = shortened(features)
    known = None if before is None else before.lists
    graph, lists = graph_of(points, options, known, roots)
    tracked = None if lists is None else TrackedLists(to_numpy(outside), lists)
    return ProjectedSide(outside, features, points, graph, tracked, roots)


def graph_of(
    points: Array,
    options: SolverOptions,
    lists: GraphLists | None,
    roots: Array | None,
    white: np.ndarray | None = None,
) -> tuple[Graph, GraphLists | None]:
    """Build the graph that the options ask for, with its lists if they are kept."""
    q, kind = options.n_neighbors, options.graph
    if options.neighbors == "approximate":
        return approximate_graph(points, q, kind, roots), None
    return update_graph(points, q, kind, lists, roots, white)


def rotation_towards(projection: Array, target: Array) -> Array:
    """Return the rotations R (batch, r, r) that bring P R closest to the target."""
    xp = array_namespace(projection)
    overlap = xp.matrix_transpose(projection) @ target
    left, _, right = xp.linalg.svd(overlap, full_matrices=False)
    return left @ right  # the polar factor of the overlap
