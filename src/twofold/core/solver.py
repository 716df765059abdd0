"""Algorithm 1: the loop over a batch of starts and weights, and its stopping rule."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from twofold.core.arrays import Array, like, take_batch, to_numpy
from twofold.core.convergence import BatchMonitor, Callback
from twofold.core.grams import Side, both_residuals, both_ways, project, projected_trace
from twofold.core.missing.filling import Data
from twofold.core.neighbors.tracked import TrackedLists
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
    Products,
    hold_scale,
    side_products,
    update_centroids,
    update_coefficients,
    update_projection,
)
from twofold.core.workers import ALONE, Workers, workers_for

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
    monitor = BatchMonitor(start.shape[0], options.max_iter, callback)
    solutions: dict[int, Solution] = {}
    with workers_for(samples) as workers:

        def first(entries: np.ndarray) -> _Group:
            own, weights = take_batch((start, batch), entries)
            factors = optimal_factors(data, own)  # line 2
            return _Group(entries, data, factors, weights)

        # Runs that take long are often next to each other: every group gets some.
        every, count = np.arange(start.shape[0]), min(workers.count, start.shape[0])
        groups = workers.map(first, [every[i::count] for i in range(count)])
        while groups:
            groups, terms = _advanced(groups, options, workers)
            monitor.record(terms)
            converged = monitor.changes() <= options.tol * energy
            converged_entries = monitor.running[converged]
            monitor.stop(converged)
            for group in groups:
                solutions |= _ended(group, monitor, converged_entries)
            groups = [group.among(monitor.running) for group in groups]
            groups = [group for group in groups if len(group.entries)]
    return [solutions[entry] for entry in range(start.shape[0])]


@dataclass(frozen=True)
class _Group:
    """Some entries of the batch, which are computed together."""

    entries: np.ndarray  # (b,), positions in the batch, ascending
    data: Data
    factors: Factors
    weights: Weights

    def among(self, entries: np.ndarray) -> "_Group":
        """Return the group of those that are among the given ones."""
        kept = np.flatnonzero(np.isin(self.entries, entries))
        if len(kept) == len(self.entries):
            return self
        parts = take_batch((self.factors, self.weights), kept)
        return _Group(self.entries[kept], self.data.take(kept), *parts)


def _advanced(
    groups: list[_Group], options: SolverOptions, workers: Workers
) -> tuple[list[_Group], np.ndarray]:
    """Return the groups after one more iteration, and the terms of all entries.

    The workers divide the groups, or the two sides of a single group.
    """
    outer, inner = (workers, ALONE) if len(groups) > 1 else (ALONE, workers)

    def advance(group: _Group) -> tuple[_Group, np.ndarray]:
        now = group.data, group.factors, group.weights
        state, data = iterate(*now, options, inner)
        terms = objective_terms(data, state, group.weights)
        return replace(group, data=data, factors=state), terms

    after, terms = zip(*outer.map(advance, groups), strict=True)
    order = np.argsort(np.concatenate([group.entries for group in groups]))
    return list(after), np.concatenate(terms, axis=1)[:, order]


def _ended(
    group: _Group, monitor: BatchMonitor, converged: np.ndarray
) -> dict[int, Solution]:
    """Return the solutions of the entries of a group that are not running any more.

    ``converged`` are the entries that have converged in this iteration.
    """
    solutions, data = {}, group.data
    for i in np.flatnonzero(~np.isin(group.entries, monitor.running)).tolist():
        one, entry = np.array([i]), int(group.entries[i])
        solutions[entry] = Solution(
            take_batch(replace(group.factors, tracked=NOTHING_TRACKED), one),
            dict(zip(RECORDED, monitor.history_of(entry), strict=True)),
            bool(entry in converged),
            None if data.missing is None else data.take(one).samples[0, ...],
        )
    return solutions


def optimal_factors(
    data: Data,
    coefficients: Array,
    tracked: TrackedPair = NOTHING_TRACKED,
    workers: Workers = ALONE,
) -> Factors:
    """Return V with U at its optimum, Eq. (update_u), and the residual Grams."""
    centroids = update_centroids(data.samples, coefficients, workers)
    residuals = both_residuals(data.sides, coefficients, centroids)
    return Factors(coefficients, centroids, residuals, tracked)


def iterate(
    data: Data,
    factors: Factors,
    weights: Weights,
    options: SolverOptions,
    workers: Workers = ALONE,
) -> tuple[State, Data]:
    """Run lines 4 to 6 of Algorithm 1: P and Q, their graphs, then V and U.

    Missing entries are filled before the step of U: ``residual_gram`` needs U to be at
    its optimum for the samples that are returned. The workers divide the two sides.
    """
    (left, *ours), (right, *theirs) = workers.map(
        partial(_learn_side, weights=weights, options=options, roots=data.roots),
        data.sides,
        factors.residuals,
        factors.tracked,
        both_ways(factors.centroids),
        options.n_directions,
    )
    products, tracked = zip(ours, theirs, strict=True)
    # Line 6
    coefficients = update_coefficients(factors.coefficients, products, weights, workers)
    coefficients, centroids = hold_scale(
        coefficients, factors.centroids, weights, data.roots
    )
    data = data.refilled(
        (coefficients, centroids),
        (left.projection, right.projection),
        weights["energy_weight"],
    )
    after = optimal_factors(data, coefficients, tracked, workers)
    return State(**vars(after), left=left, right=right), data


def _learn_side(
    side: Side,
    residual: Array,
    before: TrackedLists | None,
    centroids: Array,
    r: int,
    *,
    weights: Weights,
    options: SolverOptions,
    roots: Array | None,
) -> tuple[SideState, Products, TrackedLists | None]:
    """Learn P and its graph; return them, and what the V step and the next one take."""
    # Line 4
    projection = update_projection(side, residual, weights, r)
    # Line 5
    projected = project_side(side, projection, before, options, roots)
    features, graph = projected.features, projected.graph
    centroid_features = project(centroids, projected.projection)
    products = side_products(features, centroid_features, graph)
    return SideState(side.outside(projection), graph), products, projected.tracked


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
