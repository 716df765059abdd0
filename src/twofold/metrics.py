"""Scores of a clustering against known classes."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

__all__ = ["ari", "clustering_accuracy", "nmi", "purity", "score_all"]

_NORMALIZATIONS = ("max", "arithmetic", "geometric", "min")


def clustering_accuracy(target: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of samples in the right class under the best one-to-one matching.

    Parameters
    ----------
    target : array-like of shape (n,)
        Known classes, under any names.
    labels : array-like of shape (n,)
        Clusters, under any names. Where there are more clusters than classes, or
        fewer, those left over match none.

    Returns
    -------
    float
        Between 0 and 1.
    """
    return _matched_share(_counts(*_checked(target, labels)))


def nmi(target: ArrayLike, labels: ArrayLike, *, normalization: str = "max") -> float:
    """Mutual information of classes and clusters, normalised by their entropies.

    Parameters
    ----------
    target, labels : array-like of shape (n,)
        As for ``clustering_accuracy``.
    normalization : {"max", "arithmetic", "geometric", "min"}, default="max"
        The larger entropy, which is what the MATLAB code of this field divides by
        (Deng Cai's ``MutualInfo``), so that it compares with the paper; the mean of
        both, which is scikit-learn's default and never lower; their geometric mean;
        or the smaller one.

    Returns
    -------
    float
        Between 0 and 1; 1 where both have a single group.
    """
    if normalization not in _NORMALIZATIONS:
        raise ValueError(
            f"normalization must be one of {', '.join(_NORMALIZATIONS)}, got "
            f"{normalization!r}"
        )
    target, labels = _checked(target, labels)
    score = normalized_mutual_info_score(target, labels, average_method=normalization)
    return float(score)


def purity(target: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of samples in the most frequent class of their cluster.

    Parameters
    ----------
    target, labels : array-like of shape (n,)
        As for ``clustering_accuracy``, which is never higher.

    Returns
    -------
    float
        Between 0 and 1.
    """
    return _majority_share(_counts(*_checked(target, labels)))


def ari(target: ArrayLike, labels: ArrayLike) -> float:
    """Adjusted Rand index: agreement over pairs of samples, beyond chance.

    Parameters
    ----------
    target, labels : array-like of shape (n,)
        As for ``clustering_accuracy``.

    Returns
    -------
    float
        At most 1; about 0 for random labels, and below for worse ones.
    """
    return float(adjusted_rand_score(*_checked(target, labels)))


def score_all(target: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """All scores by name: ``accuracy``, ``nmi`` (by the larger entropy), ...

    Parameters
    ----------
    target, labels : array-like of shape (n,)
        As for ``clustering_accuracy``.

    Returns
    -------
    dict of str to float
        ``accuracy``, ``nmi``, ``purity`` and ``ari``.
    """
    target, labels = _checked(target, labels)
    counts = _counts(target, labels)
    return {
        "accuracy": _matched_share(counts),
        "nmi": nmi(target, labels),
        "purity": _majority_share(counts),
        "ari": ari(target, labels),
    }


def _counts(target: np.ndarray, labels: np.ndarray) -> csr_array:
    """How many samples of each class (rows) each cluster (columns) has, sparse."""
    return csr_array(contingency_matrix(target, labels, sparse=True))


def _matched_share(counts: csr_array) -> float:
    """The largest share of samples that a one-to-one matching can cover.

    Classes and clusters that share no sample are never matched, so that each
    connected part of the table is a problem of its own; where one class or one
    cluster makes up a part, its largest count is the answer.
    """
    n_classes = counts.shape[0]
    table = counts.tocoo()
    nodes = table.row, n_classes + table.col
    size = sum(counts.shape)
    graph = csr_array((np.ones(table.nnz), nodes), shape=(size, size))
    _, part = connected_components(graph, directed=False)
    rows, columns = (
        np.bincount(p, minlength=part.max() + 1)
        for p in (part[:n_classes], part[n_classes:])
    )
    simple = (rows == 1) | (columns == 1)
    edge_part = part[table.row]
    largest = np.zeros(len(simple))
    np.maximum.at(largest, edge_part, table.data)
    covered = largest[simple].sum()
    for number in np.flatnonzero(~simple):
        dense = counts[part[:n_classes] == number][:, part[n_classes:] == number]
        dense = dense.toarray()
        covered += dense[linear_sum_assignment(dense, maximize=True)].sum()
    return float(covered / table.data.sum())


def _majority_share(counts: csr_array) -> float:
    return float(counts.max(axis=0).sum() / counts.sum())


def _checked(target: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as whole numbers from 0, one for each group."""
    numbers = []
    for name, values in (("target", target), ("labels", labels)):
        array = np.asarray(values)
        if array.dtype == object and any(value is None for value in array.flat):
            raise ValueError(f"{name} must have a value for every sample, got None")
        if array.ndim != 1 or array.size == 0:
            raise ValueError(
                f"{name} must be of shape (n,) with n of at least 1, got {array.shape}"
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, got NaN or infinity")
        numbers.append(np.unique(array, return_inverse=True)[1])
    if len(numbers[0]) != len(numbers[1]):
        raise ValueError(
            f"labels must be as many as target has, {len(numbers[0])}, got "
            f"{len(numbers[1])}"
        )
    return numbers[0], numbers[1]
