"""Linear filters of one axis of an image, as small matrices.

A separable filter of an image X (h, w) is A X B', with a matrix for each axis. Matrices
serve NumPy and PyTorch alike, and keep every image to itself: a filter that is slid
over a stack could smooth along the samples as well.
"""

from functools import lru_cache

import numpy as np

_TRUNCATE = 3.0
"""Radius of a Gaussian kernel, in standard deviations."""


@lru_cache(maxsize=64)
def smoothing(size: int, deviation: float, stride: int = 1) -> np.ndarray:
    """Return the Gaussian smoothing of an axis that keeps one of ``stride`` entries.

    Those that are kept lie symmetrically, between two pixels if need be, so that a
    mirrored image has mirrored maps. Images are continued by reflection, the entry at
    the border included. The matrix has the shape (size // stride, size), and rows that
    add up to 1. It is kept for the next block of images, and not to be changed.
    """
    count = size // stride
    centers = (size - 1 - stride * (count - 1)) / 2 + stride * np.arange(count)
    radius = int(np.ceil(_TRUNCATE * deviation))
    matrix = np.zeros((count, size))
    for row, center in zip(matrix, centers, strict=True):
        first, last = np.ceil(center - radius), np.floor(center + radius)
        places = np.arange(first, last + 1).astype(int)
        kernel = np.exp(-((places - center) ** 2) / (2 * deviation**2))
        reflected = places % (2 * size)
        reflected = np.where(reflected < size, reflected, 2 * size - 1 - reflected)
        np.add.at(row, reflected, kernel / kernel.sum())
    return matrix


def reduction(size: int, reduced: int) -> np.ndarray:
    """Return the reduction of an axis to fewer entries, (reduced, size).

    Each is the mean over an interval of the axis. Entries at its ends count in part.
    """
    edges = np.linspace(0, size, reduced + 1)
    entries = np.arange(size)
    first = np.maximum(entries, edges[:-1, None])
    last = np.minimum(entries + 1, edges[1:, None])
    return np.maximum(last - first, 0) * reduced / size


def central_difference(size: int) -> np.ndarray:
    """Return half the difference of the neighbours of each entry, (size, size).

    At the border the missing neighbour is the entry itself.
    """
    after = np.eye(size)[np.minimum(np.arange(size) + 1, size - 1)]
    before = np.eye(size)[np.maximum(np.arange(size) - 1, 0)]
    return (after - before) / 2
