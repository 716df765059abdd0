"""Complete samples with a long side, written shorter as a whole."""

from dataclasses import replace

from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.grams import Side, both_sides
from twofold.core.state import Solution

Sides = tuple[Side, ...]


def compact_sides(
    samples: Array, n_directions: tuple[int, int]
) -> tuple[Array, Sides, Sides]:
    """Complete samples, as short as they can be, and the sides of both.

    Returns
    -------
    samples : array of shape (n, c, h, w)
    sides : (left, right)
        Of these samples.
    long_sides : (left, right)
        Of those that were given, for ``expand``.
    """
    long_sides = both_sides(samples, n_directions)
    if all(side.basis is None for side in long_sides):
        return samples, long_sides, long_sides
    samples = compact(samples, long_sides)
    return samples, both_sides(samples), long_sides


def compact(samples: Array, sides: tuple[Side, ...]) -> Array:
    """The samples (n, c, h, w) in the bases of their sides: L' X R.

    Every distance, product and objective stays the same, as the samples lie in what
    the bases span. With missing entries they would not stay there.
    """
    left, right = (side.basis for side in sides)
    if left is not None:
        samples = array_namespace(samples).matrix_transpose(left) @ samples
    return samples if right is None else samples @ right


def expand(solution: Solution, sides: tuple[Side, ...]) -> Solution:
    """A solution for compact samples as one for the samples themselves."""
    state = solution.state
    transpose = array_namespace(state.centroids).matrix_transpose
    left, right = (
        replace(own, projection=side.outside(own.projection))
        for own, side in zip((state.left, state.right), sides, strict=True)
    )
    centroids = state.centroids
    if sides[0].basis is not None:
        centroids = sides[0].basis @ centroids
    if sides[1].basis is not None:
        centroids = centroids @ transpose(sides[1].basis)
    state = replace(state, centroids=centroids, left=left, right=right)
    return replace(solution, state=state)
