"""Samples with weights against the same samples written out as often as they weigh."""

import numpy as np
import problems
import pytest
import reference

from twofold.core.grams import both_sides
from twofold.core.graphs.construction import build_graph
from twofold.core.solver import solve
from twofold.core.start import first_projections, starts
from twofold.core.state import SolverOptions

COUNTS = np.random.default_rng(5).integers(1, 6, size=18)
ROW = np.repeat(np.arange(18), COUNTS)  # the row of every sample that is written out
ROOTS = np.sqrt(COUNTS.astype(float))[:, None]
OPTIONS = SolverOptions((2, 3), n_neighbors=4, graph="heat", max_iter=8, tol=0.0)


@pytest.fixture(scope="module")
def samples():
    return problems.stack((18, 2, 5, 6))


def weighted(samples):
    return samples * ROOTS[..., None, None]


def written_out(samples, start, lambda_1, lambda_2, graph):
    """Algorithm 1 on all copies; the graph joins those whose originals it would join.

    Copies have equal rows of V in every iteration, since their originals have.
    """
    X, V = samples[ROW], start[ROW]
    pairs = np.ix_(ROW, ROW)
    U, objective = reference.update_u(X, V), []
    for _ in range(OPTIONS.max_iter):
        P, Q = reference.update_p_q(X, U, V, OPTIONS.n_directions, lambda_1)
        projected = (
            reference.project_right(samples, P),
            reference.project_left(samples, Q),
        )
        W_P, W_Q = (
            reference.build_w(reference.vec_set(each), 4, graph)[pairs]
            for each in projected
        )
        A_B = reference.define_a_b(X, U, P, Q)
        V = reference.update_v(V, *A_B, lambda_2, W_P, W_Q)
        U = reference.update_u(X, V)
        state = P, Q, U, V, W_P, W_Q
        terms = reference.objective_terms(X, state, lambda_1, lambda_2)
        objective.append(terms["total"])
    return state, objective


@pytest.mark.parametrize("graph", problems.GRAPHS)
@pytest.mark.parametrize("weights", [(0.5, 0.3), (1.5, 4.0)])
def test_a_weight_is_a_number_of_copies(samples, weights, graph):
    start = problems.positive((18, 3), seed=1)
    options = SolverOptions(**(vars(OPTIONS) | {"graph": graph}))
    [solution] = solve(
        weighted(samples),
        both_sides(weighted(samples)),
        (start * ROOTS)[None],
        problems.weights(*weights),
        options,
        roots=ROOTS,
    )
    (P, _, U, V, W_P, _), objective = written_out(samples, start, *weights, graph)
    state = solution.unweighted(ROOTS).state
    found = state.right.projection[0]
    np.testing.assert_allclose(found @ found.T, P @ P.T, atol=1e-8)
    np.testing.assert_allclose(state.centroids[0], U, atol=1e-8)
    np.testing.assert_allclose(state.coefficients[0][ROW], V, atol=1e-8)
    np.testing.assert_allclose(solution.history["total"], objective, rtol=1e-8)
    # The graph that labels are read from has every edge between two copies.
    members = np.eye(18)[ROW]
    counted = members.T @ W_P @ members
    np.testing.assert_allclose(problems.dense(state.right.graph), counted, atol=1e-8)


def test_missing_entries_are_filled_as_in_all_copies(samples):
    missing = problems.holes(samples.shape, 0.2)
    start = problems.positive((18, 3), seed=1)
    # No graph, which would join copies with copies.
    weights = problems.weights(0.7, 0.0)
    [ours] = solve(
        weighted(samples),
        both_sides(weighted(samples)),
        (start * ROOTS)[None],
        weights,
        OPTIONS,
        missing=missing,
        roots=ROOTS,
    )
    X = samples[ROW]
    copied = (X, both_sides(X), start[ROW][None], weights, OPTIONS)
    [theirs] = solve(*copied, missing=missing[ROW])
    filled = ours.unweighted(ROOTS).samples
    assert np.abs(filled - samples)[missing].max() > 0.1
    np.testing.assert_allclose(filled[ROW], theirs.samples, atol=1e-8)


def test_the_first_directions_and_k_means_count_the_copies(samples):
    weights = {name: float(w[0]) for name, w in problems.weights().items()}
    X = weighted(samples)
    ours = first_projections(X, both_sides(X), OPTIONS, weights, ROOTS)
    copied = samples[ROW]
    theirs = first_projections(copied, both_sides(copied), OPTIONS, weights)
    for one, other in zip(ours, theirs, strict=True):
        P, R = one.projection[0], other.projection[0]
        np.testing.assert_allclose(P @ P.T, R @ R.T, atol=1e-8)
    # One point of weight 50 among 20: two of three centers of plain K-means lie there.
    line = np.array([[0.0], [0.1], [10.0], [10.1], [11.0]])
    roots = np.sqrt([[1.0], [1.0], [1.0], [1.0], [50.0]])
    stack = (line * roots).reshape(5, 1, 1, 1)
    options = SolverOptions((1, 1), n_neighbors=1)
    [start] = starts(
        stack, both_sides(stack), 2, "k-means", options, weights, [0], roots
    )
    clusters = (start / roots).argmax(axis=1)
    assert len({*clusters[:2]}) == len({*clusters[2:]}) == 1
    assert clusters[0] != clusters[2]
    np.testing.assert_allclose(np.unique((start / roots).round(9)), [0.2, 1.2])


def test_the_laplacian_of_equal_rows_is_zero(samples):
    features = samples.reshape(1, 18, -1) * ROOTS
    graph = build_graph(features, 4, "heat", ROOTS)
    equal = np.ones((1, 18, 1)) * ROOTS
    np.testing.assert_allclose(graph.laplacian(equal), 0, atol=1e-12)
    assert np.abs(build_graph(features, 4, "heat").laplacian(equal)).max() > 0.1
