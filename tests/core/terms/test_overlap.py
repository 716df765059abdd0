"""The overlap of clusters: its formula, its step, its scale, and what it is for."""

import numpy as np
import problems
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold import TSNMF
from twofold.core.grams import both_sides
from twofold.core.prediction import Predictor, TrainingSide
from twofold.core.solver import solve
from twofold.core.state import SolverOptions
from twofold.core.terms.overlap import overlap
from twofold.core.updates import Products, hold_scale, update_coefficients


def literal_overlap(V):
    """The sum over samples and over pairs of different clusters."""
    n, k = V.shape
    total = 0.0
    for i in range(n):
        for j in range(k):
            for other in range(k):
                if other != j:
                    total += V[i, j] * V[i, other]
    return total


def with_overlap(weights, overlap_weight):
    """Weights (batch,) or (batch, 1, 1) with that of the overlap."""
    like = weights["energy_weight"]
    return weights | {"overlap_weight": np.zeros_like(like) + overlap_weight}


def test_the_overlap_is_the_sum_over_pairs_of_clusters():
    V = problems.positive((2, 7, 4))
    expected = [literal_overlap(run) for run in V]
    np.testing.assert_allclose(overlap(V), expected, rtol=1e-12)
    assert overlap(np.eye(4)[None, [0, 1, 1, 3]]) == 0  # one cluster for each sample


def step(problem, V, weight):
    parts = zip(problem.inner, problem.cross, problem.graphs, strict=True)
    sides = tuple(Products(*each) for each in parts)
    weights = with_overlap(problems.batched(graph=problem.graph_weight), weight)
    return update_coefficients(V, sides, weights)


def objective(problem, V, weight):
    rest = reference.objective_of_v(
        V[0],
        *(a[0] for a in problem.inner),
        *(b[0] for b in problem.cross),
        problem.graph_weight,
        *(problems.dense(graph) for graph in problem.graphs),
    )
    return rest + 2 * weight * literal_overlap(V[0])  # once for each side


@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(4, 20),
    k=st.integers(1, 6),
    d=st.integers(1, 8),
    graph_weight=st.floats(0, 100),
    weight=st.floats(0, 100),
    seed=st.integers(0, 10_000),
)
def test_the_v_step_never_raises_the_objective(n, k, d, graph_weight, weight, seed):
    problem = problems.v_step(n, k, d, graph_weight, seed)
    V = problem.coefficients
    for _ in range(3):
        before, V = objective(problem, V, weight), step(problem, V, weight)
        after = objective(problem, V, weight)
        # The objective's own rounding, which grows with its terms.
        size = (graph_weight + k * weight) * n * float((V**2).max())
        assert after <= before + 1e-11 * (abs(before) + size + 1)


def test_the_fixed_point_of_the_v_step_satisfies_kkt():
    problem = problems.v_step(n=12, k=3, d=5, graph_weight=0.3, seed=0)
    V, weight = problem.coefficients, 0.4
    for _ in range(20_000):
        V = step(problem, V, weight)
    slope, others = np.zeros_like(V[0]), np.ones((3, 3)) - np.eye(3)
    for A, B, graph in zip(problem.inner, problem.cross, problem.graphs, strict=True):
        W = problems.dense(graph)
        L = np.diag(W.sum(axis=1)) - W
        slope += V[0] @ (A[0] + weight * others) - B[0] + 0.3 * L @ V[0]
    scale = max(np.abs(B).max() for B in problem.cross)
    assert slope.min() > -1e-6 * scale  # dual feasibility
    assert np.abs(slope * V[0]).max() < 1e-6 * scale  # complementary slackness


def test_a_weight_of_zero_changes_no_bit():
    problem = problems.v_step(n=15, k=4, d=6, graph_weight=0.7, seed=3)
    parts = zip(problem.inner, problem.cross, problem.graphs, strict=True)
    sides = tuple(Products(*each) for each in parts)
    V, weights = problem.coefficients, {"graph_weight": np.full((1, 1, 1), 0.7)}
    without = update_coefficients(V, sides, weights)  # the overlap has no weight at all
    np.testing.assert_array_equal(step(problem, V, 0.0), without)
    U = problems.stack((1, 4, 1, 3, 5))
    held = hold_scale(V, U, with_overlap(problems.batched(), 0.0))
    np.testing.assert_array_equal(held[0], V)
    np.testing.assert_array_equal(held[1], U)


def test_the_scale_is_held_for_the_entries_that_have_a_weight():
    V, U = problems.positive((2, 20, 4)), problems.stack((2, 4, 1, 3, 5))
    weights = with_overlap(problems.batched(), np.array([0.0, 0.5]).reshape(2, 1, 1))
    held, centroids = hold_scale(V, U, weights)
    np.testing.assert_array_equal(held[0], V[0])
    np.testing.assert_allclose(np.linalg.norm(held[1], axis=0), np.sqrt(20 / 4))
    for run in range(2):
        before = np.tensordot(V[run], U[run], axes=1)
        np.testing.assert_allclose(np.tensordot(held[run], centroids[run], 1), before)
    # Three copies of every sample.
    roots = np.full((20, 1), np.sqrt(3))
    copies, _ = hold_scale(V * roots, U, weights, roots)
    np.testing.assert_allclose(copies[1] / roots, held[1])


def test_iterations_are_the_literal_ones():
    X, V = problems.stack((24, 1, 5, 6)), problems.positive((24, 3), seed=1)
    lambda_1, lambda_2, lambda_3 = 0.8, 0.5, 0.6
    options = SolverOptions((2, 3), 4, "binary", max_iter=6, tol=0.0)
    weights = with_overlap(problems.weights(lambda_1, lambda_2), lambda_3)
    [found] = solve(X, both_sides(X), V[None], weights, options)
    U = reference.update_u(X, V)
    for _ in range(6):
        P, Q = reference.update_p_q(X, U, V, (2, 3), lambda_1)
        projected = reference.project_right(X, P), reference.project_left(X, Q)
        W_P, W_Q = (
            reference.build_w(reference.vec_set(each), 4, "binary")
            for each in projected
        )
        A_B = reference.define_a_b(X, U, P, Q)
        V = literal_step(V, *A_B, lambda_2, W_P, W_Q, lambda_3)
        V = V / np.sqrt(np.sum(V**2, axis=0)) * np.sqrt(24 / 3)
        U = reference.update_u(X, V)
    state = P, Q, U, V, W_P, W_Q
    terms = reference.objective_terms(X, state, lambda_1, lambda_2)
    total = terms["total"] + lambda_3 * 2 * literal_overlap(V)
    np.testing.assert_allclose(found.state.coefficients[0], V, atol=1e-8)
    np.testing.assert_allclose(found.state.centroids[0], U, atol=1e-8)
    np.testing.assert_allclose(found.history["total"][-1], total, rtol=1e-8)


def literal_step(V, A_1, A_2, B_1, B_2, lambda_2, W_P, W_Q, lambda_3):
    """The step of V by the parts of its gradient, entry by entry."""
    plain = reference.update_v(V, A_1, A_2, B_1, B_2, lambda_2, W_P, W_Q)
    lower = reference.minus(B_1) + reference.minus(B_2)
    lower = lower + V @ (reference.plus(A_1) + reference.plus(A_2))
    lower = lower + lambda_2 * np.diag((W_P + W_Q).sum(axis=1)) @ V
    n, k = V.shape
    for i in range(n):
        for j in range(k):
            others = sum(V[i, other] for other in range(k) if other != j)
            share = lower[i, j] / (lower[i, j] + 2 * lambda_3 * others)
            plain[i, j] *= np.sqrt(share)
    return plain


def test_new_rows_minimise_their_overlap_too():
    rng = np.random.default_rng(0)
    trained, new = rng.normal(size=(20, 5)), rng.normal(size=(6, 5))
    centroids, V, weight = rng.normal(size=(3, 5)), problems.positive((20, 3)), 0.8
    side = TrainingSide(trained, centroids, np.full((1, 1), 2.0))
    weights = {"graph_weight": 0.5, "overlap_weight": weight}
    fitted = Predictor((side,), V, weights, "heat", 4)
    [edges] = fitted.edges((new,))
    placed = fitted.predict((new,), (edges,))

    def cost(v):
        pull = edges.sums(V)
        spread = edges.degree[:, 0] * np.sum(v**2, 1) - 2 * np.sum(v * pull, 1)
        overlaps = np.array([literal_overlap(row[None]) for row in v])
        residual = np.sum((new - v @ centroids) ** 2, axis=1)
        return residual + 0.5 * spread + weight * overlaps

    # The minimum may be a local one: small changes of single coefficients raise it.
    for j in range(3):
        for size in (-1e-3, 1e-3):
            other = placed.copy()
            other[:, j] = np.maximum(other[:, j] + size, 0)
            assert (cost(other) >= cost(placed) - 1e-12).all()


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    return load_digits(n_class=5).images[:300]


def fitted(images, weight, **options):
    options = {"tol": 1e-4, "max_iter": 300, "random_state": 0} | options
    return TSNMF(5, overlap_weight=weight, **options).fit(images)


def test_a_fit_to_the_end_has_one_cluster_for_each_sample(digits):
    shares = []
    for weight in (0.0, 1.0):
        V = fitted(digits, weight).coefficients_
        shares.append(np.mean(V.max(axis=1) / V.sum(axis=1)))
    assert shares[0] < 0.6
    assert shares[1] > 0.9


def test_the_unit_of_the_pixels_does_not_matter(digits):
    one, other = fitted(digits, 1.0), fitted(1e3 * digits, 1.0)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.coefficients_, other.coefficients_, atol=1e-8)


def test_new_samples_get_coefficients_like_those_of_the_fit(digits):
    model = fitted(digits, 1.0)
    placed = model.transform(digits)
    same = placed.argmax(axis=1) == model.coefficients_.argmax(axis=1)
    assert same.mean() > 0.98
    assert np.mean(placed.max(axis=1) / placed.sum(axis=1)) > 0.9


def test_missing_entries_and_copies_are_no_obstacle(digits):
    mask = problems.holes(digits.shape, 0.1)
    X = problems.pierced(digits, mask)
    model = fitted(np.concatenate([X, X[:50]]), 1.0, missing_values=np.nan)
    np.testing.assert_array_equal(model.labels_[:50], model.labels_[300:])
    V = model.coefficients_
    assert np.mean(V.max(axis=1) / V.sum(axis=1)) > 0.9
