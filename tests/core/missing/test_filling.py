import numpy as np
import problems
import pytest
import reference

from twofold.core.grams import both_sides
from twofold.core.missing.filling import fill
from twofold.core.solver import solve
from twofold.core.state import SolverOptions

WEIGHTS = [0.0, 0.3, 1.0, 20.0]


def holes(shape, share=0.3, seed=0):
    return np.random.default_rng(seed).uniform(size=shape) < share


def part_of_samples(X, U, V, P, Q, lambda_1):
    """What depends on X of Eq. (obj), the energy lost in the place of that kept."""
    fit = reference.residuals(X, U, V)
    return (
        np.sum(reference.project_right(fit, P) ** 2)
        + np.sum(reference.project_left(fit, Q) ** 2)
        + lambda_1 * np.sum((X - reference.project_right(X, P)) ** 2)
        + lambda_1 * np.sum((X - reference.project_left(X, Q)) ** 2)
    )


def slopes(X, missing, *model):
    """The gradient at the missing entries; of a quadratic, differences are exact."""
    found = np.zeros_like(X)
    for place in np.argwhere(missing):
        step = np.zeros_like(X)
        step[tuple(place)] = 0.5
        found[tuple(place)] = part_of_samples(X + step, *model) - part_of_samples(
            X - step, *model
        )
    return found


def random_model(shape, k=3, r=(2, 2), seed=0):
    """U, V, P and Q that have nothing to do with each other."""
    n, c, h, w = shape
    rng = np.random.default_rng(seed)
    P, Q = (np.linalg.qr(rng.normal(size=s))[0] for s in [(w, r[1]), (h, r[0])])
    return rng.normal(size=(k, c, h, w)), problems.positive((n, k), seed), P, Q


def filled(X, missing, U, V, P, Q, lambda_1):
    weight = np.full((1, 1, 1), lambda_1)
    factors, projections = (V[None], U[None]), (Q[None], P[None])
    return fill(X, missing, factors, projections, weight)[0]


@pytest.mark.parametrize("lambda_1", WEIGHTS)
@pytest.mark.parametrize("shape", [(5, 1, 4, 5), (4, 2, 3, 4), (6, 1, 5, 1)])
def test_the_step_is_one_of_steepest_descent(shape, lambda_1):
    X, missing = problems.stack(shape), holes(shape)
    U, V, P, Q = random_model(shape, r=(2, min(2, shape[3])))
    slope = slopes(X, missing, U, V, P, Q, lambda_1)
    ours = filled(X, missing, U, V, P, Q, lambda_1)
    # The gradient changes by at most 4 max(1, lambda_1) times a change of X.
    expected = X - slope / (4 * max(1.0, lambda_1))
    np.testing.assert_allclose(ours, expected, atol=1e-10)


@pytest.mark.parametrize("lambda_1", WEIGHTS)
@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises_and_observed_entries_stay(lambda_1, seed):
    shape = (8, 1, 5, 6)
    X, missing = problems.stack(shape, seed), holes(shape, 0.5, seed)
    U, V, P, Q = random_model(shape, seed=seed)
    values = [part_of_samples(X, U, V, P, Q, lambda_1)]
    for _ in range(6):
        new = filled(X, missing, U, V, P, Q, lambda_1)
        np.testing.assert_array_equal(new[~missing], X[~missing])
        X = new
        values.append(part_of_samples(X, U, V, P, Q, lambda_1))
    assert (np.diff(values) <= 1e-12 * values[0]).all()
    assert values[1] < values[0]


def test_with_energy_weight_one_a_step_ends_at_the_minimum():
    shape = (5, 1, 4, 5)
    X, missing = problems.stack(shape), holes(shape)
    model = *random_model(shape), 1.0
    best = filled(X, missing, *model)
    np.testing.assert_allclose(slopes(best, missing, *model), 0, atol=1e-10)


def observed_part(X, missing, U, V, P, Q):
    """The least of F over all fillings with lambda_1 = 1, by solving for them."""
    model = U, V, P, Q, 1.0
    base = np.where(missing, 0.0, X)
    slope, places = slopes(base, missing, *model), np.argwhere(missing)
    # With lambda_1 = 1 the second derivatives are 4 on the diagonal and 0 beside it.
    best = base.copy()
    for place in map(tuple, places):
        best[place] = -slope[place] / 4
    return part_of_samples(best, *model)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_observed_never_rises_with_energy_weight_one(seed):
    shape, r, parts = (8, 1, 4, 5), (2, 2), []
    samples, missing = problems.stack(shape, seed), holes(shape, 0.4, seed)
    X, V = samples, problems.positive((8, 2), seed)
    U = reference.update_u(X, V)
    none = np.zeros((8, 8))
    for _ in range(6):
        P, Q = reference.update_p_q(X, U, V, r, 1.0)
        V = reference.update_v(V, *reference.define_a_b(X, U, P, Q), 0.0, none, none)
        X = filled(X, missing, U, V, P, Q, 1.0)
        parts.append(observed_part(X, missing, U, V, P, Q))
        assert parts[-1] == pytest.approx(part_of_samples(X, U, V, P, Q, 1.0))
        U = reference.update_u(X, V)
    assert (np.diff(parts) <= 1e-10 * parts[0]).all()


def literal_ts_nmf(X, missing, V, r, lambda_1, lambda_2, n_iter):
    """Algorithm 1 with a step of the missing entries, by differences, before U."""
    U, totals = reference.update_u(X, V), []
    for _ in range(n_iter):
        P, Q = reference.update_p_q(X, U, V, r, lambda_1)
        W_P = reference.build_w(
            reference.vec_set(reference.project_right(X, P)), 4, "heat"
        )
        W_Q = reference.build_w(
            reference.vec_set(reference.project_left(X, Q)), 4, "heat"
        )
        A_B = reference.define_a_b(X, U, P, Q)
        V = reference.update_v(V, *A_B, lambda_2, W_P, W_Q)
        slope = slopes(X, missing, U, V, P, Q, lambda_1)
        X = X - slope / (4 * max(1.0, lambda_1))
        U = reference.update_u(X, V)
        L = reference.laplacian(W_P) + reference.laplacian(W_Q)
        total = part_of_samples(X, U, V, P, Q, lambda_1)
        totals.append(total + lambda_2 * np.trace(V.T @ L @ V))
    return X, U, V, P @ P.T, Q @ Q.T, totals


@pytest.mark.parametrize("weights", [(1.0, 0.5), (0.3, 0.0), (5.0, 2.0)])
def test_iterations_agree_with_the_literal_algorithm(weights):
    shape, r = (12, 1, 5, 4), (2, 2)
    samples, missing = problems.stack(shape), holes(shape, 0.25)
    start = problems.positive((12, 3), seed=1)
    settings = SolverOptions(r, n_neighbors=4, graph="heat", max_iter=4, tol=0.0)
    [ours] = solve(
        samples,
        both_sides(samples),
        start[None],
        problems.weights(*weights),
        settings,
        missing=missing,
    )
    X, U, V, PP, QQ, totals = literal_ts_nmf(samples, missing, start, r, *weights, 4)
    state = ours.state
    P, Q = state.right.projection[0], state.left.projection[0]
    np.testing.assert_allclose(ours.samples, X, atol=1e-8)
    np.testing.assert_allclose(state.coefficients[0], V, atol=1e-8)
    np.testing.assert_allclose(state.centroids[0], U, atol=1e-8)
    np.testing.assert_allclose(P @ P.T, PP, atol=1e-8)
    np.testing.assert_allclose(Q @ Q.T, QQ, atol=1e-8)
    np.testing.assert_allclose(ours.history["total"], totals, rtol=1e-8)


@pytest.mark.parametrize("lambda_1", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("layout", problems.LAYOUTS)
def test_without_a_graph_no_iteration_raises_the_objective(layout, lambda_1):
    """The graphs are all that can raise it, and they weigh nothing here."""
    shape, directions = problems.LAYOUTS[layout]
    samples, missing = problems.stack(shape), holes(shape, 0.4)
    samples = np.where(missing, 0.0, samples)
    settings = SolverOptions(directions, n_neighbors=3, max_iter=30, tol=0.0)
    start = problems.positive((1, shape[0], 3))
    [found] = solve(
        samples,
        both_sides(samples),
        start,
        problems.weights(lambda_1, 0.0),
        settings,
        missing=missing,
    )
    totals = found.history["total"]
    assert (np.diff(totals) <= 1e-10 * abs(totals[0])).all()
    assert totals[-1] < 0.99 * totals[0]


def test_runs_fill_their_own_samples_as_if_alone():
    shape = (20, 1, 6, 5)
    samples, missing = problems.stack(shape), holes(shape)
    settings = SolverOptions((2, 2), n_neighbors=3, max_iter=12, tol=1e-3)
    start = np.stack([problems.positive((20, 3), seed) for seed in range(3)])
    energy, graph = [1.0, 0.1, 5.0], [0.5, 0.0, 2.0]

    def run(which):
        weights = problems.weights(np.take(energy, which), np.take(graph, which))
        sides = both_sides(samples)
        return solve(samples, sides, start[which], weights, settings, missing=missing)

    together = run([0, 1, 2])
    assert len({len(one.history["total"]) for one in together}) > 1
    for i, one in enumerate(together):
        [alone] = run([i])
        np.testing.assert_allclose(one.samples, alone.samples, atol=1e-10)
        np.testing.assert_allclose(
            one.history["total"], alone.history["total"], rtol=1e-10
        )


def test_a_long_side_with_holes_changes_nothing_but_the_cost():
    """A basis of what the filled samples span is found anew in every iteration."""
    shape, r = (6, 1, 40, 1), (4, 1)
    samples, missing = problems.stack(shape), holes(shape)
    start = problems.positive((6, 2))
    # With lambda_1 > 1 all directions that are kept are those of samples.
    settings = SolverOptions(r, n_neighbors=4, graph="heat", max_iter=3, tol=0.0)
    [ours] = solve(
        samples,
        both_sides(samples, r),
        start[None],
        problems.weights(2.0, 0.5),
        settings,
        missing=missing,
    )
    X, _, V, *_, totals = literal_ts_nmf(samples, missing, start, r, 2.0, 0.5, 3)
    np.testing.assert_allclose(ours.samples, X, atol=1e-8)
    np.testing.assert_allclose(ours.state.coefficients[0], V, atol=1e-8)
    np.testing.assert_allclose(ours.history["total"], totals, rtol=1e-8)
