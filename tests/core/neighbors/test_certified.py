from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from solver_steps import solver_steps

from twofold.core.neighbors import certified, selection


def brute_force(squared, q):
    """Return the q smallest of every row of exact squares (n, n), ties by index."""
    squared = squared.astype(float)
    np.fill_diagonal(squared, np.inf)
    return np.argsort(squared, axis=1, kind="stable")[:, :q]


def exact_squares(lattice):
    """Return squared distances of integer points, without rounding."""
    return ((lattice[:, None] - lattice) ** 2).sum(axis=-1)


def update_lists(lists, points, q):
    return certified.update_lists(lists, points, q)


def extra_candidates(count):
    """Patch the numbers of extra candidates, so that some rows are not certified."""
    return mock.patch.object(certified, "EXTRA_CANDIDATES", (count, count + 40, 512))


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(3, 90),
    q=st.integers(1, 6),
    spare=st.integers(1, 25),
    moves=st.lists(st.sampled_from([0, 0, 1, 3, 30]), max_size=6),
    seed=st.integers(0, 10_000),
)
def test_ties_and_copies_are_listed_as_by_brute_force(n, q, spare, moves, seed):
    """Points of a small lattice move, and the lattice is rotated and translated."""
    rng = np.random.default_rng(seed)
    q, lattice, lists = min(q, n - 1), rng.integers(0, 4, size=(n, 3)), None
    with extra_candidates(spare):
        for movers in (0, *moves):
            rows = rng.integers(0, n, size=movers)
            lattice[rows] += rng.integers(-1, 2, size=(movers, 3))
            rotation = np.linalg.qr(rng.normal(size=(3, 3)) + 9 * np.eye(3))[0]
            points = (lattice + rng.normal(size=3)) @ rotation
            squared, neighbors, lists = update_lists(lists, points, q)
            exact = exact_squares(lattice)
            expected = brute_force(exact, q)
            np.testing.assert_array_equal(neighbors, expected)
            lengths = np.take_along_axis(exact, expected, axis=1)
            np.testing.assert_allclose(squared, lengths, atol=1e-11)


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
    points, lists = rng.normal(size=(n, 4)).astype(dtype), None
    with extra_candidates(spare):
        for size in (0.0, *sizes):
            points = points + (size * rng.normal(size=(n, 4))).astype(dtype)
            _, neighbors, lists = update_lists(lists, points, q)
            distances = cdist(points.astype(float), points.astype(float))
            if dtype == np.float64:
                np.testing.assert_array_equal(neighbors, brute_force(distances**2, q))
            bounds, rounding = lists.bounds, 1e-2 if dtype == np.float32 else 1e-6
            listed = np.take_along_axis(distances, bounds.candidates, axis=1)
            assert (listed >= bounds.lower - rounding).all()
            np.fill_diagonal(distances, np.inf)
            np.put_along_axis(distances, bounds.candidates, np.inf, axis=1)
            assert (distances.min(axis=1) >= bounds.radius - rounding).all() or (
                bounds.candidates.shape[1] == n - 1
            )


@pytest.mark.parametrize("short_row", [8, 10_000])
def test_long_rows_are_searched_by_groups_just_as_exactly(monkeypatch, short_row):
    """Rows with a cutoff from the minima of groups, and rows without."""
    monkeypatch.setattr(selection, "SHORT_ROW", short_row)
    monkeypatch.setattr(selection, "_GROUPS_PER_CANDIDATE", 1)
    rng, lists = np.random.default_rng(0), None
    points = rng.normal(size=(1500, 6))
    for _ in range(4):
        _, listed, lists = update_lists(lists, points, 5)
        distances = cdist(points, points)
        np.testing.assert_array_equal(listed, brute_force(distances, 5))
        np.fill_diagonal(distances, np.inf)
        np.put_along_axis(distances, lists.bounds.candidates, np.inf, axis=1)
        assert (distances.min(axis=1) >= lists.bounds.radius).all()
        assert np.isfinite(lists.bounds.radius).all()
        points = points + 0.05 * rng.normal(size=points.shape)


def test_the_number_of_neighbours_may_change():
    rng, lists = np.random.default_rng(0), None
    points = rng.normal(size=(300, 6))
    for q in (4, 12, 40, 3):
        points = points + 0.05 * rng.normal(size=points.shape)
        _, listed, lists = update_lists(lists, points, q)
        np.testing.assert_array_equal(listed, brute_force(cdist(points, points), q))


def test_points_that_hardly_move_are_not_searched():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 8))
    _, _, lists = update_lists(None, points, 5)
    assert lists.searched == 300
    moved = points + 1e-3 * rng.normal(size=(300, 8))
    assert update_lists(lists, moved, 5)[2].searched == 0
    shifted = moved + 100 * rng.normal(size=8)  # a translation of all points
    assert update_lists(lists, shifted, 5)[2].searched == 0
    assert update_lists(lists, rng.normal(size=(300, 8)), 5)[2].searched == 300


@pytest.mark.parametrize("kind", ["heat", "cosine"])
@pytest.mark.parametrize("energy_weight", [0.01, 1.0])
def test_every_iteration_of_the_solver_has_the_graphs_of_brute_force(
    kind, energy_weight
):
    searched = 0
    with extra_candidates(6):
        for graph, features, lists in solver_steps(kind, energy_weight, 120, 25):
            searched += sum(each.searched for each in lists.nearest)
            for i in range(2):
                points = features[i]
                if kind == "cosine":
                    points = points / np.linalg.norm(points, axis=1)[:, None]
                expected = brute_force(cdist(points, points, "sqeuclidean"), 4)
                np.testing.assert_array_equal(graph.neighbors[i], expected)
    assert searched < 25 * 4 * 120  # some bounds remained valid
