"""The largest absolute inner products, and lists of them that stay exact."""

from unittest import mock

import numpy as np
import problems
import pytest
import subspace_reference
from hypothesis import given, settings
from hypothesis import strategies as st
from solver_steps import solver_steps

from twofold.core.neighbors import products, selection
from twofold.core.neighbors.products import largest_products, update_products


def absolute(points):
    """Return |GG'| (n, n) in double precision, -1 for a point with itself."""
    exact = np.abs(points.astype(float) @ points.astype(float).T)
    np.fill_diagonal(exact, -1)
    return exact


def brute_force(exact, q):
    """Return the q largest of every row, ties by index."""
    return np.argsort(-exact, axis=1, kind="stable")[:, :q]


def extra_candidates(count):
    """Patch the numbers of extra candidates, so that some rows are not certified."""
    return mock.patch.object(products, "EXTRA_CANDIDATES", (count, 512))


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(3, 90),
    q=st.integers(1, 6),
    spare=st.integers(1, 25),
    moves=st.lists(st.sampled_from([0, 0, 1, 3, 30]), max_size=6),
    seed=st.integers(0, 10_000),
)
def test_ties_copies_and_zeros_are_listed_as_by_brute_force(n, q, spare, moves, seed):
    """Points of a small lattice move, and the lattice is rotated."""
    rng = np.random.default_rng(seed)
    q, lattice, lists = min(q, n - 1), rng.integers(-2, 3, size=(n, 3)), None
    with extra_candidates(spare):
        for movers in (0, *moves):
            rows = rng.integers(0, n, size=movers)
            lattice[rows] += rng.integers(-1, 2, size=(movers, 3))
            rotation = np.linalg.qr(rng.normal(size=(3, 3)) + 9 * np.eye(3))[0]
            found, neighbors, lists = update_products(
                lists,
                lattice @ rotation,
                q,
            )
            exact = absolute(lattice)
            expected = brute_force(exact, q)
            np.testing.assert_array_equal(neighbors, expected)
            values = np.take_along_axis(exact, expected, axis=1)
            np.testing.assert_allclose(found, values, atol=1e-11)


@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(5, 150),
    q=st.integers(1, 4),
    spare=st.integers(1, 25),
    sizes=st.lists(st.sampled_from([0.0, 1e-9, 1e-3, 0.1, 1.0]), max_size=6),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 10_000),
)
def test_bounds_hold_however_the_points_move(n, q, spare, sizes, dtype, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0, 2, size=(n, 1))
    points, lists = (lengths * rng.normal(size=(n, 4))).astype(dtype), None
    with extra_candidates(spare):
        for size in (0.0, *sizes):
            points = points + (size * rng.normal(size=(n, 4))).astype(dtype)
            _, neighbors, lists = update_products(lists, points, q)
            exact = absolute(points)
            if dtype == np.float64:
                np.testing.assert_array_equal(neighbors, brute_force(exact, q))
            bounds, rounding = lists.bounds, 1e-3 if dtype == np.float32 else 1e-11
            listed = np.take_along_axis(exact, bounds.candidates, axis=1)
            assert (-listed >= bounds.lower - rounding).all()
            np.put_along_axis(exact, bounds.candidates, -np.inf, axis=1)
            assert (-exact.max(axis=1) >= bounds.radius - rounding).all() or (
                bounds.candidates.shape[1] == n - 1
            )


def test_points_that_hardly_move_are_not_searched():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 8))
    _, _, lists = update_products(None, points, 5)
    assert lists.searched == 300
    moved = points + 1e-3 * rng.normal(size=(300, 8))
    assert update_products(lists, moved, 5)[2].searched == 0
    other = rng.normal(size=(300, 8))
    assert update_products(lists, other, 5)[2].searched == 300


@pytest.mark.parametrize("short_row", [8, 10_000])
@pytest.mark.parametrize("with_queries", [False, True])
def test_the_single_precision_filter_changes_no_list(
    monkeypatch, short_row, with_queries
):
    """Close products, which single precision cannot tell apart, of long rows."""
    monkeypatch.setattr(selection, "SHORT_ROW", short_row)
    monkeypatch.setattr(selection, "_GROUPS_PER_CANDIDATE", 1)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(50, 6))
    points = centres[rng.integers(0, 50, 1500)] + 1e-8 * rng.normal(size=(1500, 6))
    queries = rng.normal(size=(1, 40, 6)) if with_queries else None
    found, neighbors = largest_products(points[None], 5, queries)
    exact = np.abs(queries[0] @ points.T) if with_queries else absolute(points)
    expected = brute_force(exact, 5)
    np.testing.assert_array_equal(neighbors[0], expected)
    values = np.take_along_axis(exact, expected, axis=1)
    np.testing.assert_allclose(found[0], values, rtol=1e-13)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 60),
    d=st.integers(1, 40),
    count=st.integers(1, 30),
    exponent=st.integers(-100, 100),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 10_000),
)
def test_the_bounds_of_the_filter_hold_for_exact_products(
    n, d, count, exponent, dtype, seed
):
    rng, unit = np.random.default_rng(seed), 10.0 ** (exponent * (dtype == np.float64))
    points, queries = (
        (unit * rng.uniform(0, 3, (m, 1)) * rng.normal(size=(m, d))).astype(dtype)
        for m in (n, 7)
    )
    size = min(count, n)
    found, error = products.filter_products(points[None], queries[None], None, size)
    exact = -np.abs((queries.astype(float) / unit) @ (points.astype(float).T / unit))
    listed, error = found.indices[0], error[0] / unit**2
    assert all(len(set(row)) == size for row in listed)
    of_listed = np.take_along_axis(exact, listed, axis=1)
    assert (np.abs(found.values[0] / unit**2 - of_listed) <= error + 1e-12).all()
    np.put_along_axis(exact, listed, np.inf, axis=1)
    assert (exact.min(axis=1) >= found.bound[0] / unit**2 - 1e-12).all()


@pytest.mark.parametrize("kind", problems.SUBSPACE)
@pytest.mark.parametrize("energy_weight", [0.01, 1.0])
def test_every_iteration_of_the_solver_has_the_graphs_of_brute_force(
    kind, energy_weight
):
    searched = 0
    with extra_candidates(12):
        for graph, features, lists in solver_steps(kind, energy_weight, 90, 15):
            searched += sum(each.searched for each in lists.products)
            for i in range(2):
                W = subspace_reference.build_w(features[i], 4, kind)
                np.testing.assert_allclose(problems.dense(graph, i), W, atol=1e-8)
    assert searched < 15 * 4 * 90  # some bounds remained valid
