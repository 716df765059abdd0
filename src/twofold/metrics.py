"""Scores of a clustering against known classes.

Every sample has a class and a cluster: missing values, such as None, NaN or the masked
entries of a masked array, are refused.
"""

import reprlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

__all__ = ["ari", "clustering_accuracy", "nmi", "purity", "score_all"]

_WAY_OUT = "leave such samples out of target and labels"

_NORMALIZATIONS = ("max", "arithmetic", "geometric", "min")


def clustering_accuracy(target: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of samples in the right class under the best one-to-one matching.

    Parameters
    ----------
    target : array-like of shape (n,)
        Known classes, as numbers or strings, one for every sample: missing values and
        masked entries are refused.
    labels : array-like of shape (n,)
        Clusters, as numbers or strings. If the numbers of clusters and classes
        differ, the surplus clusters or classes remain unmatched.

    Returns
    -------
    float
        Accuracy between 0 and 1.
    """
    return _matched_share(_counts(*_checked(target, labels)))


def nmi(target: ArrayLike, labels: ArrayLike, *, normalization: str = "max") -> float:
    """Mutual information of classes and clusters, normalised by their entropies.

    Parameters
    ----------
    target, labels : array-like of shape (n,)
        As for ``clustering_accuracy``.
    normalization : {"max", "arithmetic", "geometric", "min"}, default="max"
        Divisor: the larger entropy, the arithmetic mean of both entropies, their
        geometric mean, or the smaller entropy. "max" is comparable with the paper: the
        MATLAB code of this field (``MutualInfo`` of Deng Cai) divides by it.
        "arithmetic" is the default of scikit-learn, and never gives a lower score.

    Returns
    -------
    float
        Score between 0 and 1; 1 if classes and clusters are a single group each.
    """
    if not isinstance(normalization, str) or normalization not in _NORMALIZATIONS:
        raise ValueError(
            f"normalization must be one of {', '.join(_NORMALIZATIONS)}, got "
            f"{reprlib.repr(normalization)}"
        )
    target, labels = _checked(target, labels)
    score = normalized_mutual_info_score(target, labels, average_method=normalization)
    return float(score)


def purity(target: ArrayLike, labels: ArrayLike) -> float:
    """Fraction of samples in the most frequent class of their cluster.

    Parameters
    ----------
    target, labels : array-like of shape (n,)
        As for ``clustering_accuracy``, which is never higher than the purity.

    Returns
    -------
    float
        Purity between 0 and 1.
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
        Index of at most 1. Its expectation for random labels is 0.
    """
    return float(adjusted_rand_score(*_checked(target, labels)))


def score_all(target: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Compute all scores, with ``normalization="max"`` for ``nmi``.

    Parameters
    ----------
    target, labels : array-like of shape (n,)
        As for ``clustering_accuracy``.

    Returns
    -------
    dict of str to float
        Scores under the names ``accuracy``, ``nmi``, ``purity`` and ``ari``.
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
    """Return the sparse contingency table of classes (rows) and clusters (columns)."""
    return csr_array(contingency_matrix(target, labels, sparse=True))


def _matched_share(counts: csr_array) -> float:
    """Return the largest fraction of samples that a one-to-one matching covers.

    The assignment problem separates into the connected components of the bipartite
    graph of classes and clusters that share a sample. In a component of a single class
    or a single cluster, the best match is the largest count.
    """
    n_classes = counts.shape[0]
    table = counts.tocoo()
    # Nodes of the graph: the classes, then the clusters.
    nodes = table.row, n_classes + table.col
    size = sum(counts.shape)
    graph = csr_array((np.ones(table.nnz), nodes), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    of_classes, of_clusters = component[:n_classes], component[n_classes:]
    rows, columns = (
        np.bincount(part, minlength=component.max() + 1)
        for part in (of_classes, of_clusters)
    )
    simple = (rows == 1) | (columns == 1)
    largest = np.zeros(len(simple))
    np.maximum.at(largest, of_classes[table.row], table.data)
    covered = largest[simple].sum()
    # The dense assignment takes cubic time, so that small components are far cheaper.
    for number in np.flatnonzero(~simple):
        dense = counts[of_classes == number][:, of_clusters == number].toarray()
        covered += dense[linear_sum_assignment(dense, maximize=True)].sum()
    return float(covered / table.data.sum())


def _majority_share(counts: csr_array) -> float:
    """Return the fraction of samples in the largest class of their cluster."""
    return float(counts.max(axis=0).sum() / counts.sum())


def _checked(target: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Validate classes and clusters, and number the groups of each from 0."""
    classes, clusters = _numbered("target", target), _numbered("labels", labels)
    if len(classes) != len(clusters):
        raise ValueError(
            f"labels must be as many as target has, {len(classes)}, got {len(clusters)}"
        )
    return classes, clusters


def _numbered(name: str, values: ArrayLike) -> np.ndarray:
    """Validate the groups of the argument ``name``, and number them from 0."""
    array = _read(name, values)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"{name} must be of shape (n,) with n of at least 1, got {array.shape}"
        )
    if array.dtype == object and any(map(_is_missing, array)):
        missing = next(filter(_is_missing, array))
        raise ValueError(
            f"{name} must have a value for every sample, got {missing!r}; {_WAY_OUT}"
        )
    if array.dtype.kind in "fcmM" and not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN, NaT or infinity; {_WAY_OUT}")
    try:
        return np.unique(array, return_inverse=True)[1]
    except TypeError as error:  # there is no order of numbers and strings
        kinds = " and ".join(sorted({type(value).__name__ for value in array}))
        raise ValueError(
            f"{name} must be all numbers or all strings, got {kinds}"
        ) from error


def _read(name: str, values: ArrayLike) -> np.ndarray:
    """Return an array of values, of which none has been converted to a string."""
    masked = _count_masked(values) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise ValueError(
            f"{name} must have a value for every sample, got {masked} masked; score "
            f"target[keep] and labels[keep] with keep = ~{name}.mask"
        )
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} must be of shape (n,), got sequences of different lengths"
        ) from error
    except Exception as error:  # whatever a foreign container raises
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{name} must be of shape (n,): {reason}") from error
    # NumPy makes strings of the numbers and the NaN in a list with strings.
    mixed = array.dtype.kind in "US" and not hasattr(values, "dtype")
    optional = array.dtype.kind == "T"  # strings of variable length, or missing
    return np.array(values, dtype=object) if mixed or optional else array


def _count_masked(values: np.ma.MaskedArray) -> int:
    """Return the number of masked entries, or of samples with a masked field."""
    mask: Any = np.ma.getmaskarray(values)
    fields = [mask[name] for name in mask.dtype.names or ()]
    return int(np.any(fields, axis=0).sum() if fields else mask.sum())


def _is_missing(value: Any) -> bool:
    """Whether an object is None, masked, NaN, or ``pandas.NA``."""
    try:
        return value is None or value is np.ma.masked or bool(value != value)
    except (TypeError, ValueError, ArithmeticError):  # NA is neither true nor false
        return True
