"""Iterations of the solver, side by side with the samples that they project."""

import problems

from twofold.core.grams import both_sides, both_ways, project
from twofold.core.missing.filling import Data
from twofold.core.solver import iterate, optimal_factors
from twofold.core.state import SolverOptions


def solver_steps(kind, energy_weight, n, count):
    """Yield graph, projected samples (2, n, d) and lists, of each iteration and side.

    A batch of two runs to n samples, with four neighbours in graphs of a kind.
    """
    samples = problems.stack((n, 2, 6, 5))
    data = Data(samples, both_sides(samples))
    weights = problems.batched([energy_weight, 2 * energy_weight], [0.5, 1.0])
    options = SolverOptions((2, 3), n_neighbors=4, graph=kind)
    factors = optimal_factors(data, problems.positive((2, n, 3)))
    for _ in range(count):
        factors, data = iterate(data, factors, weights, options)
        sides = factors.left, factors.right
        for view, side, tracked in zip(
            both_ways(samples), sides, factors.tracked, strict=True
        ):
            yield side.graph, project(view, side.projection), tracked.lists
