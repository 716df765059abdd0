import numpy as np
import problems

from twofold.core.graphs.construction import build_graph
from twofold.core.objective import projected_trace, smoothness, total


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
    assert total(1.0, 2.0, 4.0, 8.0, 0.5, 0.25) == 1 + 2 - 2 + 2
