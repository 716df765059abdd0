"""Samples with a long side, written in a shorter basis."""

from dataclasses import replace

from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.grams import Side, both_sides
from twofold.core.state import Solution

Sides = tuple[Side, ...]


def compact_sides(
    samples: Array, n_directions: tuple[int, int]
) -> tuple[Array, Sides, Sides]:
    """Write complete samples (n, c, h, w) in the shortest bases.

    Returns the samples, their sides, and the long sides that ``expand`` needs.
    """
    long_sides = both_sides(samples, n_directions)
    if all(side.basis is None for side in long_sides):
        return samples, long_sides, long_sides
    samples = compact(samples, long_sides)
    # Without n_directions, since ``expand`` would not undo a second shortening.
    return samples, both_sides(samples), long_sides


def compact(samples: Array, sides: tuple[Side, ...]) -> Array:
    """Write samples (n, c, h, w) in the bases of their sides: L' X R.

    Every distance, product and objective stays the same, since the samples lie in the
    span of the bases. Filled samples would leave the span.
    """
    left, right = (side.basis for side in sides)
    if left is not None:
        samples = array_namespace(samples).matrix_transpose(left) @ samples
    return samples if right is None else samples @ right


def expand(solution: Solution, sides: tuple[Side, ...]) -> Solution:
    """Turn a solution for compact samples into a solution for the samples."""
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
