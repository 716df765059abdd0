"""Subspace affinities, weakened between samples that are not near each other."""

from typing import Any

from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.graphs.graph import Edges, Graph, is_listed, is_listed_back
from twofold.core.graphs.kind import Listed
from twofold.core.graphs.subspace import Subspace
from twofold.core.neighbors.exact import nearest as nearest_neighbors

_FAR = 1e-3
"""Factor of the weight of an edge between samples that are not nearest neighbours."""


class SubspaceKNN(Subspace):
    """The edges of ``Subspace``; a thousandth of the weight between distant samples."""

    name = "subspace_knn"
    description = (
        "The edges of subspace, with a thousandth of their weight unless one of the "
        "two samples is among the nearest neighbours of the other."
    )
    from_distances = True

    def build(
        self,
        features: Array,
        n_neighbors: int,
        nearest: Listed | None,
        shares: Listed | None = None,
    ) -> Graph:
        """Build W from the self-expression and the nearest neighbours."""
        assert nearest is not None
        assert shares is not None
        xp = array_namespace(features)
        lists, (weights, neighbors) = nearest[1], shares
        weights = weights / 2
        near = is_listed(lists, neighbors) | is_listed_back(lists, neighbors)
        return Graph.from_edges(neighbors, xp.where(near, weights, _FAR * weights))

    def edges_to(
        self,
        features: Array,
        queries: Array,
        n_neighbors: int,
        bandwidth: Array,
        prepared: Any = None,
    ) -> Edges:
        """Join new samples likewise, by their own nearest training samples."""
        edges = super().edges_to(features, queries, n_neighbors, bandwidth, prepared)
        points, new = features[None, ...], queries[None, ...]
        _, lists = nearest_neighbors(points, n_neighbors, new)
        near = is_listed(lists[0, ...], edges.neighbors)
        far = _FAR * edges.weights
        weights = array_namespace(features).where(near, edges.weights, far)
        return Edges(weights, edges.neighbors)
