"""Semi-NMF and GNMF: one loop of alternating steps that never raise the objective.

Both factorise flat samples X (n, d) as V U with V (n, k) >= 0. They differ only in the
steps of V and U. Semi-NMF has the steps of ``updates``, GNMF those of this module.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.convergence import Callback, ConvergenceMonitor
from twofold.core.graphs.graph import Graph
from twofold.core.terms import Weights
from twofold.core.terms.smoothness import smoothness
from twofold.core.updates import (
    Products,
    descent_ratio,
    side_products,
    update_centroids,
    update_coefficients,
)

_CANCELLED = 1e-4
"""Relative size below which an expanded square has lost too many digits."""


@dataclass(frozen=True)
class Steps:
    """Update rules of a factorisation."""

    # The next V, given V, the products with U, and the weights.
    coefficients: Callable[[Array, tuple[Products, ...], Weights], Array]
    # The next U, given X, the next V, and U.
    centroids: Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class FactorizationResult:
    """Result of ``factorize``."""

    coefficients: Array  # V, (n, k)
    centroids: Array  # U, (k, d)
    history: np.ndarray  # (n_iter,), objective after each iteration
    converged: bool  # whether the tolerance was met


class MissingEntries:
    """A copy of X (n, d) whose missing entries are overwritten in every iteration.

    Only the missing entries are written, by index. ``where`` on arrays of the size of X
    would take longer than the steps of V and U.
    """

    def __init__(self, samples: Array, missing: Array) -> None:
        xp = array_namespace(samples)
        self._flat = xp.asarray(samples.reshape(-1), copy=True)
        self._samples = self._flat.reshape(samples.shape)  # a view
        self._positions = xp.nonzero(missing.reshape(-1))[0]
        # The energy of the observed entries is constant: it is summed only once.
        observed = xp.where(missing, xp.zeros_like(samples), samples)
        self._observed_energy = float(xp.sum(observed**2))

    def fill(self, coefficients: Array, centroids: Array) -> tuple[Array, float]:
        """Set the missing entries of X to those of V U; return X and ||X||^2.

        The next call overwrites the returned array.
        """
        xp = array_namespace(coefficients)
        model = (coefficients @ centroids).reshape(-1)
        values = xp.take(model, self._positions, axis=0)
        self._flat[self._positions] = values
        return self._samples, self._observed_energy + float(xp.sum(values**2))


def nonnegative_coefficients(
    coefficients: Array, sides: tuple[Products, ...], weights: Weights
) -> Array:
    """Eq. (gnmf_v): V o (X U' + lambda W V) / (V U U' + lambda D V).

    This is Eq. (update_v) without the square root. If X and U are nonnegative, the
    objective does not rise without it.
    """
    return coefficients * descent_ratio(coefficients, sides, weights)


def nonnegative_centroids(
    samples: Array, coefficients: Array, centroids: Array
) -> Array:
    """Eq. (gnmf_u): U o (V' X) / (V' V U), which is Eq. (gnmf_v) for X' = U' V'."""
    transpose = array_namespace(centroids).matrix_transpose
    cross = transpose(samples) @ coefficients
    inner = transpose(coefficients) @ coefficients
    rows = transpose(centroids)
    return transpose(nonnegative_coefficients(rows, (Products(inner, cross),), {}))


SEMI_NMF = Steps(update_coefficients, lambda x, v, _: update_centroids(x, v))
"""Steps of Ding et al.: the factor steps of TS-NMF without projections."""

GNMF = Steps(nonnegative_coefficients, nonnegative_centroids)
"""Steps of Cai et al.; without a graph, the multiplicative steps of Lee and Seung."""


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
    callback: Callback | None = None,
) -> FactorizationResult:
    """Minimise Eq. (obj_seminmf), or Eq. (gnmf) with a graph, from given factors.

    Missing entries of X are unknowns of the same objective. Each iteration updates V,
    sets the missing entries to those of V U, and updates U. None of these steps raises
    the objective: the steps of V and U do not for any X, and a missing entry occurs in
    a single square of ||X - V U||^2, which becomes 0. The objective over the observed
    entries alone is at most the objective. Both are equal right after the missing
    entries are set, and at these points it never rises either.

    Parameters
    ----------
    samples : array of shape (n, d)
        X, with start values of the missing entries.
    factors : arrays of shape (n, k) and (k, d)
        V^0, positive, and U^0.
    steps : Steps
    missing : boolean array of shape (n, d) or None
        Mask of the missing entries.
    graph : Graph or None
        Graph with a batch axis of length 1.
    graph_weight : float
        lambda.
    tol : float
        Tolerance: the iteration stops when it lowers the objective by at most ``tol``
        times ||X||^2, for X as it was given.
    max_iter : int
    callback : callable or None
        As for ``ConvergenceMonitor``.
    """
    coefficients, centroids = (factor[None, ...] for factor in factors)
    energy = float(array_namespace(samples).sum(samples**2))
    tolerance = tol * (energy or 1.0)  # samples of zeros have no energy
    missing_entries = None if missing is None else MissingEntries(samples, missing)
    products = side_products(samples, centroids, graph)
    weights: Weights = {"graph_weight": graph_weight}
    monitor, objective = ConvergenceMonitor(max_iter, callback), np.inf
    while monitor.is_running:
        before = objective
        coefficients = steps.coefficients(coefficients, (products,), weights)
        if missing_entries is not None:  # before U, which fits the filled samples
            samples, energy = missing_entries.fill(coefficients, centroids)
        centroids = steps.centroids(samples, coefficients, centroids)
        products = side_products(samples, centroids, graph)
        factors = coefficients, centroids
        objective = factor_objective(samples, energy, factors, products, graph_weight)
        monitor.finish_iteration(objective, converged=before - objective <= tolerance)
    factors = coefficients[0, ...], centroids[0, ...]
    return FactorizationResult(*factors, monitor.objectives, monitor.converged)


def factor_objective(
    samples: Array,
    energy: float,
    factors: tuple[Array, Array],
    products: Products,
    graph_weight: float,
) -> float:
    """Eq. (gnmf): ||X - V U||^2 + lambda Tr(V' L V), mostly without a pass over X.

    ||X - V U||^2 = ||X||^2 - 2 <X U', V> + <V'V, U U'>. The first term is ``energy``;
    the others need products that the next step of V needs anyway. If the terms cancel,
    the sum has too few correct digits, and the squared residuals are summed instead.
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
