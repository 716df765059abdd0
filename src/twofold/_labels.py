"""The end of line 9 of Algorithm 1: the labels that K-means reads off V."""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from twofold.core.arrays import Array, like, to_numpy
from twofold.core.placement import FittedModel, place


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
    points = mean_rows(coefficients, group)[group]
    kmeans = KMeans(k, n_init=10, random_state=seed)
    with warnings.catch_warnings():
        # Said below in terms of the samples.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = kmeans.fit_predict(points)
    found, labels = np.unique(labels, return_inverse=True)
    if len(found) < k:
        warnings.warn(
            f"TSNMF found {len(found)} of n_clusters={k} clusters: only "
            f"{group[-1] + 1} of the {len(group)} samples differ, or too many are "
            "alike; lower n_clusters",
            ConvergenceWarning,
            stacklevel=6,
        )
    return labels


@dataclass(frozen=True)
class PlacedClusters:
    """What new samples are compared with, computed when the first ones come.

    Attributes
    ----------
    fitted : FittedModel
    lengths : array of shape (k,)
        Of the columns of its V.
    labels : ndarray of shape (n,)
        Of its training samples.
    """

    fitted: FittedModel
    lengths: Array
    labels: np.ndarray

    @cached_property
    def centers(self) -> Array:
        """The mean coefficients of each cluster, one row each.

        Its training samples are placed as new ones are: the fit ends before V is at
        its optimum.
        """
        trained = tuple(side.features for side in self.fitted.sides)
        placed = place(trained, self.fitted) / self.lengths
        return like(mean_rows(to_numpy(placed), self.labels), placed)

    def nearest(self, coefficients: Array) -> Array:
        """The cluster of placed samples (m, k): that of the nearest center."""
        xp = array_namespace(coefficients)
        squared = xp.sum(self.centers**2, axis=1) - 2 * coefficients @ self.centers.T
        return xp.argmin(squared, axis=1)


def mean_rows(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mean row of each label, 0, 1, ..., all of which occur."""
    counts = np.bincount(labels).astype(rows.dtype)[:, None]
    sums = np.zeros((len(counts), rows.shape[1]), dtype=rows.dtype)
    np.add.at(sums, labels, rows)
    return sums / counts
