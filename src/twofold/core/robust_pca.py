"""Robust PCA by the inexact augmented Lagrangian method of Lin et al.

Eq. (rpca): minimise ||A||_* + lambda ||E||_1 subject to X = A + E, A being of low rank
and E sparse. With a multiplier Y and a penalty mu the augmented Lagrangian is

    ||A||_* + lambda ||E||_1 + <Y, X - A - E> + mu/2 ||X - A - E||^2

and every iteration puts E, then A at its minimum, moves Y along the constraint, and
raises mu. The problem is convex and has no start to choose.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

from twofold.core.convergence import ConvergenceMonitor
from twofold.core.solver import Progress

_GROWTH, _LARGEST = 1.5, 1e7
"""mu grows by the one factor in each iteration, up to the other in all."""

_PARTIAL = 0.1
"""Up to this part of all singular values, Lanczos iterations are faster."""

_SPARE = 5
"""Singular values asked for beyond the rank of the last iteration."""


@dataclass(frozen=True)
class Split:
    """X = A + E as the ALM left it.

    Attributes
    ----------
    left : array of shape (n, rank)
    values : array of shape (rank,)
        Falling.
    right : array of shape (rank, d)
        A is ``left * values @ right``, its singular value decomposition.
    sparse : array of shape (n, d)
        E.
    history : array of shape (n_iter,)
        Eq. (rpca) after each iteration.
    residual : float
        ||X - A - E|| / ||X||.
    converged : bool
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    sparse: np.ndarray
    history: np.ndarray
    residual: float
    converged: bool


def split(
    samples: np.ndarray,
    weight: float,
    *,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> Split:
    """Solve Eq. (rpca).

    Parameters
    ----------
    samples : array of shape (n, d)
        X, in double precision.
    weight : float
        lambda.
    tol : float
        It ends when ||X - A - E|| is at most ``tol`` times ||X||.
    """
    largest = largest_singular_value(samples)
    if largest == 0:  # Nothing to split.
        return _nothing(samples)
    # The largest entry of |X|, not the largest sum of a row of it.
    dual = samples / max(largest, np.abs(samples).max() / weight)
    penalty = 1.25 / largest
    highest = _LARGEST * penalty
    low_rank, rank = np.zeros_like(samples), 1
    monitor, size = ConvergenceMonitor(max_iter, progress), np.linalg.norm(samples)
    while monitor.running:
        sparse = soft_threshold(samples - low_rank + dual / penalty, weight / penalty)
        left, values, right = singular_value_threshold(
            samples - sparse + dual / penalty, 1 / penalty, rank
        )
        low_rank, rank = (left * values) @ right, len(values)
        open_ = samples - low_rank - sparse
        dual += penalty * open_
        penalty = min(_GROWTH * penalty, highest)
        objective = values.sum() + weight * np.abs(sparse).sum()
        residual = float(np.linalg.norm(open_) / size)
        monitor.record(objective, converged=residual <= tol)
    return Split(
        left, values, right, sparse, monitor.history, residual, monitor.converged
    )


def _nothing(samples: np.ndarray) -> Split:
    n, d = samples.shape
    zeros = np.zeros_like(samples)
    no_rank = np.zeros((n, 0)), np.zeros(0), np.zeros((0, d))
    return Split(*no_rank, zeros, np.zeros(1), 0.0, True)


def soft_threshold(matrix: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """Eq. (rpca_e): argmin_E t ||E||_1 + 1/2 ||E - M||^2, entries moved towards 0."""
    return matrix - np.clip(matrix, -threshold, threshold)


def singular_value_threshold(
    matrix: np.ndarray, threshold: float, rank: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eq. (rpca_a): argmin_A t ||A||_* + 1/2 ||A - M||^2, as its SVD.

    Its singular values are those of M that exceed t, less t. They come from the Gram
    matrix of the shorter side, whose rounding spoils those below 1e-8 of the largest;
    no threshold that occurs is below 8e-8 of it.

    Parameters
    ----------
    matrix : array of shape (n, d)
    threshold : float
    rank : int
        How many singular values are expected to exceed it. More are computed until
        one does not.
    """
    tall, turned = _tall(matrix)
    gram, count = tall.T @ tall, rank + _SPARE
    squares, vectors = leading_eigenvectors(gram, count)
    while squares[-1] > threshold**2 and len(squares) < len(gram):
        count *= 2
        squares, vectors = leading_eigenvectors(gram, count)
    above = squares > threshold**2
    values, right = np.sqrt(squares[above]), vectors[:, above]
    left = tall @ right / values
    kept = values - threshold
    return (right, kept, left.T) if turned else (left, kept, right.T)


def largest_singular_value(matrix: np.ndarray) -> float:
    """||M||_2."""
    tall, _ = _tall(matrix)
    squares, _ = leading_eigenvectors(tall.T @ tall, 1)
    return float(max(squares[0], 0)) ** 0.5


def _tall(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """The matrix, transposed if it has more columns than rows, and whether it is."""
    turned = matrix.shape[0] < matrix.shape[1]
    return (matrix.T if turned else matrix), turned


def leading_eigenvectors(gram: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """At least ``count`` largest eigenvalues, falling, and their eigenvectors."""
    values, vectors = _by_lanczos(gram, count) or eigh(gram)
    falling = np.argsort(-values)
    return values[falling], vectors[:, falling]


def _by_lanczos(gram: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Some eigenvectors, where that is faster than all of them and works."""
    if count > _PARTIAL * len(gram):
        return None
    guess = np.random.RandomState(0).uniform(-1, 1, len(gram))
    try:
        return eigsh(gram, count, which="LA", v0=guess)
    except ArpackError:
        return None


# New samples

_ROW_PENALTY, _ROW_RELAXATION = 100.0, 1.7
"""mu in terms of lambda over the mean entry of a sample; by how much E overshoots."""

_ROW_ITERATIONS, _ROW_TOL = 2000, 1e-7
"""The ALM of a sample ends when its coordinates move by no more than this part."""


def split_rows(
    samples: np.ndarray, values: np.ndarray, right: np.ndarray, weight: float
) -> np.ndarray:
    """Eq. (rpca_new): new samples against the subspace of a fitted low-rank part.

    The nuclear norm is the least tr(A M^+ A') / 2 + tr(M) / 2 over M whose range holds
    the rows of A, reached at M = (A'A)^1/2. With the M of the fit every sample is a
    problem of its own, min_c sum_j c_j^2 / (2 s_j) + lambda ||x - c B||_1, in its
    coordinates c in the rows B of ``right``; a training sample is at its solution in
    the fit already. Each is solved by the ALM with a constant penalty and
    over-relaxation, which converges.

    Parameters
    ----------
    samples : array of shape (m, d)
    values, right : arrays of shape (rank,) and (rank, d)
        s and B.
    weight : float
        lambda.

    Returns
    -------
    array of shape (m, rank)
        c of each sample.
    """
    sizes = np.abs(samples).mean(axis=1, keepdims=True)
    codes = samples @ right.T
    going = np.flatnonzero((sizes[:, 0] > 0) & (len(values) > 0))
    dual = np.zeros_like(samples)  # Y / mu
    for _ in range(_ROW_ITERATIONS):
        if not going.size:
            break
        penalty = _ROW_PENALTY * weight / sizes[going]
        before, x, shift = codes[going], samples[going], dual[going]
        open_ = x - before @ right
        sparse = soft_threshold(open_ + shift, weight / penalty)
        target = x + shift - _ROW_RELAXATION * sparse - (1 - _ROW_RELAXATION) * open_
        after = target @ right.T * (penalty / (penalty + 1 / values))
        codes[going], dual[going] = after, target - after @ right
        moved = np.abs(after - before).max(axis=1)
        going = going[moved > _ROW_TOL * np.abs(after).max(axis=1)]
    return codes
