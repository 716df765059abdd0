"""The solver against Algorithm 1 written out literally."""

import numpy as np
import problems
import pytest
import reference

from twofold.core.grams import both_sides
from twofold.core.solver import solve
from twofold.core.state import SolverOptions
from twofold.core.updates import adjust


def compare(samples, start, directions, weights, graph):
    ours = solve(
        samples,
        both_sides(samples),
        start[None],
        problems.weights(*weights),
        SolverOptions(directions, n_neighbors=4, graph=graph, max_iter=10, tol=0.0),
    )[0]
    theirs = reference.ts_nmf(
        samples,
        start,
        n_directions=directions,
        lambda_1=weights[0],
        lambda_2=weights[1],
        n_neighbors=4,
        n_iter=10,
        graph=graph,
    )
    return ours, theirs


@pytest.mark.parametrize("graph", problems.GRAPHS)
@pytest.mark.parametrize("weights", [(0.5, 0.3), (0.0, 0.0), (3.0, 20.0)])
@pytest.mark.parametrize("layout", problems.LAYOUTS)
def test_ten_iterations_agree_with_the_literal_algorithm(layout, weights, graph):
    shape, directions = problems.LAYOUTS[layout]
    samples, start = problems.stack(shape), problems.positive((shape[0], 3), seed=1)
    ours, theirs = compare(samples, start, directions, weights, graph)
    state = ours.state
    P, Q = state.right.projection[0], state.left.projection[0]
    np.testing.assert_allclose(P @ P.T, theirs.P @ theirs.P.T, atol=1e-8)
    np.testing.assert_allclose(Q @ Q.T, theirs.Q @ theirs.Q.T, atol=1e-8)
    np.testing.assert_allclose(state.coefficients[0], theirs.V, atol=1e-8)
    np.testing.assert_allclose(state.centroids[0], theirs.U, atol=1e-8)
    np.testing.assert_allclose(problems.dense(state.right.graph), theirs.W_P, atol=1e-8)
    np.testing.assert_allclose(problems.dense(state.left.graph), theirs.W_Q, atol=1e-8)
    for name in theirs.objective[0]:
        values = ours.history[name]
        literal = [terms[name] for terms in theirs.objective]
        np.testing.assert_allclose(values, literal, rtol=1e-8, atol=1e-8)


def test_the_final_adjustment_agrees_with_the_literal_one():
    V, U = problems.positive((20, 3)), problems.stack((3, 2, 4, 5))
    ours_v, ours_u, lengths = adjust(V[None], U[None])
    theirs_u, theirs_v = reference.adjust(U, V)
    np.testing.assert_allclose(ours_v[0], theirs_v, rtol=1e-12)
    np.testing.assert_allclose(ours_u[0], theirs_u, rtol=1e-12)
    np.testing.assert_allclose(lengths[0, 0], np.linalg.norm(V, axis=0), rtol=1e-12)
