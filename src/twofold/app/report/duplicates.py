"""Groups of images that are nearly the same."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from sklearn.utils.extmath import randomized_svd

from twofold.app.results import standardized

_ALIKE = 0.99
"""Correlation of two images' pixels from which on they are nearly the same."""

_SHADES = 0.01
"""By how much of the range of shades two blank images may differ."""

_CANDIDATES = 5
_SKETCH = 16
_BLOCK = 1024


def near_duplicates(images: np.ndarray) -> list[list[int]]:
    """Groups of images whose pixels correlate by 0.99 or more, largest first.

    So brightness and contrast do not matter. Each image is compared with the five
    that are nearest in sixteen directions of most variance, where a pair is never
    farther apart than in all of them; groups are what is connected by such pairs.

    Parameters
    ----------
    images : ndarray of shape (n, ...)

    Returns
    -------
    list of list of int
    """
    rows = standardized(images)
    radius = (2 * (1 - _ALIKE)) ** 0.5  # of unit vectors of that correlation
    sketch = _sketch(rows)
    count = min(_CANDIDATES + 1, len(rows))
    _, near = KDTree(sketch).query(sketch, k=count, distance_upper_bound=radius)
    first, place = np.nonzero(near.reshape(len(rows), count) < len(rows))
    second = near.reshape(len(rows), count)[first, place]
    first, second = first[first != second], second[first != second]
    alike = _distances(rows, first, second) <= radius
    # Blank images have no pattern to compare: they are alike in the same shade.
    blank = np.logical_not(rows.any(axis=1))
    shade = images.reshape(len(images), -1)[:, 0].astype(float)
    differ = np.abs(shade[first] - shade[second]) > _SHADES * np.ptp(shade)
    alike &= ~(blank[first] & differ)
    return _groups(first[alike], second[alike], len(rows))


def _sketch(rows: np.ndarray) -> np.ndarray:
    """The rows in few directions, by which no distance grows."""
    if min(rows.shape) <= _SKETCH:
        return rows
    _, _, directions = randomized_svd(rows, _SKETCH, n_iter=2, random_state=0)
    return rows @ directions.T


def _distances(rows: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Of pairs of rows, in blocks: all pairs at once may not fit in memory."""
    blocks = [slice(i, i + _BLOCK) for i in range(0, len(first), _BLOCK)]
    parts = [np.linalg.norm(rows[first[b]] - rows[second[b]], axis=1) for b in blocks]
    return np.concatenate(parts) if parts else np.empty(0)


def _groups(first: np.ndarray, second: np.ndarray, n: int) -> list[list[int]]:
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    groups = [group.tolist() for group in np.split(order, starts[1:]) if len(group) > 1]
    return sorted(groups, key=len, reverse=True)
