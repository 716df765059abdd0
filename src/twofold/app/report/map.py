"""Arrange samples in the plane by their features, whatever their clusters are."""

import warnings

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.decomposition import PCA

from twofold.app.report.plane import embed
from twofold.core.isometry import shortened
from twofold.core.neighbors.exact import nearest

N_NEIGHBORS = 15
"""Maximum number of nearest neighbours to which a sample is joined."""

_FEWEST = 20
"""Minimum number of different samples that are joined to neighbours."""

_START = 1e-2
"""Standard deviation of the points at which the layout starts."""

_APART = 1e-3
"""Radius within which points that would start at one place are moved apart."""


def layout(features: np.ndarray) -> np.ndarray:
    """Return coordinates (n, 2) between 0 and 1, near for similar features (n, d).

    Every sample is joined to its nearest neighbours, and the coordinates are the t-SNE
    of this graph, always from the same start: the principal components. If there are
    few different samples, the coordinates are the principal components themselves.
    Identical samples have the same place.
    """
    if len(features) == 1:
        return np.full((1, 2), 0.5)
    features = shortened(features[None])[0]  # distances alone matter
    squared, neighbors = _nearest(features)
    first, place = _different(squared, neighbors)
    rows = features[first]
    points = _principal(rows)
    if len(rows) >= _FEWEST:
        if len(rows) < len(features):  # copies fill each other's lists
            _, neighbors = _nearest(rows)
        start = points + _APART * _spiral(len(rows))
        points = embed(_affinities(neighbors), _START * start)
    return _unit_square(points)[place]


def _nearest(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances and indices of nearest neighbours, both (n, q)."""
    # A third of all samples at most: a graph of all pairs would have no structure.
    count = max(1, min(N_NEIGHBORS, (len(rows) - 1) // 3))
    squared, neighbors = nearest(rows[None], count)
    return squared[0], neighbors[0]


def _different(
    squared: np.ndarray, neighbors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return an index of each different sample, and which of them each sample is."""
    same = _joined(neighbors, squared == 0)
    place = connected_components(same, directed=False)[1]
    return np.unique(place, return_index=True)[1], place


def _affinities(neighbors: np.ndarray) -> csr_array:
    """Return the symmetric affinities of nearest neighbours (n, q), of sum 1.

    Neighbours that list each other have twice the affinity of others.
    """
    joined = _joined(neighbors, np.ones(neighbors.shape))
    return csr_array((joined + joined.T) / (2 * neighbors.size))


def _joined(neighbors: np.ndarray, weights: np.ndarray) -> csr_array:
    """Return the weights (n, q) of the edges to neighbours as a sparse matrix."""
    n, q = neighbors.shape
    parts = weights.astype(float).ravel(), neighbors.ravel(), np.arange(0, n * q + 1, q)
    joined = csr_array(parts, shape=(n, n))
    joined.eliminate_zeros()
    return joined


def _principal(rows: np.ndarray) -> np.ndarray:
    """Return two principal components of variance at most 1; missing ones are 0."""
    count = min(2, *rows.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # for rows that are all equal
        components = PCA(count, random_state=0).fit_transform(rows)
    components = np.pad(components, ((0, 0), (0, 2 - count)))
    # The bound avoids a division by 0 if all rows are equal.
    return components / max(float(components.std(axis=0).max()), 1e-12)


def _spiral(n: int) -> np.ndarray:
    """Return points (n, 2) that fill the unit circle evenly."""
    index = np.arange(n)
    angle = np.pi * (3 - np.sqrt(5)) * index
    return np.sqrt(index / n)[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)


def _unit_square(points: np.ndarray) -> np.ndarray:
    """Move points into the unit square, with the same scale for both axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max())
    square = 0.5 + (points - (low + high) / 2) / (span if span > 0 else 1.0)
    return np.clip(square, 0.0, 1.0)  # rounding errors of nearly equal points
