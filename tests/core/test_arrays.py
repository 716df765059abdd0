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
