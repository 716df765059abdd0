import numpy as np
import problems
import pytest
import subspace_reference
from scipy.optimize import nnls

from twofold.core.grams import both_sides
from twofold.core.prediction import (
    Predictor,
    TrainingSide,
    nonnegative_quadratic,
    project_both,
    reconstruction_errors,
    training_sides,
)
from twofold.core.solver import solve
from twofold.core.state import SolverOptions


@pytest.mark.parametrize("k", [1, 2, 6, 15])
def test_coordinate_descent_finds_what_an_active_set_method_finds(k):
    rng = np.random.default_rng(k)
    basis, targets = rng.normal(size=(12, k)), rng.normal(size=(9, 12))
    ridge = rng.uniform(0, 2, size=(9, 1))
    start = rng.uniform(size=(9, k))
    ours = nonnegative_quadratic(basis.T @ basis, targets @ basis, ridge, start)
    for solution, target, extra in zip(ours, targets, ridge[:, 0], strict=True):
        # The ridge as k more equations with a right-hand side of zero.
        stacked = np.vstack([basis, np.sqrt(extra) * np.eye(k)])
        expected, _ = nnls(stacked, np.concatenate([target, np.zeros(k)]))
        if k <= 12 or extra > 0:
            np.testing.assert_allclose(solution, expected, atol=1e-7)


@pytest.mark.parametrize("kind", problems.GRAPHS)
def test_new_coefficients_minimise_their_part_of_the_objective(kind):
    samples = problems.stack((30, 1, 6, 5))
    settings = SolverOptions((2, 3), 4, kind, max_iter=5, tol=0.0)
    weight, weights = 0.7, problems.weights(1.0, 0.7)
    start = problems.positive((1, 30, 3))
    [solution] = solve(samples, both_sides(samples), start, weights, settings)
    state = solution.state
    sides, V = training_sides(samples, state), state.coefficients[0]
    fitted = Predictor(sides, V, {"graph_weight": weight}, kind, 4)
    new = problems.stack((4, 1, 6, 5), seed=9)

    projections = state.left.projection, state.right.projection
    projected = project_both(new, projections)
    placed = fitted.predict(projected, fitted.edges(projected))

    P, Q = state.right.projection[0], state.left.projection[0]
    U = state.centroids[0]
    features = [(new.swapaxes(-1, -2) @ Q).reshape(4, -1), (new @ P).reshape(4, -1)]
    centroids = [(U.swapaxes(-1, -2) @ Q).reshape(3, -1), (U @ P).reshape(3, -1)]
    edges = fitted.edges(features)

    def cost(v):
        total = np.zeros(len(v))
        for x, u, joined in zip(features, centroids, edges, strict=True):
            pull = joined.sums(fitted.coefficients)
            spread = joined.degree[:, 0] * np.sum(v**2, axis=1)
            spread -= 2 * np.sum(v * pull, axis=1)
            total += np.sum((x - v @ u) ** 2, axis=1) + weight * spread
        return total

    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(100):
            other = np.maximum(placed + size * rng.normal(size=placed.shape), 0)
            assert (cost(other) >= cost(placed) - 1e-10).all()


@pytest.mark.parametrize("kind", problems.GRAPHS)
def test_new_samples_are_joined_to_their_nearest_training_samples(kind):
    rng = np.random.default_rng(0)
    trained, new = rng.normal(size=(20, 5)), rng.normal(size=(6, 5))
    V, bandwidth = problems.positive((20, 3)), 3.7
    side = TrainingSide(trained, np.zeros((3, 5)), np.full((1, 1), bandwidth))
    fitted = Predictor((side,), V, {"graph_weight": 1.0}, kind, 4)
    [edges] = fitted.edges((new,))
    expected = new_edges(trained, new, kind, bandwidth)
    np.testing.assert_allclose(edges.sums(V), expected @ V, atol=1e-12)
    np.testing.assert_allclose(edges.degree[:, 0], expected.sum(axis=1), atol=1e-12)


def new_edges(trained, new, kind, bandwidth):
    """Weights (m, n) of edges to the four nearest, by the definition."""
    if kind in problems.SUBSPACE:
        return subspace_reference.new_edges(trained, 4, kind, new)
    edges = np.zeros((len(new), len(trained)))
    for row, x in zip(edges, new, strict=True):
        cosines = trained @ x / np.linalg.norm(trained, axis=1) / np.linalg.norm(x)
        squared = np.sum((trained - x) ** 2, axis=1)
        nearest = np.argsort(-cosines if kind == "cosine" else squared)[:4]
        row[nearest] = {
            "binary": np.ones(4),
            "heat": np.exp(-squared[nearest] / bandwidth),
            "cosine": np.maximum(cosines[nearest], 0),
        }[kind]
    return edges


def test_reconstruction_errors_are_the_norms_of_the_residuals():
    samples, V = problems.stack((5000, 1, 2, 3)), problems.positive((5000, 2))
    U = problems.stack((2, 1, 2, 3), seed=1)
    residuals = samples - np.tensordot(V, U, axes=1)
    np.testing.assert_allclose(
        reconstruction_errors(samples, V, U), np.sqrt(np.sum(residuals**2, (1, 2, 3)))
    )
