"""Labels of the training samples: the end of line 9 of Algorithm 1."""

import numpy as np
from scipy.sparse import csr_array

from twofold.core.modularity import indicator, refine_labels
from twofold.core.start import kmeans_labels

ASSIGNMENTS = ("graph", "k-means")
"""Values of ``assign_labels``."""


def assign_labels(
    coefficients: np.ndarray,
    adjacency: csr_array | None,
    group: np.ndarray,
    k: int,
    seed: int,
) -> np.ndarray:
    """Assign samples to clusters by their coefficients V.

    Parameters
    ----------
    coefficients : array of shape (n, k)
        V, with columns of length 1.
    adjacency : csr_array of shape (n, n) or None
        W_P + W_Q. Every sample starts in the cluster of its largest coefficient, and
        samples move while that raises the modularity of the labels in this graph. If
        None, the labels are those of K-means on V, as in the paper.
    group : array of shape (n,)
        The same number for identical samples: 0, 1, ..., in ascending order.
    k : int
        Number of clusters.
    seed : int
        Seed of K-means.

    Returns
    -------
    labels : array of shape (n,)
        0, 1, ..., the same for identical samples. There may be fewer than k clusters.
    """
    rows = mean_rows(coefficients, group)
    labels = None if adjacency is None else rows.argmax(axis=1)
    if labels is None or len(np.unique(labels)) < k:
        labels = _group_labels(rows, group, k, seed)
    if adjacency is not None:
        labels = refine_labels(_merged(adjacency, group), labels)
    return np.unique(labels, return_inverse=True)[1][group]


def _group_labels(rows: np.ndarray, group: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Run K-means on the rows of all samples; return labels 0, 1, ... of the groups."""
    labels = kmeans_labels(rows[group], k, seed)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return np.unique(labels[first], return_inverse=True)[1]


def _merged(weights: csr_array, group: np.ndarray) -> csr_array:
    """Merge every group into one node of the graph."""
    members = indicator(group)
    return csr_array(members.T @ weights @ members)


def mean_rows(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Compute the mean row of every label 0, 1, ..., all of which occur."""
    counts = np.bincount(labels).astype(rows.dtype)[:, None]
    sums = np.zeros((len(counts), rows.shape[1]), dtype=rows.dtype)
    np.add.at(sums, labels, rows)
    return sums / counts
