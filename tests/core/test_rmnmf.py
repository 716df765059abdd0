"""RMNMF against the literal one, and its constraints."""

import baselines_reference as literal
import numpy as np
import problems
import pytest

from twofold.core.graphs.construction import build_graph
from twofold.core.prediction import Predictor, TrainingSide
from twofold.core.rmnmf import (
    nearest_feasible,
    polar_factor,
    predict_single_coefficients,
    robust_centroids,
    robust_factors,
)


def problem(n=30, d=8, k=3):
    X = problems.stack((n, 1, d, 1)).reshape(n, d)
    graph = build_graph(X[None], 4, "binary")
    return X, problems.positive((n, k)), graph, literal.binary_graph(X, 4)


@pytest.mark.parametrize(("n", "d"), [(30, 8), (12, 20)])
@pytest.mark.parametrize("weight", [0.0, 0.1, 1.0])
def test_it_takes_the_steps_of_the_literal_one(n, d, weight):
    """The penalty is such that E is nonzero; from 1e-5 it is zero at first."""
    X, V, graph, W = problem(n, d)
    found = robust_factors(
        X, V, graph, weight, tol=0, max_iter=30, penalty=0.5, growth=1.1
    )
    V, H, U, E = literal.rmnmf(X, V, W, weight, 30, rho=0.5)
    assert np.abs(E).max() > 0.1
    V_end = nearest_feasible(H)
    np.testing.assert_allclose(found.coefficients, V_end, atol=1e-9)
    U_end = robust_centroids(X, V_end)
    np.testing.assert_allclose(found.centroids, U_end, atol=1e-7)
    rough = weight * literal.smoothness(V_end, W)
    ended = np.linalg.norm(X - V_end @ U_end, axis=1).sum() + rough
    assert np.isclose(found.objective, ended)
    assert np.isclose(found.gap, np.abs(V - H).max() * np.sqrt(n / 3), rtol=1e-6)
    residuals = np.linalg.norm(X - V @ U, axis=1).sum()
    objective = residuals + weight * literal.smoothness(V, W)
    assert np.isclose(found.history[-1], objective)


def test_the_papers_settings_are_the_defaults():
    X, V, graph, W = problem()
    found = robust_factors(X, V, graph, 0.1, tol=0, max_iter=12)
    _, H, _, _ = literal.rmnmf(X, V, W, 0.1, 12, rho=1e-5, growth=1.1)
    # The small penalty amplifies rounding errors.
    np.testing.assert_allclose(found.coefficients, nearest_feasible(H), atol=1e-6)


@pytest.mark.parametrize("weight", [0.0, 0.01, 1.0])
def test_both_constraints_are_met(weight):
    X, V, graph, _ = problem(60, 10)
    found = robust_factors(X, V, graph, weight, tol=0.03, max_iter=500)
    assert found.converged
    assert found.gap <= 0.03
    assert (found.coefficients >= 0).all()
    overlap = found.coefficients.T @ found.coefficients
    np.testing.assert_allclose(overlap, np.eye(3), atol=1e-12)


def test_a_nearly_feasible_matrix_changes_little():
    V = nearest_feasible(problems.positive((20, 4)))
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-12)
    disturbed = V + 1e-4 * problems.positive((20, 4), seed=1)
    np.testing.assert_allclose(nearest_feasible(disturbed), V, atol=5e-4)


def test_a_column_that_is_the_largest_of_no_sample_gets_a_sample():
    nearly = np.array([[3.0, 2, 0], [3, 1, 0], [1, 0, 0]])
    V = nearest_feasible(nearly)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    assert V[0, 1] == 1
    V = nearest_feasible(np.zeros((4, 2)))
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)


def test_a_feasible_start_is_not_taken_for_convergence():
    """V and H agree at once, while X - V U is far from E."""
    X, _, graph, _ = problem(60, 10)
    wrong = nearest_feasible(problems.positive((60, 3)))
    found = robust_factors(X, wrong, graph, 0.0, tol=0.03, max_iter=500)
    error = np.linalg.norm(X - wrong @ robust_centroids(X, wrong), axis=1).sum()
    assert found.objective < 0.9 * error


def test_the_last_centroids_are_at_their_minimum():
    X, V, _, _ = problem(60, 10)
    V = nearest_feasible(V)
    U = robust_centroids(X, V)

    def cost(centroids):
        return np.linalg.norm(X - V @ centroids, axis=1).sum()

    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            assert cost(U + size * rng.normal(size=U.shape)) > cost(U) - 1e-6
    assert cost(U) < cost(V.T @ X)
    # The residual of a cluster of a single sample is zero.
    exact = np.eye(3)
    np.testing.assert_allclose(robust_centroids(X[:3], exact), X[:3])


@pytest.mark.parametrize("weight", [0.0, 0.2, 30.0])
def test_new_samples_get_the_best_single_coefficient(weight):
    rng = np.random.default_rng(0)
    X, U = problems.stack((20, 1, 5, 1)).reshape(20, 5), rng.normal(size=(3, 5))
    V = nearest_feasible(problems.positive((20, 3)))
    new = rng.normal(size=(6, 5))
    new[5], U[2] = 0, 0  # a sample and a component of zeros
    side = TrainingSide(X, U, np.ones((1, 1)))
    coefficients = predict_single_coefficients(
        new, Predictor((side,), V, {"graph_weight": weight}, "binary", 4)
    )
    near = np.argsort(((new[:, None] - X) ** 2).sum(-1), axis=1)[:, :4]

    def cost(i, v):
        drawn = np.sum((v - V[near[i]]) ** 2)
        return np.linalg.norm(new[i] - v @ U) + weight * drawn

    for i, v in enumerate(coefficients):
        assert np.count_nonzero(v) <= 1
        assert (v >= 0).all()
        tried = [a * unit for unit in np.eye(3) for a in np.linspace(0, 3, 3001)]
        assert cost(i, v) <= min(cost(i, other) for other in tried) + 1e-9


def test_no_orthonormal_matrix_is_nearer_than_the_polar_factor():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(9, 3))
    best = np.sum(polar_factor(M) * M)
    for _ in range(200):
        other = np.linalg.qr(rng.normal(size=(9, 3)))[0]
        assert np.sum(other * M) <= best
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert np.sum((polar_factor(M) @ turn) * M) <= best
