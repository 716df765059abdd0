"""Samples that belong nowhere: those in sparse places.

A sample far from its neighbours, for what is usual, is of no cluster. Features of
images are blind to noise and blank frames, whose gradients are all alike, and pixels to
foreign subjects under the same light: so both are looked at.
"""

import numpy as np

from twofold.core.neighbors.approximate import MANY_SAMPLES, divide
from twofold.core.neighbors.exact import nearest

_N_NEIGHBORS = 5
"""Number of neighbours whose mean distance tells how sparse a place is."""

_FEWEST = 20
"""Number of samples below which nothing is unusual."""

_SPARSE = 3.0
"""Robust score of sparse places, in standard deviations of a normal distribution."""

_UNLIKE, _RATHER_SPARSE = 1.2, 1.5
"""Distance of an image to its last neighbour, of images of mean 0 and norm 1, from
which on it is like no other (the correlation is below 0.28), and the score in addition.
"""

_TO_DEVIATION = 1.4826
"""Standard deviation of a normal distribution in median absolute deviations."""


def outlier_mask(points: np.ndarray, images: np.ndarray | None) -> np.ndarray:
    """Return which samples lie in sparse places: (n,).

    Parameters
    ----------
    points : array of shape (n, d)
        Projected samples.
    images : array of shape (n, f) or None
        The images as rows of mean 0 and norm 1; None if the samples are no images.
    """
    n = len(points)
    if n < _FEWEST:
        return np.zeros(n, dtype=bool)
    score, _ = sparseness(points)
    if images is None:
        return score > _SPARSE
    other, last = sparseness(images)
    both = np.hypot(np.maximum(score, 0), np.maximum(other, 0)) > _SPARSE
    return both | ((last > _UNLIKE) & (other > _RATHER_SPARSE))


def sparseness(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how sparse the place of each point is, and the distance to its last one.

    The sparseness is the logarithm of the mean distance to the nearest ones, less its
    median, in units of a robust standard deviation. Both are of shape (n,).
    """
    if len(points) < MANY_SAMPLES:
        squared, _ = (found[0] for found in nearest(points[None], _N_NEIGHBORS))
    else:
        squared, _ = divide(points, _N_NEIGHBORS).nearest(_N_NEIGHBORS)
    distances = np.sqrt(np.maximum(squared, 0))
    # Identical samples have no distance: what is so small counts the same.
    tiny = 1e-6 * (distances.max() or 1.0)
    sizes = np.log(np.maximum(distances.mean(axis=1), tiny))
    deviation = sizes - np.median(sizes)
    spread = _TO_DEVIATION * np.median(np.abs(deviation))
    return deviation / max(spread, 1e-9), distances.max(axis=1)
