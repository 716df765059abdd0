import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from twofold.core import arrays
from twofold.core.neighbors import exact as search
from twofold.core.neighbors import products
from twofold.core.neighbors.products import largest_products


def test_neighbours_of_new_points_are_the_nearest():
    rng = np.random.default_rng(0)
    features, queries = rng.normal(size=(2, 30, 4)), rng.normal(size=(2, 7, 4))
    squared, neighbors = search.nearest(features, 3, queries)
    for i in range(2):
        distances = cdist(queries[i], features[i], "sqeuclidean")
        np.testing.assert_array_equal(neighbors[i], distances.argsort(axis=1)[:, :3])
        np.testing.assert_allclose(squared[i], np.sort(distances, axis=1)[:, :3])


@pytest.mark.torch
@pytest.mark.parametrize("with_queries", [False, True])
def test_torch_finds_the_same_neighbours_block_by_block(monkeypatch, with_queries):
    torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    rng = np.random.default_rng(0)
    features, queries = rng.normal(size=(2, 30, 4)), rng.normal(size=(2, 7, 4))
    queries = queries if with_queries else None
    entries = dict.fromkeys(search._BLOCK_ENTRIES, 2 * 30 * 3)  # three rows at once
    monkeypatch.setattr(search, "_BLOCK_ENTRIES", entries)
    ours = search.nearest(features, 3, queries)
    theirs = search.nearest(
        torch.asarray(features), 3, None if queries is None else torch.asarray(queries)
    )
    np.testing.assert_allclose(ours[0], theirs[0].numpy())
    np.testing.assert_array_equal(ours[1], theirs[1].numpy())


@pytest.mark.parametrize("with_queries", [False, True])
def test_points_at_equal_distance_are_listed_by_index(with_queries):
    """A small lattice, rotated so that rounding errors would break the ties."""
    rng = np.random.default_rng(0)
    lattice = rng.integers(0, 3, size=(1, 200, 3))  # ties of up to 40 points
    targets = rng.integers(0, 3, size=(1, 9, 3)) if with_queries else lattice
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    queries = targets @ rotation if with_queries else None
    squared, neighbors = search.nearest(lattice @ rotation, 4, queries)
    exact = ((targets[0][:, None] - lattice[0]) ** 2).sum(axis=-1)
    if not with_queries:
        np.fill_diagonal(exact, 1000)
    for row, found, lengths in zip(exact, neighbors[0], squared[0], strict=True):
        expected = np.argsort(row, kind="stable")[:4]
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(lengths, row[expected], atol=1e-12)


@pytest.mark.parametrize("find", [search.nearest, largest_products])
@pytest.mark.parametrize("with_queries", [False, True])
def test_only_rows_with_ties_are_searched_again(monkeypatch, find, with_queries):
    """Here those of points of zeros, which are as near to each other, and far."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1, 515, 5))
    points[:, ::20] = 0
    queries = points[:, 5:80] if with_queries else None
    sizes, real = [], search.smallest_values

    def counted(values, excluded, count):
        sizes.append(values.shape[1])
        return real(values, excluded, count)

    for module in (search, products):
        monkeypatch.setattr(module, "smallest_values", counted)
    _, neighbors = find(points, 4, queries)
    rows = points[0] if queries is None else queries[0]
    blank = np.flatnonzero((rows == 0).all(axis=1))
    others = np.flatnonzero((rows != 0).any(axis=1))
    assert len(rows) < sum(sizes) <= len(rows) + 2 * len(blank)
    if find is search.nearest:
        exact = cdist(rows, points[0])
    else:
        exact = -np.abs(rows @ points[0].T)
    if queries is None:
        np.fill_diagonal(exact, np.inf)
    expected = exact.argsort(axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(neighbors[0, blank], expected[blank])
    np.testing.assert_array_equal(neighbors[0, others], expected[others])


@settings(max_examples=100, deadline=None)
@given(
    n=st.integers(2, 300),
    m=st.integers(1, 9),
    d=st.integers(1, 40),
    count=st.integers(1, 30),
    exponent=st.integers(-100, 100),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 10_000),
)
def test_the_bounds_of_the_filter_hold_for_exact_distances(
    n, m, d, count, exponent, dtype, seed
):
    rng, unit = np.random.default_rng(seed), 10.0 ** (exponent * (dtype == np.float64))
    points = (unit * rng.normal(size=(n, d))).astype(dtype)
    queries = (unit * rng.normal(size=(m, d))).astype(dtype)
    size = min(count, n)
    found, error = search.filter_candidates(points[None], queries[None], None, size)
    exact = cdist(queries.astype(float) / unit, points.astype(float) / unit) ** 2
    listed = found.indices[0]
    assert all(len(set(row)) == size for row in listed)
    lower = np.maximum(found.values - error, 0)[0] / unit**2
    assert (lower <= np.take_along_axis(exact, listed, axis=1) + 1e-12).all()
    rows = points / unit, queries / unit
    largest = max((row**2).sum(axis=1).max() for row in rows)
    slack = 2 * (3 * d + 16) * np.finfo(np.float32).eps * largest
    assert (lower >= np.take_along_axis(exact, listed, axis=1) - slack).all()
    np.put_along_axis(exact, listed, np.inf, axis=1)
    assert (exact.min(axis=1) >= found.bound[0] / unit**2 - 1e-12).all()


def test_single_precision_finds_nearly_the_same_neighbours():
    points = np.random.default_rng(0).normal(size=(1, 600, 20)) + 3
    exact = search.nearest(points, 5)[1]
    single = search.nearest(points.astype(np.float32), 5)[1]
    assert (
        np.mean([np.isin(a, b) for a, b in zip(single[0], exact[0], strict=True)])
        > 0.99
    )


@pytest.mark.torch
@pytest.mark.parametrize("setting", ["highest", "medium", None])
def test_reduced_precision_of_torch_is_not_used(monkeypatch, setting):
    torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")

    def precision():
        if setting is None:
            raise RuntimeError("mixed")
        return setting

    monkeypatch.setattr(torch, "get_float32_matmul_precision", precision)
    expected = torch.float32 if setting == "highest" else torch.float64
    assert arrays.filter_dtype(torch.ones(1)) == expected
    assert arrays.filter_dtype(np.ones(1)) == np.float32
