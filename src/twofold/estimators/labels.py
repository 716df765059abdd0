"""The end of line 9 of Algorithm 1: the labels that are read off V."""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from twofold.core.arrays import Array, like, to_numpy
from twofold.core.modularity import indicator, refine_labels
from twofold.core.prediction import Edges, FittedModel, all_edges, place
from twofold.core.start import kmeans_labels

READINGS = ("graph", "k-means")
"""How labels are read off V."""


def read_labels(
    coefficients: np.ndarray,
    weights: csr_array | None,
    group: np.ndarray,
    k: int,
    seed: int,
) -> np.ndarray:
    """The clusters of samples with coefficients V, identical samples sharing one.

    Parameters
    ----------
    coefficients : array of shape (n, k)
        V, with columns of length 1.
    weights : csr_array of shape (n, n) or None
        W_P + W_Q. With them a sample is of the cluster of its largest coefficient,
        until moves raise the modularity of the labels in this graph; with None of that
        which K-means on V finds, as in the paper.
    group : array of shape (n,)
        0, 1, ..., never falling, the same for identical samples.
    k : int
        Number of clusters.
    seed : int
        Of K-means.

    Returns
    -------
    labels : array of shape (n,)
        0, 1, ..., of the clusters that have samples; there may be fewer than k.
    """
    rows = mean_rows(coefficients, group)
    labels = None if weights is None else rows.argmax(axis=1)
    if labels is None or len(np.unique(labels)) < k:
        labels = _group_labels(rows, group, k, seed)
    if weights is not None:
        labels = refine_labels(_merged(weights, group), labels)
    found, labels = np.unique(labels, return_inverse=True)
    if len(found) < k:
        warnings.warn(
            f"TSNMF found {len(found)} of n_clusters={k} clusters: only "
            f"{group[-1] + 1} of the {len(group)} samples differ, or too many are "
            "alike; lower n_clusters",
            ConvergenceWarning,
            stacklevel=6,
        )
    return labels[group]


def _group_labels(rows: np.ndarray, group: np.ndarray, k: int, seed: int) -> np.ndarray:
    """K-means on a row for each sample, as labels 0, 1, ... of the groups."""
    labels = kmeans_labels(rows[group], k, seed)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return np.unique(labels[first], return_inverse=True)[1]


def _merged(weights: csr_array, group: np.ndarray) -> csr_array:
    """The graph of the groups, each being one node."""
    members = indicator(group)
    return csr_array(members.T @ weights @ members)


@dataclass(frozen=True)
class PlacedClusters:
    """What new samples are compared with.

    Attributes
    ----------
    fitted : FittedModel
    lengths : array of shape (k,)
        Of the columns of its V.
    labels : ndarray of shape (n,)
        Of its training samples.
    reading : {"graph", "k-means"}
        How they were read off V.
    """

    fitted: FittedModel
    lengths: Array
    labels: np.ndarray
    reading: str

    @cached_property
    def centers(self) -> Array:
        """The mean coefficients of each cluster, one row each.

        Its training samples are placed as new ones are: the fit ends before V is at
        its optimum. Computed when the first new samples come.
        """
        trained = tuple(side.features for side in self.fitted.sides)
        edges = all_edges(trained, self.fitted)
        placed = place(trained, edges, self.fitted) / self.lengths
        return like(mean_rows(to_numpy(placed), self.labels), placed)

    def of(self, edges: tuple[Edges, ...], coefficients: Array) -> Array:
        """The clusters of placed samples (m, k), joined to training samples by edges.

        That of most of its edges' weight; with K-means, or where no edge has any, that
        of the nearest center.
        """
        if self.reading == "k-means":
            return self._nearest(coefficients)
        xp = array_namespace(coefficients)
        members = like(indicator(self.labels).toarray(), coefficients)
        votes = sum(side.sums(members) for side in edges)
        joined = xp.any(votes > 0, axis=1)
        labels = xp.argmax(votes, axis=1)
        if xp.all(joined):
            return labels
        return xp.where(joined, labels, self._nearest(coefficients))

    def _nearest(self, coefficients: Array) -> Array:
        """The cluster whose center is nearest to each of the rows (m, k)."""
        xp = array_namespace(coefficients)
        squared = xp.sum(self.centers**2, axis=1) - 2 * coefficients @ self.centers.T
        return xp.argmin(squared, axis=1)


def mean_rows(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mean row of each label, 0, 1, ..., all of which occur."""
    counts = np.bincount(labels).astype(rows.dtype)[:, None]
    sums = np.zeros((len(counts), rows.shape[1]), dtype=rows.dtype)
    np.add.at(sums, labels, rows)
    return sums / counts
