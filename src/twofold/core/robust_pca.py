"""Robust PCA by the inexact augmented Lagrangian method of Lin et al.

Eq. (rpca): minimise ||A||_* + lambda ||E||_1 subject to X = A + E, where A has low rank
and E is sparse. With a multiplier Y and a penalty mu the augmented Lagrangian is

    ||A||_* + lambda ||E||_1 + <Y, X - A - E> + mu/2 ||X - A - E||^2

Every iteration minimises it over E and then over A, adds mu times the constraint
residual to Y, and raises mu. The problem is convex and needs no choice of a start.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

from twofold.core.convergence import Callback, ConvergenceMonitor

_GROWTH, _MAX_GROWTH = 1.5, 1e7
"""Growth factor of mu in an iteration, and its maximum in total."""

_PARTIAL = 0.1
"""Maximum fraction of all eigenvalues for which Lanczos iterations are used."""

_SPARE = 5
"""Number of singular values computed beyond the rank of the last iteration."""


@dataclass(frozen=True)
class Split:
    """Result of ``split``: X = A + E, with the SVD A = ``(left * values) @ right``."""

    left: np.ndarray  # (n, rank), left singular vectors of A
    values: np.ndarray  # (rank,), singular values of A, in descending order
    right: np.ndarray  # (rank, d), right singular vectors of A, in rows
    sparse: np.ndarray  # E, (n, d)
    history: np.ndarray  # (n_iter,), objective of Eq. (rpca) after each iteration
    residual: float  # ||X - A - E|| / ||X||
    converged: bool  # whether the tolerance was met


def split(
    samples: np.ndarray,
    weight: float,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Split:
    """Solve Eq. (rpca).

    Parameters
    ----------
    samples : array of shape (n, d)
        X, in double precision.
    weight : float
        lambda.
    tol : float
        Tolerance: the iteration stops when ||X - A - E|| <= ``tol`` ||X||.
    max_iter : int
    callback : callable or None
        As for ``ConvergenceMonitor``.
    """
    largest = largest_singular_value(samples)
    if largest == 0:
        return _zero_split(samples)
    # The dual norm of lambda ||.||_1 is the largest entry, not the largest row sum.
    dual = samples / max(largest, np.abs(samples).max() / weight)
    penalty = 1.25 / largest  # the first mu of Lin et al.
    max_penalty = _MAX_GROWTH * penalty
    low_rank, rank = np.zeros_like(samples), 1
    monitor, norm = ConvergenceMonitor(max_iter, callback), np.linalg.norm(samples)
    while monitor.is_running:
        sparse = soft_threshold(samples - low_rank + dual / penalty, weight / penalty)
        left, values, right = singular_value_threshold(
            samples - sparse + dual / penalty, 1 / penalty, rank
        )
        low_rank, rank = (left * values) @ right, len(values)
        difference = samples - low_rank - sparse
        dual += penalty * difference
        # A larger mu would put the threshold 1 / mu below the precision of the SVD.
        penalty = min(_GROWTH * penalty, max_penalty)
        objective = values.sum() + weight * np.abs(sparse).sum()
        residual = float(np.linalg.norm(difference) / norm)
        monitor.finish_iteration(objective, converged=residual <= tol)
    end = monitor.objectives, residual, monitor.converged
    return Split(left, values, right, sparse, *end)


def _zero_split(samples: np.ndarray) -> Split:
    """Return the result for samples that are all zero."""
    n, d = samples.shape
    zeros = np.zeros_like(samples)
    rank_zero = np.zeros((n, 0)), np.zeros(0), np.zeros((0, d))
    return Split(*rank_zero, zeros, np.zeros(1), 0.0, True)


def soft_threshold(matrix: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """Eq. (rpca_e): argmin_E t ||E||_1 + 1/2 ||E - M||^2, entries shrunk towards 0."""
    return matrix - np.clip(matrix, -threshold, threshold)


def singular_value_threshold(
    matrix: np.ndarray, threshold: float, rank: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eq. (rpca_a): compute the SVD of argmin_A t ||A||_* + 1/2 ||A - M||^2.

    The singular values of A are s - t for the singular values s > t of M. They come
    from the eigenvalues of the Gram matrix of the shorter side. Rounding makes values
    below 1e-8 of the largest unreliable, but every threshold is at least 8e-8 of it.

    ``rank`` is the expected number of singular values above the threshold t. More are
    computed until one is below it.
    """
    tall, transposed = _tall(matrix)
    gram, count = tall.T @ tall, rank + _SPARE
    squares, vectors = leading_eigenvectors(gram, count)
    while squares[-1] > threshold**2 and len(squares) < len(gram):
        count *= 2
        squares, vectors = leading_eigenvectors(gram, count)
    above = squares > threshold**2
    values, right = np.sqrt(squares[above]), vectors[:, above]
    left = tall @ right / values
    shrunk = values - threshold
    return (right, shrunk, left.T) if transposed else (left, shrunk, right.T)


def largest_singular_value(matrix: np.ndarray) -> float:
    """Return ||M||_2."""
    tall, _ = _tall(matrix)
    squares, _ = leading_eigenvectors(tall.T @ tall, 1)
    return float(max(squares[0], 0)) ** 0.5


def _tall(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """Transpose a matrix with more columns than rows; return whether it had."""
    transposed = matrix.shape[0] < matrix.shape[1]
    return (matrix.T if transposed else matrix), transposed


def leading_eigenvectors(gram: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at least ``count`` largest eigenvalues, descending, and eigenvectors."""
    values, vectors = _lanczos(gram, count) or eigh(gram)
    descending = np.argsort(-values)
    return values[descending], vectors[:, descending]


def _lanczos(gram: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the ``count`` leading eigenpairs; None if slower than all, or failed."""
    if count > _PARTIAL * len(gram):
        return None
    # A fixed first vector; ARPACK would draw it from its own random state.
    guess = np.random.RandomState(0).uniform(-1, 1, len(gram))
    try:
        return eigsh(gram, count, which="LA", v0=guess)
    except ArpackError:
        return None


# New samples

_ROW_PENALTY, _ROW_RELAXATION = 100.0, 1.7
"""Penalty mu in units of lambda over the mean |x|, and the over-relaxation of E."""

_ROW_ITERATIONS, _ROW_TOL = 2000, 1e-7
"""Maximum number of iterations for a sample, and relative change at which it stops."""


def split_rows(
    samples: np.ndarray, values: np.ndarray, right: np.ndarray, weight: float
) -> np.ndarray:
    """Eq. (rpca_new): split new samples, given the fitted low-rank part.

    The nuclear norm ||A||_* is the minimum of tr(A M^+ A') / 2 + tr(M) / 2 over all M
    whose range contains the rows of A. The minimum is at M = (A'A)^1/2. With M fixed at
    its value in the fit, the problem separates into one problem for each sample x,
    min_c sum_j c_j^2 / (2 s_j) + lambda ||x - c B||_1, where c are the coordinates of
    its low-rank part in the rows B of ``right``. The fit has solved this problem for
    the training samples. The solver is the ALM with a constant penalty and
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
        Coordinates c of each sample.
    """
    sizes = np.abs(samples).mean(axis=1, keepdims=True)
    codes = samples @ right.T
    # Samples of zeros and a fit of rank 0 have nothing to solve. The penalty of samples
    # next to zero would overflow; the projection is as good for them.
    number = np.finfo(samples.dtype)
    active = np.flatnonzero(
        (sizes[:, 0] > number.tiny / number.eps) & (len(values) > 0)
    )
    dual = np.zeros_like(samples)  # Y / mu
    for _ in range(_ROW_ITERATIONS):
        if not active.size:
            break
        penalty = _ROW_PENALTY * weight / sizes[active]
        before, x, shift = codes[active], samples[active], dual[active]
        residual = x - before @ right
        sparse = soft_threshold(residual + shift, weight / penalty)
        # Over-relaxation: E is replaced by r E + (1 - r) (x - c B).
        relaxed, rest = _ROW_RELAXATION * sparse, (1 - _ROW_RELAXATION) * residual
        target = x + shift - relaxed - rest
        after = target @ right.T * (penalty / (penalty + 1 / values))
        codes[active], dual[active] = after, target - after @ right
        change = np.abs(after - before).max(axis=1)
        active = active[change > _ROW_TOL * np.abs(after).max(axis=1)]
    return codes
