"""Each block update solves the subproblem that it is for."""

import numpy as np
import problems
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.core.grams import Side
from twofold.core.updates import (
    Products,
    adjust,
    canonical_signs,
    unit_columns,
    update_centroids,
    update_coefficients,
    update_projection,
)


def step(problem, coefficients):
    sides = tuple(
        Products(*parts)
        for parts in zip(problem.inner, problem.cross, problem.graphs, strict=True)
    )
    weights = problems.batched(graph=problem.graph_weight)
    return update_coefficients(coefficients, sides, weights)


def objective(problem, coefficients):
    return reference.objective_of_v(
        coefficients[0],
        *(a[0] for a in problem.inner),
        *(b[0] for b in problem.cross),
        problem.graph_weight,
        *(problems.dense(graph) for graph in problem.graphs),
    )


def gradient(problem, coefficients):
    """The derivative of F(V), Eq. (fixed_point)."""
    V = coefficients[0]
    result = np.zeros_like(V)
    for A, B, graph in zip(problem.inner, problem.cross, problem.graphs, strict=True):
        W = problems.dense(graph)
        L = np.diag(W.sum(axis=1)) - W
        result += 2 * (V @ A[0] - B[0] + problem.graph_weight * L @ V)
    return result


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(4, 25),
    k=st.integers(1, 6),
    d=st.integers(1, 8),
    graph_weight=st.floats(0, 1e3),
    seed=st.integers(0, 10_000),
)
def test_the_v_step_never_raises_its_objective(n, k, d, graph_weight, seed):
    problem = problems.v_step(n, k, d, graph_weight, seed)
    V = problem.coefficients
    for _ in range(3):
        before, V = objective(problem, V), step(problem, V)
        after = objective(problem, V)
        # The objective's own rounding, which grows with its terms.
        size = abs(before) + graph_weight * n * float((V**2).max()) + 1
        assert after <= before + 1e-11 * size


def test_the_v_step_is_the_literal_one():
    problem = problems.v_step(n=15, k=4, d=6, graph_weight=0.7, seed=3)
    literal = reference.update_v(
        problem.coefficients[0],
        *(a[0] for a in problem.inner),
        *(b[0] for b in problem.cross),
        problem.graph_weight,
        *(problems.dense(graph) for graph in problem.graphs),
    )
    np.testing.assert_allclose(
        step(problem, problem.coefficients)[0], literal, rtol=1e-12
    )


def test_the_fixed_point_of_the_v_step_satisfies_kkt():
    problem = problems.v_step(n=12, k=3, d=5, graph_weight=0.3, seed=0)
    V = problem.coefficients
    for _ in range(4_000):
        V = step(problem, V)
    slope = gradient(problem, V)
    scale = np.abs(gradient(problem, np.zeros_like(V))).max()
    assert slope.min() > -1e-6 * scale  # dual feasibility
    assert np.abs(slope * V[0]).max() < 1e-6 * scale  # complementary slackness


def test_where_everything_is_zero_the_v_step_stays():
    problem = problems.v_step(n=6, k=2, d=3, graph_weight=0.0, seed=0)
    sides = tuple(
        Products(0 * A, 0 * B, graph)
        for A, B, graph in zip(
            problem.inner, problem.cross, problem.graphs, strict=True
        )
    )
    V = update_coefficients(problem.coefficients, sides, problems.batched(0.0, 0.0))
    np.testing.assert_array_equal(V, problem.coefficients)


@pytest.mark.parametrize("energy_weight", [0.0, 0.4, 5.0])
def test_no_orthonormal_matrix_beats_the_projection(energy_weight):
    rng = np.random.default_rng(0)
    d, r = 7, 3
    factors = rng.normal(size=(2, 20, d))
    residual, gram = (factor.T @ factor for factor in factors)
    weights = problems.batched(energy_weight)
    P = update_projection(Side(None, gram), residual[None], weights, r)[0]
    np.testing.assert_allclose(P.T @ P, np.eye(r), atol=1e-12)

    def cost(candidate):
        return np.trace(candidate.T @ (residual - energy_weight * gram) @ candidate)

    others = [np.linalg.qr(rng.normal(size=(d, r)))[0] for _ in range(500)]
    near = [np.linalg.qr(P + 0.01 * rng.normal(size=(d, r)))[0] for _ in range(500)]
    assert cost(P) < min(cost(other) for other in others + near)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_are_decided_by_energy(dtype):
    """Two eigenvalues are below the tie and one is above; three of the tied fit in."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(9, 9)))[0]
    gram = (basis * [9, 1, 2, 7, 5, 3, 8, 6, 4]) @ basis.T
    levels = np.array([-5, -3, 0, 0, 0, 0, 0, 0, 2.0])
    residual = (basis * levels) @ basis.T + gram  # so that levels are left
    noise = rng.normal(size=(2, 9, 9)) * np.finfo(dtype).eps
    residual = (residual + noise + noise.swapaxes(1, 2)).astype(dtype)
    weights = problems.batched([1.0, 1.0], dtype=dtype)
    P = update_projection(Side(None, gram.astype(dtype)), residual, weights, 5)
    chosen = basis[:, [0, 1, 6, 3, 7]]  # of the tied, those of energy 8, 7 and 6
    for run in P:
        np.testing.assert_allclose(
            run @ run.T, chosen @ chosen.T, atol=1e4 * np.finfo(dtype).eps
        )


def test_centroids_are_the_least_squares_solution():
    samples, V = problems.stack((30, 2, 4, 5)), problems.positive((30, 4))
    expected = np.linalg.lstsq(V, samples.reshape(30, -1), rcond=None)[0]
    U = update_centroids(samples, V[None])[0]
    np.testing.assert_allclose(U.reshape(4, -1), expected, rtol=1e-10, atol=1e-12)


def test_dependent_columns_still_give_a_least_squares_reconstruction():
    samples, V = problems.stack((30, 1, 4, 5)), problems.positive((30, 3))
    twice = np.concatenate([V, 2 * V[:, :1], np.zeros((30, 1))], axis=1)
    U = update_centroids(samples, twice[None])[0]
    best = np.linalg.lstsq(V, samples.reshape(30, -1), rcond=None)[0]
    np.testing.assert_allclose(twice @ U.reshape(5, -1), V @ best, atol=1e-10)


def test_centroids_do_not_mind_columns_of_very_different_size():
    samples, V = problems.stack((30, 1, 4, 5)), problems.positive((30, 3))
    sizes = np.array([1.0, 1e-120, 1e120])
    U = update_centroids(samples, (V * sizes)[None])[0]
    plain = update_centroids(samples, V[None])[0]
    np.testing.assert_allclose(U * sizes[:, None, None, None], plain, rtol=1e-10)


def test_adjusting_keeps_the_product_and_gives_unit_columns():
    V, U = problems.positive((20, 3)), problems.stack((3, 1, 4, 5))
    unit, scaled, _ = adjust(V[None], U[None])
    np.testing.assert_allclose(np.linalg.norm(unit[0], axis=0), 1, rtol=1e-14)
    before = np.tensordot(V, U, axes=1)
    np.testing.assert_allclose(np.tensordot(unit[0], scaled[0], axes=1), before)


def test_a_column_of_zeros_keeps_length_one():
    unit, lengths = unit_columns(np.zeros((1, 5, 2)))
    assert not unit.any()
    np.testing.assert_array_equal(lengths, np.ones((1, 1, 2)))


def test_canonical_signs_forget_the_sign_and_keep_the_subspace():
    P = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 3)))[0]
    flipped = P * np.array([-1, 1, -1])
    np.testing.assert_array_equal(canonical_signs(P), canonical_signs(flipped))
    np.testing.assert_allclose(canonical_signs(P) @ canonical_signs(P).T, P @ P.T)
