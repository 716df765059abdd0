"""Semi-NMF and GNMF against literal ones, other libraries and what is proven."""

import baselines_reference as literal
import numpy as np
import problems
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.decomposition import NMF

from twofold.core.factorize import (
    GNMF,
    SEMI_NMF,
    factor_objective,
    factorize,
    nonnegative_centroids,
)
from twofold.core.grams import both_sides
from twofold.core.graphs.construction import build_graph
from twofold.core.missing.filling import Data
from twofold.core.solver import iterate, optimal_factors
from twofold.core.state import SolverOptions
from twofold.core.updates import side_products, update_centroids


def signed(n=30, d=8, seed=0):
    return problems.stack((n, 1, d, 1), seed).reshape(n, d)


def run(X, V, U, steps, n_iter, **options):
    return factorize(X, (V, U), steps, tol=-np.inf, max_iter=n_iter, **options)


def least_squares(X, V):
    return np.linalg.lstsq(V, X)[0]


def test_semi_nmf_is_the_literal_one():
    X, V = signed(), problems.positive((30, 4))
    found = run(X, V, least_squares(X, V), SEMI_NMF, 25)
    V, U, objectives = literal.semi_nmf(X, V, 25)
    np.testing.assert_allclose(found.coefficients, V, rtol=1e-9)
    np.testing.assert_allclose(found.centroids, U, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.history, objectives, rtol=1e-9)


@pytest.mark.parametrize("weight", [0.0, 0.3, 50.0])
def test_gnmf_is_the_literal_one(weight):
    X = problems.positive((25, 9))
    V, U = problems.positive((25, 3), seed=1), problems.positive((3, 9), seed=2)
    graph = build_graph(X[None], 4, "binary")
    found = run(X, V, U, GNMF, 25, graph=graph, graph_weight=weight)
    W = literal.binary_graph(X, 4)
    V, U, objectives = literal.gnmf(X, V, U, W, weight, 25)
    np.testing.assert_allclose(found.coefficients, V, rtol=1e-9)
    np.testing.assert_allclose(found.centroids, U, rtol=1e-9)
    np.testing.assert_allclose(found.history, objectives, rtol=1e-9)


def test_gnmf_without_weight_is_scikit_learns_multiplicative_nmf():
    X = problems.positive((40, 12))
    V, U = problems.positive((40, 5), seed=1), problems.positive((5, 12), seed=2)
    graph = build_graph(X[None], 5, "binary")
    ours = run(X, V, U, GNMF, 60, graph=graph, graph_weight=0.0)
    other = NMF(5, solver="mu", init="custom", tol=0, max_iter=60)
    theirs = other.fit_transform(X, W=V.copy(), H=U.copy())
    np.testing.assert_allclose(ours.coefficients, theirs, rtol=1e-9)
    np.testing.assert_allclose(ours.centroids, other.components_, rtol=1e-9)


def test_semi_nmf_is_the_factor_step_of_ts_nmf_with_all_directions():
    samples = problems.stack((30, 2, 4, 5))
    V = problems.positive((30, 3))
    none, all_ = problems.batched(0.0, 0.0), SolverOptions((4, 5), 4)
    data = Data(samples, both_sides(samples))
    factors = optimal_factors(data, V[None])
    state, _ = iterate(data, factors, none, all_)
    flat = samples.reshape(30, -1)
    found = run(flat, V, least_squares(flat, V), SEMI_NMF, 1)
    np.testing.assert_allclose(found.coefficients, state.coefficients[0], rtol=1e-10)
    np.testing.assert_allclose(
        found.centroids, state.centroids[0].reshape(3, -1), rtol=1e-9, atol=1e-10
    )


@settings(max_examples=60, deadline=None)
@example(n=5, k=5, d=4, weight=0.0, seed=4)  # an ill-conditioned V
@given(
    n=st.integers(3, 25),
    k=st.integers(1, 6),
    d=st.integers(1, 9),
    weight=st.floats(0, 1e3),
    seed=st.integers(0, 10_000),
)
def test_the_objectives_never_rise(n, k, d, weight, seed):
    rng = np.random.default_rng(seed)
    X, V = rng.normal(size=(n, d)), rng.uniform(0.01, 2, size=(n, k))
    U = update_centroids(X, V[None])[0]
    history = run(X, V, U, SEMI_NMF, 15).history
    assert (np.diff(history) <= 1e-10 * np.sum(X**2)).all()
    X = np.abs(X)
    graph = build_graph(X[None], 3, "heat")
    U = rng.uniform(0.01, 2, size=(k, d))
    history = run(X, V, U, GNMF, 15, graph=graph, graph_weight=weight).history
    assert (np.diff(history) <= 1e-10 * (history[0] + np.sum(X**2))).all()


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(3, 25),
    k=st.integers(1, 6),
    d=st.integers(1, 9),
    weight=st.floats(0, 1e3),
    share=st.floats(0, 1),
    seed=st.integers(0, 10_000),
)
def test_the_objectives_never_rise_with_missing_entries(n, k, d, weight, share, seed):
    rng = np.random.default_rng(seed)
    X, V = rng.normal(size=(n, d)), rng.uniform(0.01, 2, size=(n, k))
    missing = rng.uniform(size=(n, d)) < share
    U = update_centroids(X, V[None])[0]
    found = run(X, V, U, SEMI_NMF, 15, missing=missing)
    assert (np.diff(found.history) <= 1e-10 * np.sum(X**2)).all()
    X = np.abs(X)
    options = {"graph": build_graph(X[None], 3, "heat"), "graph_weight": weight}
    U = rng.uniform(0.01, 2, size=(k, d))
    found = run(X, V, U, GNMF, 15, missing=missing, **options)
    rounding = 1e-10 * (found.history[0] + np.sum(X**2))
    assert (np.diff(found.history) <= rounding).all()
    rest = (X - found.coefficients @ found.centroids)[~missing]
    assert np.sum(rest**2) <= found.history[-1] + rounding


def test_it_ends_where_the_observed_squares_are_least():
    X, V = signed(), problems.positive((30, 3))
    missing = np.random.default_rng(1).uniform(size=X.shape) < 0.1
    start = np.where(missing, 0, X)
    U = least_squares(start, V)
    found = run(start, V, U, SEMI_NMF, 4000, missing=missing)
    rest = (X - found.coefficients @ found.centroids)[~missing]
    assert np.isclose(found.history[-1], np.sum(rest**2))
    # U is that of the least observed squares, which is solved for by each column.
    for j, seen in enumerate(~missing.T):
        best = least_squares(X[seen, j], found.coefficients[seen])
        np.testing.assert_allclose(found.centroids[:, j], best, atol=1e-5)


def test_the_objective_is_that_of_the_residuals_and_the_graph():
    X, V, U = signed(), problems.positive((30, 4)), signed(4, 8, seed=3)
    graph = build_graph(X[None], 3, "binary")
    products = side_products(X, U[None], graph)
    W = literal.binary_graph(X, 3)
    expected = np.sum((X - V @ U) ** 2) + 0.7 * literal.smoothness(V, W)
    found = factor_objective(X, np.sum(X**2), (V[None], U[None]), products, 0.7)
    assert np.isclose(found, expected)


def test_the_objective_of_an_exact_product_is_no_rounding():
    V, U = problems.positive((30, 4)), signed(4, 8)
    X = V @ U + 1e-9 * signed()
    factors = V[None], U[None]
    found = factor_objective(X, np.sum(X**2), factors, side_products(X, U[None]), 0.0)
    assert np.isclose(found, np.sum((X - V @ U) ** 2), rtol=1e-6)


def test_a_fixed_point_of_the_u_step_satisfies_kkt():
    X, V = problems.positive((20, 6)), problems.positive((20, 3), seed=1)
    X[:, 4] = 1e-3  # so that some bound is active
    V[:, 2] = 2.0
    U = np.ones((1, 3, 6))
    for _ in range(20_000):
        U = nonnegative_centroids(X, V[None], U)
    gradient = V.T @ (V @ U[0] - X)
    assert (gradient > -1e-6).all()
    np.testing.assert_allclose(U[0] * gradient, 0, atol=1e-6)


def test_it_stops_where_the_tolerance_or_the_caller_says():
    X, V = signed(), problems.positive((30, 3))
    U, energy = least_squares(X, V), np.sum(X**2)
    found = factorize(X, (V, U), SEMI_NMF, tol=1e-3, max_iter=500)
    falls = -np.diff(found.history)
    assert found.converged
    assert falls[-1] <= 1e-3 * energy < falls[-2]
    found = factorize(X, (V, U), SEMI_NMF, tol=0, max_iter=4)
    assert not found.converged
    assert len(found.history) == 4
    halted = factorize(
        X, (V, U), SEMI_NMF, tol=0, max_iter=9, callback=lambda i, _: i == 3
    )
    assert len(halted.history) == 3


def test_the_tolerance_refers_to_the_energy_of_the_first_guess():
    X, V = signed(), problems.positive((30, 3))
    missing = np.random.default_rng(0).uniform(size=X.shape) < 0.3
    X[missing] = 30.0  # soon forgotten, while 1e-5 of it is much of the others
    U, allowed = least_squares(X, V), 1e-5 * np.sum(X**2)
    options = {"missing": missing, "tol": 1e-5, "max_iter": 5000}
    found = factorize(X, (V, U), SEMI_NMF, **options)
    falls = -np.diff(found.history)
    assert found.converged
    assert falls[-1] <= allowed < falls[-2]
    assert np.sum((found.coefficients @ found.centroids) ** 2) < 0.1 * np.sum(X**2)
