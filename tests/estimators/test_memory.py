"""Reading X holds one working copy of it, and no more than blocks besides."""

import tracemalloc
from unittest import mock

import numpy as np
import pytest
from problems import images

from twofold import TSNMF
from twofold.estimators import prediction
from twofold.estimators.problem import read_problem

SHAPE = (6000, 28, 30)


def noise(dtype):
    return np.random.default_rng(0).normal(size=SHAPE).astype(dtype)


def copies(dtype):
    return np.repeat(noise(dtype)[:2], SHAPE[0] // 2, axis=0)


def on_disk(array, folder):
    """The array as a read-only memory map."""
    np.save(folder / "X.npy", array)
    return np.load(folder / "X.npy", mmap_mode="r")


def peak_of_reading(X):
    """The most memory that was held at once, in terms of X."""
    tracemalloc.start()
    try:
        read_problem(TSNMF(3), X)
        return tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [noise, copies])
def test_reading_copies_the_samples_once(make, dtype):
    assert peak_of_reading(make(dtype)) < 1.4


def test_reading_a_memory_map_copies_the_samples_once(tmp_path):
    X = on_disk(noise(np.float64), tmp_path)
    assert isinstance(X, np.memmap)
    assert peak_of_reading(X) < 1.4


def test_colour_is_copied_once():
    X = noise(np.float64).reshape(3000, 28, 20, 3)
    assert peak_of_reading(X) < 1.4


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_memory_map_is_fitted_as_the_array_is(dtype, tmp_path):
    X = images().astype(dtype)
    fitted = TSNMF(3, random_state=0).fit(X)
    mapped = TSNMF(3, random_state=0).fit(on_disk(X, tmp_path))
    np.testing.assert_array_equal(mapped.labels_, fitted.labels_)
    np.testing.assert_array_equal(mapped.components_, fitted.components_)
    assert mapped.components_.dtype == dtype


@pytest.mark.parametrize("graph", ["heat", "subspace_knn"])
def test_memory_of_predictions_does_not_grow_with_their_number(graph, tmp_path):
    """Of bytes in a file, whose conversion alone would take eight times as much."""
    model = TSNMF(3, graph=graph, random_state=0).fit(images())
    rows = np.random.default_rng(0).integers(0, 256, (16 * 200, 7, 6), np.uint8)
    X = on_disk(rows, tmp_path)
    with mock.patch.object(prediction, "_BLOCK_SAMPLES", 200):
        few, many = (peak_of_labels(model, part) for part in (X[:400], X))
    assert many < 1.1 * few + 8 * len(X)


def peak_of_labels(model, X):
    """The most memory that was held at once while X was predicted, in bytes."""
    tracemalloc.start()
    try:
        model.predict(X)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("graph", ["heat", "subspace", "subspace_knn"])
@pytest.mark.parametrize("missing", [False, True])
def test_blocks_are_predicted_as_the_whole_is(graph, missing):
    X = images()
    mask = np.zeros(X.shape, bool)
    mask[::7, 2] = missing
    model = TSNMF(3, graph=graph, random_state=0).fit(X, mask=mask)
    labels, codes = model.predict(X, mask=mask), model.transform(X, mask=mask)
    with mock.patch.object(prediction, "_BLOCK_SAMPLES", 7):
        np.testing.assert_array_equal(model.predict(X, mask=mask), labels)
        found = model.transform(X, mask=mask)
    np.testing.assert_allclose(found, codes, rtol=1e-9, atol=1e-12)


def test_errors_count_in_all_of_x():
    X = images()
    model = TSNMF(3, random_state=0).fit(X)
    X[[20, 40], 1] = np.nan
    with (
        mock.patch.object(prediction, "_BLOCK_SAMPLES", 7),
        pytest.raises(ValueError, match=r"got 12 NaN .* the first in sample 20;"),
    ):
        model.predict(X)
