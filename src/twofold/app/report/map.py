"""Arrange samples in the plane by their coefficients."""

import warnings

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from twofold.app.results import unit_rows

_FEWEST = 10
"""Minimum number of different samples for t-SNE."""

_ITERATIONS = 500
"""Number of iterations of t-SNE."""

_PERPLEXITY = 30.0
"""Maximum perplexity of t-SNE."""


def layout(coefficients: np.ndarray) -> np.ndarray:
    """Return coordinates (n, 2) between 0 and 1, near for similar coefficients.

    The coordinates are the t-SNE of the normalised rows of V, always from the same
    start, or the principal components of the rows if there are too few samples.
    """
    rows = unit_rows(coefficients)
    n = len(rows)
    if n < _FEWEST or len(np.unique(rows, axis=0)) < _FEWEST:
        return _unit_square(_principal(rows))
    tsne = TSNE(
        # The scale that scikit-learn gives to its own start from PCA.
        init=_principal(rows).astype(np.float32) * 1e-4,
        perplexity=min(_PERPLEXITY, (n - 1) / 3),
        max_iter=_ITERATIONS,
        random_state=0,
    )
    return _unit_square(tsne.fit_transform(rows))


def _principal(rows: np.ndarray) -> np.ndarray:
    """Return two principal components of variance at most 1; missing ones are 0."""
    count = min(2, *rows.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # for rows that are all equal
        components = PCA(count, random_state=0).fit_transform(rows)
    components = np.pad(components, ((0, 0), (0, 2 - count)))
    # The bound avoids a division by 0 if all rows are equal.
    return components / max(float(components.std(axis=0).max()), 1e-12)


def _unit_square(points: np.ndarray) -> np.ndarray:
    """Move points into the unit square, with the same scale for both axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max())
    square = 0.5 + (points - (low + high) / 2) / (span if span > 0 else 1.0)
    return np.clip(square, 0.0, 1.0)  # rounding errors of nearly equal points
