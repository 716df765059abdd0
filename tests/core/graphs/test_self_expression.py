import tracemalloc

import numpy as np
import pytest
import subspace_reference
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.core.graphs.self_expression import (
    RIDGE,
    affinities,
    whitened,
    whitening_of,
)
from twofold.core.neighbors import exact as search


def features(runs, n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(runs, n, d))


def subspaces(n, d, seed=0):
    """Samples (1, n, d) of three planes."""
    rng = np.random.default_rng(seed)
    planes = rng.normal(size=(3, 2, d))
    places = rng.normal(size=(n, 1, 2))
    return (places @ planes[np.arange(n) % 3])[None, :, 0]


def turn(d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def dense(found, n):
    """A (m, n) of the weights and neighbours of the first run."""
    weights, neighbors = found
    A = np.zeros((weights.shape[1], n))
    np.put_along_axis(A, np.asarray(neighbors[0]), np.asarray(weights[0]), axis=1)
    return A


# Z

SIZES = {"more samples": (20, 6), "more entries": (6, 20), "as many": (8, 8)}


WAYS = {"directly": whitened, "by a matrix": lambda F: F @ whitening_of(F)}


@pytest.mark.parametrize("length", [1.0, 1e-3, 255.0])
@pytest.mark.parametrize(("n", "d"), SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_whitened_products_are_the_formula(way, n, d, length):
    F = length * features(2, n, d)
    G = way(F)
    assert G.shape == (2, n, min(n, d))
    for given_f, g in zip(F, G, strict=True):
        f = given_f / np.sqrt(np.mean(np.sum(given_f**2, axis=1)))
        Z = f @ np.linalg.inv(f.T @ f + RIDGE * np.eye(d)) @ f.T
        np.testing.assert_allclose(g @ g.T, Z, atol=1e-12)
        np.testing.assert_allclose(subspace_reference.written(given_f), Z, atol=1e-12)
        single = way(given_f[None].astype(np.float32))[0]
        assert single.dtype == np.float32
        np.testing.assert_allclose(single @ single.T, Z, atol=1e-5)


@pytest.mark.parametrize(("n", "d"), [(30, 12), (10, 25)])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_samples_that_span_few_directions(way, n, d):
    """More than half of the eigenvalues are zero, but for rounding."""
    F = subspaces(n, 5) @ features(1, 5, d, seed=1)
    G = way(F)[0]
    np.testing.assert_allclose(G @ G.T, subspace_reference.written(F[0]), atol=1e-9)


def test_the_ridge_is_that_of_the_reference():
    assert RIDGE == subspace_reference.RIDGE


# The largest of every row


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 40),
    d=st.integers(2, 30),
    q=st.integers(1, 12),
    m=st.integers(1, 5),
    seed=st.integers(0, 10_000),
)
def test_shares_equal_brute_force(n, d, q, m, seed):
    F, asked = features(1, n, d, seed), features(1, m, d, seed + 1)
    Z = subspace_reference.written(F[0])
    own = dense(affinities(F, min(q, n - 1)), n)
    expected = subspace_reference.affinities(Z, min(q, n - 1))
    np.testing.assert_allclose(own, expected, atol=1e-9)
    assert not np.diag(own).any()
    Z = subspace_reference.written(F[0], asked[0])
    others = dense(affinities(F, min(q, n), asked), n)
    expected = subspace_reference.affinities(Z, min(q, n), own=False)
    np.testing.assert_allclose(others, expected, atol=1e-9)


def test_new_samples_are_written_by_the_same_formula():
    F, asked = 7 * features(1, 25, 6), 7 * features(1, 4, 6, seed=1)
    scale = np.sqrt(np.mean(np.sum(F[0] ** 2, axis=1)))
    f, new = F[0] / scale, asked[0] / scale
    z = np.abs(new @ np.linalg.inv(f.T @ f + RIDGE * np.eye(6)) @ f.T)
    weights, neighbors = affinities(F, 25, asked)
    z = np.take_along_axis(z, neighbors[0], axis=1)
    np.testing.assert_allclose(weights[0], z / z.max(axis=1, keepdims=True))
    assert (np.diff(weights[0], axis=1) <= 0).all()
    np.testing.assert_array_equal(weights[0, :, 0], np.ones(4))


def test_samples_of_a_plane_share_in_each_other_alone():
    planes = np.arange(60) % 3
    A = dense(affinities(subspaces(60, 40), 8), 60)
    within = planes[:, None] == planes
    assert A[~within].sum() < 0.01 * A[within].sum()


@pytest.mark.parametrize("factor", [1e-150, 1 / 3.7, 1e150])
@pytest.mark.parametrize(("n", "d"), [(40, 9), (12, 30)])
def test_neither_units_nor_rotations_matter(n, d, factor):
    F, asked = subspaces(n, d), subspaces(7, d, seed=1)
    for queries in (None, asked):
        weights, neighbors = affinities(F, 5, queries)
        turned = None if queries is None else factor * queries @ turn(d)
        other_weights, other_neighbors = affinities(factor * F @ turn(d), 5, turned)
        np.testing.assert_array_equal(neighbors, other_neighbors)
        np.testing.assert_allclose(weights, other_weights, rtol=1e-7)


def test_several_runs_are_the_runs_alone():
    F, asked = features(3, 30, 4), features(3, 5, 4, seed=1)
    F[1] *= 1e6
    for queries in (None, asked):
        together = affinities(F, 6, queries)
        for run in range(3):
            some = None if queries is None else queries[run : run + 1]
            weights, neighbors = affinities(F[run : run + 1], 6, some)
            np.testing.assert_allclose(together[0][run], weights[0], rtol=1e-12)
            np.testing.assert_array_equal(together[1][run], neighbors[0])


# Ties and zeros


def test_of_identical_samples_the_first_are_listed():
    F = np.repeat(subspaces(3, 40), 9, axis=1)
    _, neighbors = affinities(F @ turn(40), 4)
    for i, listed in enumerate(neighbors[0]):
        copies = [j for j in range(9 * (i // 9), 9 * (i // 9) + 9) if j != i]
        np.testing.assert_array_equal(listed, copies[:4])


@pytest.mark.parametrize("with_queries", [False, True])
def test_of_equal_shares_the_first_are_listed(with_queries):
    """Points of a small lattice, turned so that rounding would decide."""
    rng = np.random.default_rng(0)
    lattice = rng.integers(-1, 2, size=(1, 150, 3)).astype(float)
    asked = rng.integers(-1, 2, size=(1, 9, 3)) if with_queries else None
    queries = None if asked is None else asked @ turn(3)
    found = dense(affinities(lattice @ turn(3), 5, queries), 150)
    Z = subspace_reference.written(lattice[0], None if asked is None else asked[0])
    expected = subspace_reference.affinities(Z, 5, own=not with_queries)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_zeros_have_no_share_in_anybody():
    F = features(1, 10, 4)
    F[0, 3] = 0
    weights, neighbors = affinities(F, 9)
    np.testing.assert_array_equal(weights[0, 3], np.zeros(9))
    np.testing.assert_array_equal(weights[neighbors == 3], np.zeros(9))
    assert (weights[0, :3, :8] > 0).all()
    weights, _ = affinities(F, 9, np.zeros((1, 2, 4)))
    np.testing.assert_array_equal(weights, np.zeros((1, 2, 9)))
    for n, d in ((6, 3), (3, 6)):
        weights, _ = affinities(np.zeros((1, n, d)), 2)
        np.testing.assert_array_equal(weights, np.zeros((1, n, 2)))


def test_who_is_at_right_angles_to_all_has_no_share_in_anybody():
    """What rounding leaves of its products is no share, however it is turned."""
    F = features(1, 12, 10)
    F[0, :, 6:], F[0, 11, :6] = 0, 0
    F[0, 11, 8] = 1
    for seed in range(5):
        weights, _ = affinities(F @ turn(10, seed), 4)
        np.testing.assert_array_equal(weights[0, 11], np.zeros(4))
        assert (weights[0, :11] > 0).all()


def test_a_long_sample_asked_along_does_not_matter():
    F, asked = features(1, 30, 5), features(1, 3, 5, seed=1)
    alone = affinities(F, 4, asked[:, :2])
    asked[:, 2] *= 1e13
    together = affinities(F, 4, asked)
    np.testing.assert_array_equal(together[1][:, :2], alone[1])
    np.testing.assert_allclose(together[0][:, :2], alone[0], rtol=1e-9)


# Precision, other arrays and memory


def test_single_precision_stays_and_lists_the_largest():
    """As many samples as make all shares small."""
    F = features(1, 6000, 6)
    weights, neighbors = affinities(F.astype(np.float32), 8)
    assert weights.dtype == np.float32
    G = (F @ whitening_of(F))[0]
    some = np.arange(0, 6000, 60)
    Z = np.abs(G[some] @ G.T)
    Z[np.arange(100), some] = 0
    listed = np.take_along_axis(Z, neighbors[0, some], axis=1)
    largest = np.sort(Z, axis=1)[:, :-9:-1]
    np.testing.assert_allclose(np.sort(listed)[:, ::-1], largest, rtol=1e-3)
    np.testing.assert_allclose(weights[0, some], listed / largest[:, :1], rtol=1e-3)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize(("n", "d"), [(30, 4), (12, 20)])
@pytest.mark.torch
def test_torch_finds_the_same_block_by_block(monkeypatch, n, d, asked):
    torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    F, queries = features(2, n, d), features(2, 7, d, seed=1) if asked else None
    ours = affinities(F, 3, queries)
    entries = dict.fromkeys(search._BLOCK_ENTRIES, 2 * n * 3)  # three rows at once
    monkeypatch.setattr(search, "_BLOCK_ENTRIES", entries)
    monkeypatch.setattr(
        search, "_MIN_BLOCK_ROWS", dict.fromkeys(search._MIN_BLOCK_ROWS, 1)
    )
    queries = None if queries is None else torch.asarray(queries)
    theirs = affinities(torch.asarray(F), 3, queries)
    np.testing.assert_allclose(ours[0], theirs[0].numpy(), atol=1e-12)
    np.testing.assert_array_equal(ours[1], theirs[1].numpy())


def test_no_array_of_all_pairs_is_held():
    F = features(1, 9000, 4)
    tracemalloc.start()
    affinities(F, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 9000**2  # not even a byte for each pair
