"""Nearest neighbours joined by the heat kernel."""

from array_api_compat import array_namespace

from twofold.core.arrays import Array, positive_or_one
from twofold.core.graphs.kind import NearestNeighborKind


class Heat(NearestNeighborKind):
    """Weights exp(-distance^2 / bandwidth)."""

    name = "heat"
    description = (
        "Nearest neighbours, weighted by exp(-distance^2 / mean squared edge length)."
    )

    def affinities(self, squared_distances: Array, bandwidth: Array) -> Array:
        """Return exp(-squared distance / bandwidth)."""
        xp = array_namespace(squared_distances)
        # The bandwidth is 0 if all neighbours are duplicates; it counts as 1 then.
        return xp.exp(-squared_distances / positive_or_one(bandwidth))
