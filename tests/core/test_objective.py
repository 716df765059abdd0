import numpy as np
import problems

from twofold.core.grams import both_sides, projected_trace
from twofold.core.graphs.construction import build_graph
from twofold.core.missing.filling import Data
from twofold.core.solver import RECORDED, iterate, objective_terms, optimal_factors
from twofold.core.state import SolverOptions
from twofold.core.terms.smoothness import smoothness


def test_smoothness_is_the_sum_over_weighted_pairs():
    V = problems.positive((2, 20, 3))
    graph = build_graph(np.random.default_rng(0).normal(size=(2, 20, 4)), 4, "heat")
    for run in range(2):
        W = problems.dense(graph, run)
        differences = V[run][:, None] - V[run][None]
        pairs = 0.5 * np.sum(W * np.sum(differences**2, axis=2))
        np.testing.assert_allclose(smoothness(V, graph)[run], pairs)


def test_projected_trace_is_the_energy_after_projection():
    rows = np.random.default_rng(0).normal(size=(9, 5))
    P = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 2)))[0]
    kept = projected_trace(P[None], rows.T @ rows)
    np.testing.assert_allclose(kept, [np.linalg.norm(rows @ P) ** 2])


def test_the_total_weighs_energy_and_smoothness():
    samples = problems.stack((20, 1, 5, 4))
    data = Data(samples, both_sides(samples))
    weights = problems.batched([0.5, 2.0], [0.25, 0.0])
    start = optimal_factors(data, problems.positive((2, 20, 3)))
    state, data = iterate(data, start, weights, SolverOptions((2, 2)))
    found = dict(zip(RECORDED, objective_terms(data, state, weights), strict=True))
    expected = found["left_residual"] + found["right_residual"]
    expected = expected - [0.5, 2.0] * found["energy"]
    expected = expected + [0.25, 0.0] * found["smoothness"]
    np.testing.assert_allclose(found["total"], expected)
    P, Q = state.right.projection[0], state.left.projection[0]
    energy = np.sum((samples @ P) ** 2) + np.sum((Q.T @ samples) ** 2)
    np.testing.assert_allclose(found["energy"][0], energy)
