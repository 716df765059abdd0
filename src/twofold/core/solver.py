"""Algorithm 1: the loop over a batch of starts and weights, and its stopping rule."""

from dataclasses import replace

import numpy as np

from twofold.core.arrays import Array, like, take_batch, to_numpy
from twofold.core.convergence import BatchMonitor, Callback
from twofold.core.grams import Side, both_residuals, both_ways, project, projected_trace
from twofold.core.missing.filling import Data
from twofold.core.projected import project_side
from twofold.core.state import (
    NOTHING_TRACKED,
    Factors,
    SideState,
    Solution,
    SolverOptions,
    State,
    TrackedPair,
)
from twofold.core.terms import TERMS, Weights
from twofold.core.updates import (
    hold_scale,
    side_products,
    update_centroids,
    update_coefficients,
    update_projection,
)

RECORDED = ("left_residual", "right_residual", *(term.name for term in TERMS), "total")
"""Names of the values that are recorded in every iteration."""


def solve(
    samples: Array,
    sides: tuple[Side, ...],
    start: Array,
    weights: dict[str, np.ndarray],
    options: SolverOptions,
    callback: Callback | None = None,
    missing: Array | None = None,
    roots: Array | None = None,
    tracked: TrackedPair = NOTHING_TRACKED,
) -> list[Solution]:
    """Run Algorithm 1 up to line 8, for a batch of starts and weights.

    Missing entries are unknowns, too: between the steps of V and U every entry of the
    batch fills them in a copy of the samples of its own.

    Parameters
    ----------
    samples : array of shape (n, c, h, w)
    sides : (left, right)
    start : array of shape (batch, n, k)
        V^0, strictly positive. U^0 follows from V^0 by Eq. (update_u).
    weights : dict of str to array of shape (batch,)
        Weight of every term of the objective, by its parameter.
    options : SolverOptions
    callback : callable or None
        Called with the number of the iteration and the objectives of the entries that
        are still running; all of them stop if it returns True.
    missing : boolean array of shape (n, c, h, w) or None
        True for missing entries, which hold first guesses; None if there are none.
    roots : array of shape (n, 1) or None
        Square roots of the weights of the samples; None if all weights are 1. Samples
        X_i and rows v_i of weight m_i are given, and returned, as sqrt(m_i) X_i and
        sqrt(m_i) v_i: every sum over the samples is then the weighted one.
    tracked : TrackedPair
        Lists of other graphs of the same samples, near which the first are searched.

    Returns
    -------
    list of Solution, for every entry of the batch
    """
    energy = sum(float(np.trace(to_numpy(side.gram))) for side in sides)
    energy = energy or 1.0  # of samples of zeros
    batch: Weights = {
        name: like(weight, start).reshape(-1, 1, 1) for name, weight in weights.items()
    }
    data = Data(samples, sides, missing, roots)
    factors: Factors = optimal_factors(data, start, tracked)  # line 2
    monitor = BatchMonitor(start.shape[0], options.max_iter, callback)
    solutions: dict[int, Solution] = {}
    while monitor.running.size:
        state, data = iterate(data, factors, batch, options)
        monitor.record(objective_terms(data, state, batch))
        converged = monitor.changes() <= options.tol * energy
        entries = monitor.running
        stopped = monitor.stop(converged)
        if stopped.any():  # these entries leave the batch
            for i in np.flatnonzero(stopped).tolist():
                entry = int(entries[i])
                history = dict(zip(RECORDED, monitor.history_of(entry), strict=True))
                solutions[entry] = _solution(state, data, i, history, converged[i])
            kept = np.flatnonzero(~stopped)
            data = data.take(kept)
            state, batch = take_batch((state, batch), kept)
        factors = state
    return [solutions[entry] for entry in range(start.shape[0])]


def optimal_factors(
    data: Data, coefficients: Array, tracked: TrackedPair = NOTHING_TRACKED
) -> Factors:
    """Return V with U at its optimum, Eq. (update_u), and the residual Grams."""
    centroids = update_centroids(data.samples, coefficients)
    residuals = both_residuals(data.sides, coefficients, centroids)
    return Factors(coefficients, centroids, residuals, tracked)


def iterate(
    data: Data, factors: Factors, weights: Weights, options: SolverOptions
) -> tuple[State, Data]:
    """Run lines 4 to 6 of Algorithm 1: P and Q, their graphs, then V and U.

    Missing entries are filled before the step of U: ``residual_gram`` needs U to be at
    its optimum for the samples that are returned.
    """
    learned, products, tracked = [], [], []
    for side, residual, before, centroids, r in zip(
        data.sides,
        factors.residuals,
        factors.tracked,
        both_ways(factors.centroids),
        options.n_directions,
        strict=True,
    ):
        # Line 4
        projection = update_projection(side, residual, weights, r)
        # Line 5
        projected = project_side(side, projection, before, options, data.roots)
        learned.append(SideState(side.outside(projection), projected.graph))
        tracked.append(projected.tracked)
        centroid_features = project(centroids, projected.projection)
        products.append(
            side_products(projected.features, centroid_features, projected.graph)
        )
    # Line 6
    coefficients = update_coefficients(factors.coefficients, tuple(products), weights)
    coefficients, centroids = hold_scale(
        coefficients, factors.centroids, weights, data.roots
    )
    left, right = learned
    data = data.refilled(
        (coefficients, centroids),
        (left.projection, right.projection),
        weights["energy_weight"],
    )
    after = optimal_factors(data, coefficients, (tracked[0], tracked[1]))
    return State(**vars(after), left=left, right=right), data


def objective_terms(data: Data, state: State, weights: Weights) -> np.ndarray:
    """Compute the terms of Eq. (obj) in the order of RECORDED: (terms, batch)."""
    sides = list(zip(data.sides, (state.left, state.right), strict=True))
    residuals = [
        projected_trace(side.inside(learned.projection), residual)
        for (side, learned), residual in zip(sides, state.residuals, strict=True)
    ]
    filled = data.missing is not None
    values, total = [*residuals], residuals[0] + residuals[1]
    for term in TERMS:
        left, right = (
            term.value(side, learned, state.coefficients, filled=filled)
            for side, learned in sides
        )
        values.append(left + right)
        total = total + term.sign * weights[term.parameter].reshape(-1) * values[-1]
    return np.stack([to_numpy(value) for value in (*values, total)])


def _solution(
    state: State, data: Data, i: int, history: dict[str, np.ndarray], converged: bool
) -> Solution:
    """Return the solution of the i-th running entry."""
    one = np.array([i])
    return Solution(
        take_batch(replace(state, tracked=NOTHING_TRACKED), one),
        history,
        bool(converged),
        None if data.missing is None else data.take(one).samples[0, ...],
    )
