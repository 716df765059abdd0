"""Nearest neighbours joined by edges of weight 1, the graph of the paper."""

from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.graphs.kind import NearestNeighborKind


class Binary(NearestNeighborKind):
    """Weights of 1."""

    name = "binary"
    description = "Nearest neighbours, all with weight 1, as in the paper."

    def affinities(self, squared_distances: Array, bandwidth: Array) -> Array:
        """Return ones."""
        return array_namespace(squared_distances).ones_like(squared_distances)
