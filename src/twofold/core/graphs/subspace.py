"""Samples joined by their affinity in a linear subspace, whatever their distance."""

from typing import Any

from twofold.core.arrays import Array
from twofold.core.graphs.graph import Edges, Graph
from twofold.core.graphs.kind import GraphKind, Listed
from twofold.core.graphs.self_expression import affinities, whitening


class Subspace(GraphKind):
    """Weights (A + A') / 2, A holding the largest |Z_ij| of every row, row-scaled."""

    name = "subspace"
    description = (
        "Samples of the largest weights in the ridge self-expression of all samples, "
        "as samples of one subspace have, joined by these affinities."
    )
    n_neighbors = n_neighbors_of_vectors = n_neighbors_in_search = 10
    # Samples with fewer entries do not lie in separate subspaces.
    min_features = 32
    from_distances = False
    from_affinities = True

    def build(
        self,
        features: Array,
        n_neighbors: int,
        nearest: Listed | None,
        shares: Listed | None = None,
    ) -> Graph:
        """Build W from the self-expression of the samples."""
        assert shares is not None
        weights, neighbors = shares
        return Graph.from_edges(neighbors, weights / 2)

    def prepared(self, features: Array) -> Any:
        """Return the ``whitening`` of the training samples."""
        return whitening(features[None, ...])

    def edges_to(
        self,
        features: Array,
        queries: Array,
        n_neighbors: int,
        bandwidth: Array,
        prepared: Any = None,
    ) -> Edges:
        """Join every new sample to the training samples that express it best."""
        weights, neighbors = affinities(
            features[None, ...], n_neighbors, queries[None, ...], prepared
        )
        return Edges(weights[0, ...], neighbors[0, ...])
