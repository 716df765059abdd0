"""Semi-NMF and GNMF: one loop of alternating steps that never raise the objective.

Both factorise flat samples X (n, d) as V U with V (n, k) >= 0. They differ in their
two steps alone, which are those of ``updates`` and the two here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.convergence import ConvergenceMonitor
from twofold.core.graphs.graph import Graph
from twofold.core.objective import smoothness
from twofold.core.solver import Progress
from twofold.core.updates import (
    Products,
    descent_ratio,
    side_products,
    update_centroids,
    update_coefficients,
)

_CANCELLED = 1e-4
"""Below this part of its terms an expanded square has lost too many digits."""


@dataclass(frozen=True)
class Steps:
    """How a factorisation moves its factors.

    Attributes
    ----------
    coefficients : callable
        V of the next iteration from V, the products with U, and lambda_2.
    centroids : callable
        U of the next iteration from X, the new V, and U.
    """

    coefficients: Callable[[Array, tuple[Products, ...], Array], Array]
    centroids: Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class FactorizationResult:
    """Where a factorisation ended: V (n, k), U (k, d), and the way there."""

    coefficients: Array
    centroids: Array
    history: np.ndarray
    converged: bool


class MissingEntries:
    """The missing entries of X (n, d) in a copy of it.

    They alone are written: to choose between two arrays of the size of X takes longer
    than the steps of V and U.
    """

    def __init__(self, samples: Array, missing: Array) -> None:
        xp = array_namespace(samples)
        self._flat = xp.asarray(samples.reshape(-1), copy=True)
        self._samples = self._flat.reshape(samples.shape)  # the same memory
        self._positions = xp.nonzero(missing.reshape(-1))[0]
        observed = xp.where(missing, xp.zeros_like(samples), samples)
        self._observed_energy = float(xp.sum(observed**2))

    def filled(self, coefficients: Array, centroids: Array) -> tuple[Array, float]:
        """X with V U for what is missing, and ||X||^2, until the next time."""
        xp = array_namespace(coefficients)
        values = xp.take(
            (coefficients @ centroids).reshape(-1), self._positions, axis=0
        )
        self._flat[self._positions] = values
        return self._samples, self._observed_energy + float(xp.sum(values**2))


def nonnegative_coefficients(
    coefficients: Array, sides: tuple[Products, ...], graph_weight: Array
) -> Array:
    """Eq. (gnmf_v): V o (X U' + lambda W V) / (V U U' + lambda D V).

    It is Eq. (update_v) without the square root, which is not needed for a descent
    where neither X nor U has negative entries.
    """
    return coefficients * descent_ratio(coefficients, sides, graph_weight)


def nonnegative_centroids(
    samples: Array, coefficients: Array, centroids: Array
) -> Array:
    """Eq. (gnmf_u): U o (V' X) / (V' V U), which is Eq. (gnmf_v) of X' = U' V'."""
    transpose = array_namespace(centroids).matrix_transpose
    crossed = transpose(samples) @ coefficients
    inner = transpose(coefficients) @ coefficients
    turned = transpose(centroids)
    return transpose(nonnegative_coefficients(turned, (Products(inner, crossed),), 0.0))


SEMI_NMF = Steps(update_coefficients, lambda x, v, _: update_centroids(x, v))
"""Ding et al.: TS-NMF's factor steps, nothing being projected."""

GNMF = Steps(nonnegative_coefficients, nonnegative_centroids)
"""Cai et al.; without a graph, the multiplicative updates of Lee and Seung."""


def factorize(
    samples: Array,
    factors: tuple[Array, Array],
    steps: Steps,
    *,
    missing: Array | None = None,
    graph: Graph | None = None,
    graph_weight: float = 0.0,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> FactorizationResult:
    """Minimise Eq. (obj_seminmf), or Eq. (gnmf) with a graph, from given factors.

    Missing entries of X are unknowns of the same objective: each iteration moves V,
    then sets them to what V U is there, and then moves U. None of the three raises the
    objective: the steps of V and U do not for any X, and a missing entry is part of
    one square of ||X - V U||^2 alone, which becomes 0. So the objective never rises.
    What is observed of it is the same without the squares of the missing entries:
    never more, and equal right after these were set, where it never rises either.

    Parameters
    ----------
    samples : array of shape (n, d)
        X, with a first guess of what is missing.
    factors : arrays of shape (n, k) and (k, d)
        V^0, positive, and U^0.
    steps : Steps
    missing : boolean array of shape (n, d) or None
    graph : Graph or None
        Of one run.
    graph_weight : float
        lambda.
    tol : float
        It ends when an iteration lowers the objective by no more than ``tol``
        times the energy of the samples, ||X||^2 as it was given.
    max_iter : int
    progress : callable or None
        As for ``solver.solve``.
    """
    coefficients, centroids = (factor[None, ...] for factor in factors)
    energy = float(array_namespace(samples).sum(samples**2))
    allowed = tol * (energy or 1.0)
    missing_entries = None if missing is None else MissingEntries(samples, missing)
    products = side_products(samples, centroids, graph)
    monitor, objective = ConvergenceMonitor(max_iter, progress), np.inf
    while monitor.running:
        before = objective
        coefficients = steps.coefficients(coefficients, (products,), graph_weight)
        if missing_entries is not None:
            samples, energy = missing_entries.filled(coefficients, centroids)
        centroids = steps.centroids(samples, coefficients, centroids)
        products = side_products(samples, centroids, graph)
        factors = coefficients, centroids
        objective = factor_objective(samples, energy, factors, products, graph_weight)
        monitor.record(objective, converged=before - objective <= allowed)
    last = coefficients[0, ...], centroids[0, ...]
    return FactorizationResult(*last, monitor.history, monitor.converged)


def factor_objective(
    samples: Array,
    energy: float,
    factors: tuple[Array, Array],
    products: Products,
    graph_weight: float,
) -> float:
    """Eq. (gnmf): ||X - V U||^2 + lambda Tr(V' L V), mostly without a pass over X.

    ||X - V U||^2 = ||X||^2 - 2 <X U', V> + <V'V, U U'>. The first is the ``energy``,
    the others have products that the next V step needs anyway. Where little is left of
    these terms, rounding would be seen, and the residuals themselves are added up.
    """
    xp = array_namespace(samples)
    coefficients, centroids = factors
    overlap = xp.matrix_transpose(coefficients) @ coefficients
    explained = float(xp.sum(overlap * products.inner))
    objective = energy - 2 * float(xp.sum(products.cross * coefficients)) + explained
    if objective < _CANCELLED * (energy + explained):
        objective = float(xp.sum((samples - coefficients @ centroids) ** 2))
    if products.graph is None:
        return objective
    return objective + graph_weight * float(smoothness(coefficients, products.graph)[0])
