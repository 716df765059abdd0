"""A map of the samples: their coefficients in the plane."""

import warnings

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from twofold.app.results import unit_rows

_FEWEST = 10
_ITERATIONS = 500
_PERPLEXITY = 30.0


def layout(coefficients: np.ndarray) -> np.ndarray:
    """Places (n, 2) between 0 and 1 where samples of like coefficients are near.

    By t-SNE of the directions of the rows of V, always from the same start; by their
    principal components where there are too few samples.
    """
    rows = unit_rows(coefficients)
    n = len(rows)
    if n < _FEWEST or len(np.unique(rows, axis=0)) < _FEWEST:
        return _unit_square(_principal(rows))
    tsne = TSNE(
        init=_principal(rows).astype(np.float32) * 1e-4,
        perplexity=min(_PERPLEXITY, (n - 1) / 3),
        max_iter=_ITERATIONS,
        random_state=0,
    )
    return _unit_square(tsne.fit_transform(rows))


def _principal(rows: np.ndarray) -> np.ndarray:
    """Two coordinates of variance 1 or less, zero where there is no variance."""
    count = min(2, *rows.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rows that are all the same
        found = PCA(count, random_state=0).fit_transform(rows)
    found = np.pad(found, ((0, 0), (0, 2 - count)))
    return found / max(float(found.std(axis=0).max()), 1e-12)


def _unit_square(places: np.ndarray) -> np.ndarray:
    """Moved and scaled, by one factor for both axes, into the unit square."""
    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max())
    return 0.5 + (places - (low + high) / 2) / (span if span > 0 else 1.0)
