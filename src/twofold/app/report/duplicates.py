"""Find groups of images that are nearly the same."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from sklearn.utils.extmath import randomized_svd

from twofold.estimators.scaling import row_blocks, standardized

_ALIKE = 0.99
"""Minimum correlation of the pixels of near-duplicates."""

_SHADES = 0.01
"""Maximum difference of near-duplicates that are blank, as a share of the range."""

_CANDIDATES = 5
"""Number of nearest images with which an image is compared."""

_SKETCH = 16
"""Number of directions in which candidates are searched."""


def near_duplicates(images: np.ndarray) -> list[list[int]]:
    """Find groups of images whose pixels correlate by 0.99 or more.

    Brightness and contrast do not matter. Each image is compared with its five nearest
    neighbours in the sixteen directions of most variance, in which distances are lower
    bounds of the distances between the images (n, ...). Groups are the connected
    components of the graph of near-duplicates, as indices, the largest group first.
    """
    rows = standardized(images)
    # Unit vectors of correlation r have the distance sqrt(2 (1 - r)).
    radius = (2 * (1 - _ALIKE)) ** 0.5
    sketch = _sketch(rows)
    count = min(_CANDIDATES + 1, len(rows))
    _, near = KDTree(sketch).query(sketch, k=count, distance_upper_bound=radius)
    near = near.reshape(len(rows), count)
    first, rank = np.nonzero(near < len(rows))  # the index n stands for no neighbour
    second = near[first, rank]
    first, second = first[first != second], second[first != second]
    alike = _distances(rows, first, second) <= radius
    # Blank images have no pattern: they are near-duplicates if their shade is equal.
    blank = np.logical_not(rows.any(axis=1))
    shade = images.reshape(len(images), -1)[:, 0].astype(float)
    differ = np.abs(shade[first] - shade[second]) > _SHADES * np.ptp(shade)
    alike &= ~(blank[first] & differ)
    return _groups(first[alike], second[alike], len(rows))


def _sketch(rows: np.ndarray) -> np.ndarray:
    """Project the rows onto few directions, which does not increase any distance."""
    if min(rows.shape) <= _SKETCH:
        return rows
    _, _, directions = randomized_svd(rows, _SKETCH, n_iter=2, random_state=0)
    return rows @ directions.T


def _distances(rows: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the distances of pairs of rows, in blocks to limit the memory."""
    found = np.empty(len(first))
    for some in row_blocks(len(first), rows.shape[1]):
        found[some] = np.linalg.norm(rows[first[some]] - rows[second[some]], axis=1)
    return found


def _groups(first: np.ndarray, second: np.ndarray, n: int) -> list[list[int]]:
    """Return the connected components of at least two images, the largest first."""
    graph = coo_array((np.ones(len(first)), (first, second)), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    # Sorted by label, the images of each group are consecutive.
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    groups = [group.tolist() for group in np.split(order, starts[1:]) if len(group) > 1]
    return sorted(groups, key=len, reverse=True)
