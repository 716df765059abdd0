import numpy as np
import problems
import pytest

from twofold.core.grams import both_sides
from twofold.core.solver import solve
from twofold.core.state import SolverOptions

SHAPE = (30, 1, 6, 5)
WEIGHTS = [(0.1, 0.0), (1.0, 1.0), (3.0, 0.2)]


@pytest.fixture(scope="module")
def samples():
    return problems.stack(SHAPE)


def run(samples, start, weights, **options):
    energy, graph = zip(*weights, strict=True)
    settings = SolverOptions((2, 3), n_neighbors=4, **options)
    return solve(
        samples, both_sides(samples), start, problems.weights(energy, graph), settings
    )


def test_a_batch_of_runs_equals_the_runs_alone(samples):
    start = problems.positive((3, 30, 3))
    together = run(samples, start, WEIGHTS, max_iter=40, tol=1e-4)
    for i, batched in enumerate(together):
        [alone] = run(
            samples, start[i : i + 1], WEIGHTS[i : i + 1], max_iter=40, tol=1e-4
        )
        assert len(batched.history["total"]) == len(alone.history["total"])
        np.testing.assert_allclose(
            batched.state.coefficients, alone.state.coefficients, rtol=1e-9
        )
        np.testing.assert_allclose(
            batched.history["total"], alone.history["total"], rtol=1e-9
        )


def test_runs_stop_one_by_one_where_the_rule_says(samples):
    start = problems.positive((3, 30, 3))
    solutions = run(samples, start, WEIGHTS, max_iter=500, tol=1e-4)
    allowed = 1e-4 * 2 * np.sum(samples**2)
    lengths = {len(solution.history["total"]) for solution in solutions}
    assert len(lengths) > 1
    for solution in solutions:
        changes = np.abs(np.diff(solution.history["total"]))
        assert solution.converged
        assert changes[-1] <= allowed
        assert (changes[:-1] > allowed).all()


def test_max_iter_bounds_a_run_that_does_not_converge(samples):
    [solution] = run(
        samples, problems.positive((1, 30, 3)), WEIGHTS[1:2], max_iter=7, tol=0.0
    )
    assert not solution.converged
    assert len(solution.history["total"]) == 7


def test_two_iterations_are_enough_to_stop(samples):
    [solution] = run(samples, problems.positive((1, 30, 3)), WEIGHTS[1:2], tol=100.0)
    assert solution.converged
    assert len(solution.history["total"]) == 2


def test_progress_sees_every_iteration_and_can_stop_all_runs(samples):
    seen = []

    def progress(iteration, objectives):
        seen.append((iteration, objectives.copy()))
        return iteration == 4

    solutions = solve(
        samples,
        both_sides(samples),
        problems.positive((2, 30, 3)),
        problems.weights([1.0, 2.0], [1.0, 1.0]),
        SolverOptions((2, 2), max_iter=50, tol=0.0),
        progress,
    )
    assert [iteration for iteration, _ in seen] == [1, 2, 3, 4]
    for i, solution in enumerate(solutions):
        totals = [objectives[i] for _, objectives in seen]
        np.testing.assert_array_equal(solution.history["total"], totals)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [0, 1])
def test_the_largest_weights_are_finite(samples, dtype, place):
    largest = float(np.finfo(dtype).max) ** 0.5
    weights = [1.0, 1.0]
    samples, start = samples.astype(dtype), problems.positive((1, 30, 3)).astype(dtype)
    weights[place] = 0.99 * largest
    [solution] = run(samples, start, [tuple(weights)], max_iter=5)
    assert np.isfinite(solution.history["total"]).all()


def test_the_samples_are_left_alone(samples):
    before = samples.copy()
    run(samples, problems.positive((1, 30, 3)), WEIGHTS[:1], max_iter=3)
    np.testing.assert_array_equal(samples, before)
