"""Labels of the training samples: the end of line 9 of Algorithm 1."""

import numpy as np
from scipy.sparse import csr_array

from twofold.core.kmeans import kmeans_labels
from twofold.core.modularity import indicator, refine_labels
from twofold.estimators.progress import warn

ASSIGNMENTS = ("graph", "coefficients", "k-means")
"""Values of ``assign_labels``."""


def assign_labels(
    coefficients: np.ndarray,
    adjacency: csr_array | None,
    group: np.ndarray,
    k: int,
    seed: int,
    weights: np.ndarray | None = None,
    *,
    k_means: bool = False,
) -> np.ndarray:
    """Assign samples to clusters by their coefficients V (n, k), with unit columns.

    Every sample is in the cluster of its largest coefficient. With ``k_means``, or
    where that leaves a cluster empty, K-means on V takes its place, as in the paper.
    With the graph W_P + W_Q (n, n), samples then move as long as a move raises the
    modularity of the labels in the graph.

    ``group`` (n,) numbers the distinct samples: 0, 1, ..., ascending. Identical samples
    get the same label. ``weights`` (n,) are those of the samples in K-means; None if
    all are 1. The labels (n,) are 0, 1, ..., of at most k clusters.
    """
    rows = mean_rows(coefficients, group, weights)
    labels = rows.argmax(axis=1)
    if k_means or len(np.unique(labels)) < k:
        # K-means on all samples: a group weighs as much as it has samples.
        first = np.flatnonzero(np.diff(group, prepend=-1))
        labels = kmeans_labels(rows[group], k, seed, sample_weight=weights)[first]
        labels = np.unique(labels, return_inverse=True)[1]
    if adjacency is not None:
        # Each group is one node of the graph, so that its samples move together.
        members = indicator(group)
        labels = refine_labels(csr_array(members.T @ adjacency @ members), labels)
    return np.unique(labels, return_inverse=True)[1][group]


def warn_of_few(n_found: int, k: int, distinct: int, n: int) -> None:
    """Warn if n samples, some of them the same, form fewer than k clusters."""
    if n_found < k:
        warn(
            f"TSNMF found {n_found} of n_clusters={k} clusters: only {distinct} of the "
            f"{n} samples differ, or too many are alike; lower n_clusters"
        )


def mean_rows(
    rows: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Compute the mean row of every label 0, 1, ..., all of which occur.

    The rows may have weights (n,).
    """
    counts = np.bincount(labels, weights).astype(rows.dtype)[:, None]
    sums = np.zeros((len(counts), rows.shape[1]), dtype=rows.dtype)
    np.add.at(sums, labels, rows if weights is None else rows * weights[:, None])
    return sums / counts
