"""Algorithm 1: the stopping rule and the loop over all runs at once."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace

from twofold.core.arrays import Array, like, take_runs, to_numpy
from twofold.core.grams import Side, both_residuals, both_ways, project
from twofold.core.missing.filling import Data
from twofold.core.objective import TERMS, projected_trace, smoothness, total
from twofold.core.projected import see
from twofold.core.state import (
    NOTHING_FOLLOWED,
    Factors,
    FollowedPair,
    Settings,
    SideState,
    Solution,
    State,
)
from twofold.core.updates import (
    side_products,
    update_centroids,
    update_coefficients,
    update_projection,
)

Progress = Callable[[int, np.ndarray], bool]


def solve(
    samples: Array,
    sides: tuple[Side, ...],
    start: Array,
    energy_weight: Array,
    graph_weight: Array,
    settings: Settings,
    progress: Progress | None = None,
    missing: Array | None = None,
) -> list[Solution]:
    """Algorithm 1 up to line 8, for many starts and weights over the same samples.

    Missing entries are unknowns too: between the steps of V and U of every iteration
    each run fills them in a copy of the samples that is its own.

    Parameters
    ----------
    samples : array of shape (n, c, h, w)
    sides : (left, right)
        The sides of these samples.
    start : array of shape (runs, n, k)
        V^0, strictly positive. U^0 follows from it by Eq. (update_u).
    energy_weight, graph_weight : array of shape (runs,)
        lambda_1 and lambda_2 of each run.
    settings : Settings
    progress : callable or None
        Called with the iteration's number and the objectives of the runs that
        are still going; they all stop there if it returns True.
    missing : boolean array of shape (n, c, h, w) or None
        Which entries of the samples are guesses; None stands for none.

    Returns
    -------
    list of Solution, one per run
    """
    energy = sum(float(np.trace(to_numpy(side.gram))) for side in sides)
    energy = energy or 1.0  # of samples of zeros, whose V alone goes on changing
    weights = tuple(
        like(weight, start).reshape(-1, 1, 1)
        for weight in (energy_weight, graph_weight)
    )
    data = Data(samples, sides, missing)
    factors: Factors = optimal_factors(data, start)  # line 2
    going = np.arange(start.shape[0])
    history: list[np.ndarray] = []  # (terms, runs) of every iteration
    solutions: dict[int, Solution] = {}
    while going.size:
        state, data = iterate(data, factors, weights, settings)
        history.append(np.full((len(TERMS), start.shape[0]), np.nan))
        history[-1][:, going] = objective_terms(data, state, weights)
        converged = _converged(history, settings.tol * energy)[going]
        halt = progress is not None and progress(len(history), history[-1][-1, going])
        stopped = converged | halt | (len(history) == settings.max_iter)
        if stopped.any():  # those runs are frozen where they are
            for i in np.flatnonzero(stopped).tolist():
                run = int(going[i])
                record = np.stack(history)[:, :, run]
                solutions[run] = _solution(state, data, i, record, converged[i])
            kept = np.flatnonzero(~stopped)
            going, state, data = going[kept], take_runs(state, kept), data.of_runs(kept)
            weights = take_runs(weights, kept)
        factors = state
    return [solutions[run] for run in range(start.shape[0])]


def optimal_factors(
    data: Data, coefficients: Array, followed: FollowedPair = NOTHING_FOLLOWED
) -> Factors:
    """V, and U at its optimum by Eq. (update_u)."""
    centroids = update_centroids(data.samples, coefficients)
    residuals = both_residuals(data.sides, coefficients, centroids)
    return Factors(coefficients, centroids, residuals, followed)


def iterate(
    data: Data, factors: Factors, weights: tuple[Array, ...], settings: Settings
) -> tuple[State, Data]:
    """Lines 4 to 6 of Algorithm 1: P and Q, their graphs, then V and U.

    Missing entries are filled before the step of U, which so is at its optimum for the
    samples that are returned, as ``residual_gram`` needs it.
    """
    energy_weight, graph_weight = weights
    learned, products, followed = [], [], []
    for side, residual, before, view, r in zip(
        data.sides,
        factors.residuals,
        factors.followed,
        both_ways(factors.centroids),
        settings.n_directions,
        strict=True,
    ):
        # Line 4
        projection = update_projection(residual, side.gram, energy_weight, r)
        # Line 5
        seen = see(side, projection, before, settings)
        learned.append(SideState(side.outside(projection), seen.graph))
        followed.append(seen.followed)
        centroid_features = project(view, seen.turned)
        products.append(side_products(seen.features, centroid_features, seen.graph))
    # Line 6
    coefficients = update_coefficients(
        factors.coefficients, tuple(products), graph_weight
    )
    left, right = learned
    data = data.refilled(
        (coefficients, factors.centroids),
        (left.projection, right.projection),
        energy_weight,
    )
    after = optimal_factors(data, coefficients, (followed[0], followed[1]))
    return State(**vars(after), left=left, right=right), data


def objective_terms(data: Data, state: State, weights: tuple[Array, ...]) -> np.ndarray:
    """The terms of Eq. (obj) in the order of TERMS: (terms, runs).

    With missing entries the energy is less that of the samples, which then changes:
    minus what the projections lose, see ``holes.fill``.
    """
    residuals, energy, roughness = [], 0.0, 0.0
    xp = array_namespace(state.coefficients)
    learned = state.left, state.right
    for side, residual, own in zip(data.sides, state.residuals, learned, strict=True):
        projection = side.inside(own.projection)
        residuals.append(projected_trace(projection, residual))
        energy = energy + projected_trace(projection, side.gram)
        if data.missing is not None:
            energy = energy - xp.linalg.trace(side.gram)
        roughness = roughness + smoothness(state.coefficients, own.graph)
    terms = (*residuals, energy, roughness)
    flat_weights = (weight.reshape(-1) for weight in weights)
    return np.stack([to_numpy(t) for t in (*terms, total(*terms, *flat_weights))])


def _solution(
    state: State, data: Data, i: int, record: np.ndarray, converged: bool
) -> Solution:
    """Where the i-th of the runs that were still going ended.

    ``record`` holds its terms (n_iter, terms).
    """
    one = np.array([i])
    return Solution(
        take_runs(replace(state, followed=NOTHING_FOLLOWED), one),
        dict(zip(TERMS, record.T, strict=True)),
        bool(converged),
        None if data.missing is None else data.of_runs(one).samples[0, ...],
    )


def _converged(history: list[np.ndarray], allowed: float) -> np.ndarray:
    """Which runs' totals changed by no more than ``allowed`` in the last iteration."""
    if len(history) < 2:
        return np.zeros(history[0].shape[1], dtype=bool)
    return np.abs(history[-1][-1] - history[-2][-1]) <= allowed
