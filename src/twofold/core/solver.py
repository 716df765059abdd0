"""Algorithm 1: the stopping rule and the loop over all runs at once."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

import numpy as np

from twofold.core.arrays import Array, like, take, to_numpy
from twofold.core.grams import Side, both_ways, project, residual_gram, sample_rows
from twofold.core.graph import neighbor_graph
from twofold.core.objective import TERMS, projected_trace, smoothness, total
from twofold.core.state import Settings, SideState, Solution, State
from twofold.core.updates import (
    learn_projection,
    side_products,
    update_centroids,
    update_coefficients,
)

Progress = Callable[[int, np.ndarray], bool]
Tree = TypeVar("Tree")


def solve(
    samples: Array,
    sides: tuple[Side, ...],
    start: Array,
    energy_weight: Array,
    graph_weight: Array,
    settings: Settings,
    progress: Progress | None = None,
) -> list[Solution]:
    """Algorithm 1 up to line 8, for many starts and weights over the same samples.

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
    factors = start, update_centroids(samples, start)
    going = np.arange(start.shape[0])
    history: list[np.ndarray] = []  # (terms, runs) of every iteration
    solutions: dict[int, Solution] = {}
    while going.size:
        state = iterate(samples, sides, factors, weights, settings)
        history.append(np.full((len(TERMS), start.shape[0]), np.nan))
        history[-1][:, going] = objective_terms(sides, state, weights)
        converged = _converged(history, settings.tol * energy)[going]
        halt = progress is not None and progress(len(history), history[-1][-1, going])
        stopped = converged | halt | (len(history) == settings.max_iter)
        if stopped.any():  # those runs are frozen where they are
            ended = take_runs(state, np.flatnonzero(stopped))
            runs = going[stopped]
            solutions |= _solutions(ended, runs, history, converged[stopped])
            kept = np.flatnonzero(~stopped)
            going, state = going[kept], take_runs(state, kept)
            weights = take_runs(weights[0], kept), take_runs(weights[1], kept)
        factors = state.coefficients, state.centroids
    return [solutions[run] for run in range(start.shape[0])]


def iterate(
    samples: Array,
    sides: tuple[Side, ...],
    factors: tuple[Array, Array],
    weights: tuple[Array, ...],
    settings: Settings,
) -> State:
    """Lines 4 to 6 of Algorithm 1: P and Q, their graphs, then V and U."""
    coefficients, centroids = factors
    energy_weight, graph_weight = weights
    states, products = [], []
    for side, view, r in zip(
        sides, both_ways(centroids), settings.n_directions, strict=True
    ):
        rows = sample_rows(view)
        # Line 4
        projection, features = learn_projection(
            side, coefficients, rows, energy_weight, r
        )
        # Line 5
        graph = neighbor_graph(features, settings.n_neighbors, settings.graph)
        states.append(SideState(projection, graph))
        products.append(side_products(features, project(rows, projection), graph))
    # Line 6
    coefficients = update_coefficients(coefficients, tuple(products), graph_weight)
    centroids = update_centroids(samples, coefficients)
    return State(coefficients, centroids, *states)


def objective_terms(
    sides: tuple[Side, ...], state: State, weights: tuple[Array, ...]
) -> np.ndarray:
    """The terms of Eq. (obj) in the order of TERMS: (terms, runs)."""
    residuals, energy, roughness = [], 0.0, 0.0
    learned = state.left, state.right
    views = both_ways(state.centroids)
    for side, own, view in zip(sides, learned, views, strict=True):
        residual = residual_gram(side.gram, state.coefficients, sample_rows(view))
        residuals.append(projected_trace(own.projection, residual))
        energy = energy + projected_trace(own.projection, side.gram)
        roughness = roughness + smoothness(state.coefficients, own.graph)
    terms = (*residuals, energy, roughness)
    flat_weights = (weight.reshape(-1) for weight in weights)
    return np.stack([to_numpy(t) for t in (*terms, total(*terms, *flat_weights))])


def take_runs(tree: Tree, runs: np.ndarray) -> Tree:
    """The given runs of an array, or of every array of a (nested) dataclass."""
    if is_dataclass(tree) and not isinstance(tree, type):
        taken = {f.name: take_runs(getattr(tree, f.name), runs) for f in fields(tree)}
        return replace(tree, **taken)
    return take(tree, runs)


def _solutions(
    state: State, runs: np.ndarray, history: list[np.ndarray], converged: np.ndarray
) -> dict[int, Solution]:
    """What is known of the runs that have ended, ``state`` being theirs alone."""
    record = np.stack(history)  # (n_iter, terms, runs)
    return {
        int(run): Solution(
            take_runs(state, np.array([i])),
            dict(zip(TERMS, record[:, :, run].T, strict=True)),
            bool(converged[i]),
        )
        for i, run in enumerate(runs)
    }


def _converged(history: list[np.ndarray], allowed: float) -> np.ndarray:
    """Which runs' totals changed by no more than ``allowed`` in the last iteration."""
    if len(history) < 2:
        return np.zeros(history[0].shape[1], dtype=bool)
    return np.abs(history[-1][-1] - history[-2][-1]) <= allowed
