"""Clusters beside known classes."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

_MOST_CELLS = 20_000


def confusion(
    target: np.ndarray, clusters: np.ndarray, names: list[str]
) -> dict[str, Any] | None:
    """How many samples of each class are in each cluster.

    Parameters
    ----------
    target : int array of shape (n,)
        Classes, places in ``names``.
    clusters : int array of shape (n,)
        From 0, all of which occur.
    names : list of str

    Returns
    -------
    dict or None
        ``classes``: the names of those that occur, the rows. ``clusters``: their
        numbers, the columns, ordered so that a class and its best match are on the
        diagonal. ``counts``: a list of rows. None where it would be too large to read.
    """
    counts = contingency_matrix(target, clusters)
    if counts.size > _MOST_CELLS:
        return None
    rows, columns = linear_sum_assignment(counts, maximize=True)
    rest = np.setdiff1d(np.arange(counts.shape[1]), columns)
    order = np.concatenate([columns[np.argsort(rows)], rest])
    return {
        "classes": [names[i] for i in np.unique(target)],
        "clusters": order.tolist(),
        "counts": counts[:, order].tolist(),
    }
