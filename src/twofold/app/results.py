"""What a fitted TSNMF says of each sample: its cluster, how surely, and how well."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.core.arrays import positive_or_one, to_numpy
from twofold.core.prediction import reconstruction_errors
from twofold.estimators.labels import mean_rows
from twofold.estimators.reading import from_stack, read_numbers
from twofold.estimators.scaling import divisors, sample_norms
from twofold.estimators.tsnmf import TSNMF

_BLOCK = 1024
"""Images that are held in double precision at once."""


@dataclass(frozen=True)
class Assignments:
    """One entry for each sample.

    Attributes
    ----------
    coefficients : ndarray of shape (n, k)
        As from ``transform``, or ``coefficients_`` for the training samples, of
        which identical ones share their mean.
    clusters : ndarray of shape (n,)
        As from ``predict``, or ``labels_``.
    confidence : ndarray of shape (n,)
        Between 0 and 1: the part of a sample's squared coefficients that is on the
        centroid of its own cluster.
    reconstruction_error : ndarray of shape (n,)
        The norm of a sample less its reconstruction, as a part of its own norm, both
        over the entries that are not missing.
    """

    coefficients: np.ndarray
    clusters: np.ndarray
    confidence: np.ndarray
    reconstruction_error: np.ndarray


def filled_in(model: TSNMF, X: Any) -> tuple[Any, np.ndarray | None]:
    """Samples as ``impute`` completes them, and which entries were missing.

    Parameters
    ----------
    model : TSNMF
        Fitted.
    X : array-like
        As for ``predict``.

    Returns
    -------
    images : array of shape (n, h, w[, c]) or (n, f)
        X itself where nothing is missing.
    missing : boolean array of the same shape, or None
        None where nothing is missing.
    """
    return _as_given(model, X, *model._read_completed(X, None))


def _as_given(
    model: TSNMF, X: Any, stack: Any, missing: Any
) -> tuple[Any, np.ndarray | None]:
    """What ``filled_in`` returns, from completed samples (n, c, h, w)."""
    if missing is None:
        return X, None
    shape = model.sample_shape_
    return to_numpy(from_stack(stack, shape)), to_numpy(from_stack(missing, shape))


def assign_trained(
    model: TSNMF, X: Any, missing: np.ndarray | None = None
) -> Assignments:
    """The assignments of the samples X that ``model`` was fitted to.

    With ``missing`` both are as from ``filled_in``, which need not be done again.
    """
    if missing is None:
        X, missing = filled_in(model, X)
    coefficients = _shared(to_numpy(model.coefficients_), to_numpy(X))
    return _assignments(model, X, missing, coefficients, to_numpy(model.labels_))


def _shared(rows: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """The rows, those of identical samples being their mean.

    A fit that has stopped may have left them apart.
    """
    first: dict[bytes, int] = {}
    group = [first.setdefault(sample.tobytes(), len(first)) for sample in samples]
    return rows if len(first) == len(rows) else mean_rows(rows, np.array(group))[group]


def assign_new(model: TSNMF, X: Any) -> Assignments:
    """The assignments of new samples, by ``transform`` and ``predict``."""
    stack, missing = model._read_completed(X, None)
    prediction = model.state_.predict(stack, missing)
    clusters = to_numpy(model.state_.labels_of(prediction))
    images = _as_given(model, X, stack, missing)
    return _assignments(model, *images, to_numpy(prediction.coefficients), clusters)


def typicality(images: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """The correlation of each image's pixels with the mean of its cluster's images.

    They are standardized first: a bright image counts no more than a dark one.

    Parameters
    ----------
    images : ndarray of shape (n, ...)
    clusters : int array of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        Between 0 and 1; 1 for a blank image among nothing but blank ones, 0 where
        images cancel each other.
    """
    rows = standardized(images)
    found = np.empty(len(rows))
    for cluster in np.unique(clusters):
        members = clusters == cluster
        mean = standardized(rows[members].mean(axis=0)[None])[0]
        alike = np.clip(rows[members] @ mean, 0, 1)
        found[members] = alike if rows[members].any() else 1.0
    return found


def standardized(images: np.ndarray) -> np.ndarray:
    """Each image as a float32 row of mean 0 and length 1; a blank one is 0."""
    rows = images.reshape(len(images), -1)
    found = np.empty(rows.shape, dtype=np.float32)
    rounding = 8 * float(np.finfo(np.result_type(rows, np.float32)).eps)
    for i in range(0, len(rows), _BLOCK):
        block = rows[i : i + _BLOCK].astype(np.float64)
        block /= positive_or_one(np.abs(block).max(axis=1, keepdims=True))
        block -= block.mean(axis=1, keepdims=True)
        norms = np.linalg.norm(block, axis=1, keepdims=True)
        blank = norms <= rounding * rows.shape[1] ** 0.5
        found[i : i + _BLOCK] = np.where(blank, 0, block / np.where(blank, 1, norms))
    return found


def typical_orders(clusters: np.ndarray, typical: np.ndarray) -> list[np.ndarray]:
    """The samples of each cluster, from the most to the least typical one."""
    order = np.argsort(-typical, kind="stable")
    return [order[clusters[order] == cluster] for cluster in np.unique(clusters)]


def nearest_rows(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which of the ``others`` has the smallest angle to each of the ``rows``."""
    return np.argmax(unit_rows(rows) @ unit_rows(others).T, axis=1)


def _assignments(
    model: TSNMF,
    X: Any,
    missing: np.ndarray | None,
    coefficients: np.ndarray,
    clusters: np.ndarray,
) -> Assignments:
    return Assignments(
        coefficients=coefficients,
        clusters=clusters,
        confidence=_confidence(model, coefficients, clusters),
        reconstruction_error=_relative_errors(model, X, missing, coefficients),
    )


def _confidence(
    model: TSNMF, coefficients: np.ndarray, clusters: np.ndarray
) -> np.ndarray:
    """v_ij^2 / sum_l v_il^2, where j is the largest mean coefficient of the cluster."""
    means = mean_rows(to_numpy(model.coefficients_), to_numpy(model.labels_))
    own = np.argmax(means, axis=1)[clusters]
    squared = unit_rows(coefficients) ** 2
    return squared[np.arange(len(squared)), own]


def _relative_errors(
    model: TSNMF, X: Any, missing: np.ndarray | None, coefficients: np.ndarray
) -> np.ndarray:
    """||X_i - sum_j v_ij U_j|| / ||X_i|| over what is not missing of completed samples.

    The fit's own scaling, which is by their norms, is taken into account.
    """
    # In their own precision, which may hold more than that of the model.
    samples = to_numpy(read_numbers(X, "X")).reshape(len(coefficients), -1)
    norms = sample_norms(samples)
    typical = model.state_.typical_norm
    divisor = divisors(norms, model.state_.scale, typical)
    centroids = to_numpy(model.components_) / typical
    errors = reconstruction_errors(
        samples / divisor[:, None], coefficients, centroids, missing
    )
    if missing is not None:
        norms = sample_norms(np.where(missing.reshape(samples.shape), 0, samples))
    return errors * divisor / positive_or_one(norms)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Each row divided by its length, unless that is 0."""
    return rows / positive_or_one(np.linalg.norm(rows, axis=1, keepdims=True))
