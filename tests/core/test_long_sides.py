import numpy as np
import problems
import pytest

from twofold.core.compact import compact, expand
from twofold.core.grams import both_sides
from twofold.core.solver import solve
from twofold.core.state import SolverOptions


@pytest.mark.parametrize(
    ("shape", "directions"),
    [((8, 1, 60, 1), (4, 1)), ((5, 1, 2, 40), (2, 6)), ((4, 2, 50, 3), (5, 2))],
)
def test_a_long_side_changes_nothing_but_the_cost(shape, directions):
    samples, start = problems.stack(shape), problems.positive((1, shape[0], 2))
    settings = SolverOptions(directions, n_neighbors=3, max_iter=10, tol=0.0)
    [plain] = solve(
        samples, both_sides(samples), start, problems.weights(0.3, 0.5), settings
    )
    short = both_sides(samples, directions)
    weights = problems.weights(0.3, 0.5)
    [compacted] = solve(samples, short, start, weights, settings)

    assert any(side.basis is not None for side in short)
    for name, values in plain.history.items():
        np.testing.assert_allclose(compacted.history[name], values, atol=1e-8)
    ours, theirs = compacted.state, plain.state
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, atol=1e-9)
    # Where all samples are zero the eigenvectors are free, so P P' is compared
    # on the samples.
    left, right = ours.left.projection[0], ours.right.projection[0]
    other_left, other_right = theirs.left.projection[0], theirs.right.projection[0]
    np.testing.assert_allclose(left.T @ left, np.eye(directions[0]), atol=1e-10)
    np.testing.assert_allclose(
        left @ (left.T @ samples), other_left @ (other_left.T @ samples), atol=1e-8
    )
    np.testing.assert_allclose(
        samples @ right @ right.T, samples @ other_right @ other_right.T, atol=1e-8
    )


@pytest.mark.parametrize(
    ("shape", "directions"),
    [((8, 1, 60, 1), (4, 1)), ((5, 1, 2, 40), (2, 6)), ((4, 2, 50, 3), (5, 2))],
)
def test_compact_samples_have_the_same_solution(shape, directions):
    samples, start = problems.stack(shape), problems.positive((1, shape[0], 2))
    settings = SolverOptions(directions, n_neighbors=3, max_iter=10, tol=0.0)
    sides = both_sides(samples, directions)
    short = compact(samples, sides)
    assert short.size < samples.size
    [plain] = solve(samples, sides, start, problems.weights(2.0, 0.5), settings)
    [found] = solve(
        short, both_sides(short), start, problems.weights(2.0, 0.5), settings
    )
    ours, theirs = expand(found, sides).state, plain.state
    np.testing.assert_allclose(ours.centroids, theirs.centroids, atol=1e-9)
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, atol=1e-9)
    for one, other in ((ours.left, theirs.left), (ours.right, theirs.right)):
        P, other_P = one.projection[0], other.projection[0]
        np.testing.assert_allclose(P @ P.T, other_P @ other_P.T, atol=1e-8)


def test_a_side_of_ten_thousand_shrinks_to_the_number_of_samples():
    left, right = both_sides(problems.stack((100, 1, 10_000, 1)), (5, 1))
    assert left.rows.shape == (100, 1, 1, 105)
    assert left.gram.shape == (105, 105)
    assert left.basis.shape == (10_000, 105)
    assert right.basis is None


def test_each_run_has_a_basis_of_its_own():
    stacks = np.stack([problems.stack((4, 1, 30, 2), seed=seed) for seed in range(3)])
    together, _ = both_sides(stacks, (3, 1))
    for run, samples in enumerate(stacks):
        alone, _ = both_sides(samples, (3, 1))
        np.testing.assert_allclose(together.basis[run], alone.basis)
        np.testing.assert_allclose(together.gram[run], alone.gram)
        rows = alone.rows @ alone.basis.T
        np.testing.assert_allclose(rows, samples.transpose(0, 1, 3, 2), atol=1e-12)


def test_ordinary_samples_stay_as_they_are():
    for side in both_sides(problems.stack((30, 1, 6, 5)), (2, 2)):
        assert side.basis is None
