"""Seeded starts for V, all strictly positive: a zero never leaves zero."""

import warnings

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.cluster import k_means
from sklearn.exceptions import ConvergenceWarning

from twofold.core.arrays import (
    Array,
    like,
    positive_or_one,
    to_numpy,
)
from twofold.core.grams import Side, both_residuals
from twofold.core.projected import View, see
from twofold.core.state import Settings
from twofold.core.updates import update_centroids, update_projection

STARTS = ("spectral", "k-means", "random")

SIMPLE_STARTS = ("k-means", "random")
"""Those that need no projections."""

FLOOR = 0.2
"""Added to cluster indicators, as Ding et al. (2010) start Semi-NMF."""

_TOLERANCE, _PAPER_TOLERANCE = 1e-10, 1e-6
"""Of eigenvalues, which weak edges between clusters bring close to each other; and what
the stored results of the reproduction were made with.
"""

_SLIVER = 0.1
"""A connected piece with fewer samples, as part of n / k, is no cluster."""


def starts(
    samples: Array,
    sides: tuple[Side, ...],
    k: int,
    kind: str,
    settings: Settings,
    energy_weight: float,
    seeds: list[int],
) -> np.ndarray:
    """One start V^0 per seed: an array of shape (runs, n, k).

    Parameters
    ----------
    samples : array of shape (n, c, h, w)
    sides : (left, right)
        The sides of these samples.
    k : int
        Number of clusters.
    kind : {"spectral", "k-means", "random"}
        K-means indicators of the spectral embedding of the first graphs, of the
        samples themselves, or uniform random numbers.
    settings : Settings
    energy_weight : float
        lambda_1, on which the first directions depend.
    seeds : list of int
    """
    weights = None
    if kind == "spectral":
        kind = "k-means"
        views = first_views(samples, sides, settings, energy_weight)
        weights = first_adjacency(views, k, settings)
    if weights is None:
        points = to_numpy(samples).reshape(samples.shape[0], -1)
    else:
        tolerance = _PAPER_TOLERANCE if settings.graph == "binary" else _TOLERANCE
        points = spectral_embedding(weights, k, seeds[0], tolerance)
    return np.stack([simple_start(points, k, kind, seed) for seed in seeds])


def simple_start(points: np.ndarray, k: int, kind: str, seed: int) -> np.ndarray:
    """V^0 (n, k): K-means indicators of ``points`` (n, d), or random numbers."""
    if kind == "random":
        draws = np.random.RandomState(seed).uniform(size=(len(points), k))
        return draws + FLOOR
    return indicators(kmeans_labels(points, k, seed), k)


def indicators(labels: np.ndarray, k: int) -> np.ndarray:
    """The (n, k) cluster indicators of ``labels``, lifted off zero."""
    return np.eye(k)[labels] + FLOOR


def first_adjacency(
    views: tuple[View, View], k: int, settings: Settings
) -> csr_array | None:
    """W_P + W_Q of the first views of the samples.

    Neighbours are doubled, up to three times, while there are more connected pieces
    than clusters, which an embedding could only merge at random, or one far smaller
    than a cluster, which would become one; None if there still are more than clusters.
    """
    for doublings in range(4):
        weights = joint_adjacency(views, settings.n_neighbors * 2**doublings, settings)
        if holds_together(weights, k):
            return weights
    n_pieces, _ = connected_components(weights, directed=False)
    return weights if n_pieces <= k else None


def joint_adjacency(
    views: tuple[View, View], n_neighbors: int, settings: Settings
) -> csr_array:
    """W_P + W_Q of views with as many neighbours."""
    return sum(
        view.with_neighbors(n_neighbors, settings).graph.adjacency for view in views
    )


def holds_together(weights: csr_array, k: int) -> bool:
    """Whether no piece must be cut off, or is much smaller than one of k clusters."""
    n_pieces, piece = connected_components(weights, directed=False)
    smallest = np.bincount(piece).min()
    return bool(n_pieces <= k and smallest * k >= _SLIVER * len(piece))


def first_views(
    samples: Array, sides: tuple[Side, ...], settings: Settings, energy_weight: float
) -> tuple[View, View]:
    """The samples after lines 4 and 5 of Algorithm 1 on a single cluster, in one run.

    With V a column of ones U is the mean sample, so that the first P minimises the
    spread about the mean less lambda_1 times the energy that it keeps.
    """
    one = like(np.ones((1, samples.shape[0], 1)), samples)
    residuals = both_residuals(sides, one, update_centroids(samples, one))
    weight = like([[[energy_weight]]], samples)
    left, right = (
        see(side, update_projection(residual, side.gram, weight, r), None, settings)
        for side, residual, r in zip(
            sides, residuals, settings.n_directions, strict=True
        )
    )
    return left, right


def spectral_embedding(
    weights: csr_array, k: int, seed: int, tolerance: float = _TOLERANCE
) -> np.ndarray:
    """Rows of the k leading eigenvectors of D^-1/2 W D^-1/2, scaled to length 1.

    The eigenvalue 1 has one eigenvector per connected piece, D^1/2 times its
    indicator. Lanczos misses such copies, so they are written down and deflated.
    """
    n = weights.shape[0]
    degree = np.maximum(weights.sum(axis=1), np.finfo(float).tiny)
    n_pieces, piece = connected_components(weights, directed=False)
    vectors = np.sqrt(degree)[:, None] * np.eye(n_pieces)[piece]
    vectors /= np.linalg.norm(vectors, axis=0)
    if n_pieces < min(k, n - 1):
        root = diags_array(1 / np.sqrt(degree))
        normalized = (root @ weights @ root).astype(np.float64)
        rest = LinearOperator(
            (n, n),
            matvec=lambda x: normalized @ x - 2 * vectors @ (vectors.T @ x),
            dtype=np.float64,
        )
        guess = np.random.RandomState(seed).uniform(-1, 1, n)
        found = _leading(rest, min(k, n - 1) - n_pieces, guess, tolerance)
        vectors = np.hstack([vectors, found])
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / positive_or_one(norms)


def spectral_labels(
    weights: csr_array, k: int, seed: int, n_init: int = 10
) -> np.ndarray:
    """K-means labels of the spectral embedding."""
    return kmeans_labels(spectral_embedding(weights, k, seed), k, seed, n_init)


def _leading(
    operator: LinearOperator, count: int, guess: np.ndarray, tolerance: float
) -> np.ndarray:
    try:
        return eigsh(operator, k=count, which="LA", v0=guess, tol=tolerance)[1]
    except ArpackNoConvergence as stopped:  # a start need not be exact
        return stopped.eigenvectors


def kmeans_labels(
    points: np.ndarray, k: int, seed: int, n_init: int = 10
) -> np.ndarray:
    """K-means labels of points (n, d): fewer than k where fewer differ."""
    with warnings.catch_warnings():
        # Fewer distinct points than clusters is no fault of a start.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return k_means(points, k, n_init=n_init, random_state=seed)[1]
