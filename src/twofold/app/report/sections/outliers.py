"""The outliers: the samples that are least like the mean of their cluster."""

import numpy as np

from twofold.app.report.clustering import Clustering

_MOST_OUTLIERS = 24
"""Maximum number of outliers."""

_MOST_FLAGGED = 500
"""The same of samples that the model has flagged."""

_TYPICAL = 0.99
"""Typicality from which on a sample is not an outlier."""


def build_outliers(clustering: Clustering) -> list[int]:
    """Return the positions of the outliers, the least typical sample first."""
    chosen = select_outliers(clustering.typical, clustering.assignments.outlier)
    return clustering.shown_positions(chosen)


def select_outliers(typical: np.ndarray, outlier: np.ndarray) -> list[int]:
    """Return the samples that belong nowhere, the least typical ones first.

    If none was looked for, or found: the least typical samples, at most one in ten, and
    none above a limit.
    """
    if outlier.any():
        found = np.flatnonzero(outlier)
        return found[np.argsort(typical[found], kind="stable")][:_MOST_FLAGGED].tolist()
    count = min(_MOST_OUTLIERS, len(typical) // 10)
    least = np.argsort(typical, kind="stable")[:count]
    return least[typical[least] < _TYPICAL].tolist()
