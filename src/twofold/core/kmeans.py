"""K-means, by scikit-learn or on a GPU."""

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import k_means, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from twofold.core.arrays import Tensor
from twofold.core.workers import single_threads

_FEWEST_FOR_GPU = 5000
"""Number of points from which on a GPU takes less time than its launches."""

_MAX_ITER, _TOLERANCE = 300, 1e-4
"""Largest number of steps, and the squared distance by which all centres may move in
the last one, in units of the mean variance of an entry: those of scikit-learn.
"""


def kmeans_labels(
    points: np.ndarray,
    k: int,
    seed: int,
    n_init: int = 10,
    sample_weight: np.ndarray | None = None,
    device: Any = None,
) -> np.ndarray:
    """Run K-means on points (n, d) of given weights (n,); None if all are 1.

    Fewer than k labels are used if there are fewer points, or points repeat. Many
    points go to the GPU ``device``, a torch.device, where the same steps are taken from
    the same first centres.
    """
    if len(points) < k:
        return np.arange(len(points))
    # Points have few entries: threads would wait for each other for longer than they
    # compute, and the sums would turn on how many there are.
    with warnings.catch_warnings(), single_threads():
        # A start may have fewer distinct points than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if device is not None and len(points) >= _FEWEST_FOR_GPU:
            found = labels_on_device(points, k, seed, n_init, sample_weight, device)
            if found is not None:
                return found
        return k_means(
            points, k, n_init=n_init, random_state=seed, sample_weight=sample_weight
        )[1]


def labels_on_device(
    points: np.ndarray,
    k: int,
    seed: int,
    n_init: int,
    sample_weight: np.ndarray | None,
    device: Any,
) -> np.ndarray | None:
    """Return the labels of least inertia, None if a cluster becomes empty on the way.

    scikit-learn gives empty clusters another centre, which happens too rarely to be
    done here as well.
    """
    import torch

    random, points = np.random.RandomState(seed), points.astype(float, copy=False)
    points = points - points.mean(axis=0)
    weights = np.ones(len(points)) if sample_weight is None else sample_weight
    tolerance = _TOLERANCE * float(points.var(axis=0).mean())
    there, own = (torch.as_tensor(a, device=device) for a in (points, weights))
    best, least = None, np.inf
    for _ in range(n_init):
        first, _ = kmeans_plusplus(
            points, k, sample_weight=sample_weight, random_state=random
        )
        centres = torch.as_tensor(first, device=device)
        labels = _settled(there, own, centres, tolerance)
        if labels is None:
            return None
        inertia = _inertia(there, own, labels, k)
        if inertia < least:
            best, least = labels, inertia
    return None if best is None else best.cpu().numpy()


def _settled(
    points: Tensor, weights: Tensor, centres: Tensor, tolerance: float
) -> Tensor | None:
    """Take the steps of Lloyd until labels, or centres, stay; None as above."""
    before = None
    for _ in range(_MAX_ITER):
        labels = _nearest(points, centres)
        means, sizes = _means(points, weights, labels, len(centres))
        shift = (means - centres).square().sum()
        same = False if before is None else bool((labels == before).all())
        if not bool((sizes > 0).all()):
            return None
        centres, before = means, labels
        if same:
            return labels
        if float(shift) <= tolerance:
            break
    return _nearest(points, centres)


def _nearest(points: Tensor, centres: Tensor) -> Tensor:
    """Return the nearest centre (k, d) of each point (n, d)."""
    squares = centres.square().sum(1)
    return (squares - 2 * points @ centres.T).argmin(1)


def _means(
    points: Tensor, weights: Tensor, labels: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """Return the weighted means (k, d) and the weights (k,) of the clusters.

    By a product of matrices, since atomic sums would differ from run to run.
    """
    import torch

    members = torch.nn.functional.one_hot(labels, k).to(points.dtype)
    members = members * weights[:, None]
    sizes = members.sum(0)
    return members.T @ points / sizes[:, None].clamp(min=1e-300), sizes


def _inertia(points: Tensor, weights: Tensor, labels: Tensor, k: int) -> float:
    """Return the weighted sum of squared distances to the means of the clusters."""
    means, _ = _means(points, weights, labels, k)
    return float((weights * (points - means[labels]).square().sum(1)).sum())
