"""Scores of a clustering against known classes, each between 0 and 1."""

from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

__all__ = ["accuracy", "nmi", "purity"]


def accuracy(target: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of samples in the right class under the best one-to-one matching.

    Parameters
    ----------
    target : array-like of shape (n,)
        Known classes.
    labels : array-like of shape (n,)
        Clusters, under any names. Clusters beyond the number of classes match none.
    """
    counts = contingency_matrix(target, labels)
    matched = linear_sum_assignment(counts, maximize=True)
    return float(counts[matched].sum() / counts.sum())


def nmi(target: ArrayLike, labels: ArrayLike) -> float:
    """Mutual information over the larger of the two entropies."""
    return float(normalized_mutual_info_score(target, labels, average_method="max"))


def purity(target: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of samples in the most frequent class of their cluster."""
    counts = contingency_matrix(target, labels)
    return float(counts.max(axis=0).sum() / counts.sum())
