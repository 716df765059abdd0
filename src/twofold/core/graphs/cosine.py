"""Neighbours of the smallest angle, joined by the cosine of the angle."""

from array_api_compat import array_namespace

from twofold.core.arrays import AnyArray, Array, positive_or_one
from twofold.core.graphs.kind import NearestNeighborKind


class Cosine(NearestNeighborKind):
    """Weights equal to the cosine similarity, which also defines the neighbours."""

    name = "cosine"
    description = (
        "Samples of the largest cosine similarity, weighted by it; 0 for obtuse angles."
    )

    def points(self, features: AnyArray) -> AnyArray:
        """Return the samples scaled to length 1, with one more axis."""
        xp = array_namespace(features)
        norms = xp.linalg.vector_norm(features, axis=-1, keepdims=True)
        # The extra axis keeps zero vectors orthogonal to all but each other.
        zero = xp.astype(norms == 0, features.dtype)
        return xp.concat([features / positive_or_one(norms), zero], axis=-1)

    def affinities(self, squared_distances: Array, bandwidth: Array) -> Array:
        """Return 1 - squared distance / 2, the cosine, where it is positive."""
        xp = array_namespace(squared_distances)
        cosines = 1 - squared_distances / 2
        # Orthogonal samples must not be joined by a rounding error.
        tolerance = 100 * xp.finfo(cosines.dtype).eps
        return xp.where(cosines > tolerance, cosines, xp.zeros_like(cosines))
