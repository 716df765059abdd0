"""The end of line 9 of Algorithm 1: the labels that K-means reads off V."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning


def read_labels(
    coefficients: np.ndarray, group: np.ndarray, k: int, seed: int
) -> np.ndarray:
    """K-means on the rows of V, identical samples sharing the mean of theirs.

    Parameters
    ----------
    coefficients : array of shape (n, k)
        V.
    group : array of shape (n,)
        0, 1, ..., never falling, the same for identical samples.
    k : int
        Number of clusters.
    seed : int

    Returns
    -------
    labels : array of shape (n,)
        0, 1, ..., of the clusters that have samples; there may be fewer than k.
    """
    first = np.flatnonzero(np.diff(group, prepend=-1))
    sums = np.add.reduceat(coefficients, first, axis=0)
    points = (sums / np.bincount(group)[:, None].astype(sums.dtype))[group]
    kmeans = KMeans(k, n_init=10, random_state=seed)
    with warnings.catch_warnings():
        # Said below in terms of the samples.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = kmeans.fit_predict(points)
    found, labels = np.unique(labels, return_inverse=True)
    if len(found) < k:
        warnings.warn(
            f"TSNMF found {len(found)} of n_clusters={k} clusters: only {len(first)} "
            f"of the {len(group)} samples differ, or too many are alike; lower "
            "n_clusters",
            ConvergenceWarning,
            stacklevel=6,
        )
    return labels


def cluster_means(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mean row (found, k) of each label, 0, 1, ..., all of which occur."""
    members = np.eye(labels.max() + 1, dtype=rows.dtype)[labels]
    return members.T @ rows / members.sum(axis=0)[:, None]
