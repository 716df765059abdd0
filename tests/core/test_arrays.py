import numpy as np
import pytest
from scipy.spatial.distance import cdist

from twofold.core import arrays


def test_neighbours_of_new_points_are_the_nearest():
    rng = np.random.default_rng(0)
    features, queries = rng.normal(size=(2, 30, 4)), rng.normal(size=(2, 7, 4))
    squared, neighbors = arrays.nearest(features, 3, queries)
    for run in range(2):
        distances = cdist(queries[run], features[run], "sqeuclidean")
        np.testing.assert_array_equal(neighbors[run], distances.argsort(axis=1)[:, :3])
        np.testing.assert_allclose(squared[run], np.sort(distances, axis=1)[:, :3])


@pytest.mark.parametrize("asked", [False, True])
def test_torch_finds_the_same_neighbours_block_by_block(monkeypatch, asked):
    torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    rng = np.random.default_rng(0)
    features, queries = rng.normal(size=(2, 30, 4)), rng.normal(size=(2, 7, 4))
    queries = queries if asked else None
    monkeypatch.setattr(arrays, "_BLOCK_ENTRIES", 2 * 30 * 3)  # three rows at once
    ours = arrays.nearest(features, 3, queries)
    theirs = arrays.nearest(
        torch.asarray(features), 3, None if queries is None else torch.asarray(queries)
    )
    np.testing.assert_allclose(ours[0], theirs[0].numpy())
    np.testing.assert_array_equal(ours[1], theirs[1].numpy())


def test_like_keeps_values_and_takes_the_dtype():
    taken = arrays.like([[1, 2]], np.zeros(1, dtype=np.float32))
    assert taken.dtype == np.float32
    np.testing.assert_array_equal(taken, [[1, 2]])


@pytest.mark.parametrize("with_queries", [False, True])
def test_of_equally_near_points_the_first_are_listed(with_queries):
    """Points of a small lattice, turned so that rounding would decide."""
    rng = np.random.default_rng(0)
    lattice = rng.integers(0, 3, size=(1, 200, 3))  # up to 40 are equally near
    asked = rng.integers(0, 3, size=(1, 9, 3)) if with_queries else lattice
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    queries = asked @ turn if with_queries else None
    squared, neighbors = arrays.nearest(lattice @ turn, 4, queries)
    exact = ((asked[0][:, None] - lattice[0]) ** 2).sum(axis=-1)
    if not with_queries:
        np.fill_diagonal(exact, 1000)
    for row, found, lengths in zip(exact, neighbors[0], squared[0], strict=True):
        expected = np.argsort(row, kind="stable")[:4]
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(lengths, row[expected], atol=1e-12)
