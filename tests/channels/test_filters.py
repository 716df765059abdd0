"""The filters are those of SciPy, and means and differences written out."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from twofold.channels.filters import central_difference, reduction, smoothing


def signal(size):
    return np.random.default_rng(size).normal(size=size)


def scipys_smoothing(values, deviation):
    radius = int(np.ceil(3 * deviation))
    return gaussian_filter1d(values, deviation, mode="reflect", radius=radius)


@pytest.mark.parametrize("deviation", [0.1, 0.7, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("size", [1, 2, 8, 25, 40])
def test_smoothing_is_scipys(size, deviation):
    values = signal(size)
    expected = scipys_smoothing(values, deviation)
    np.testing.assert_allclose(smoothing(size, deviation) @ values, expected, 0, 1e-14)


@pytest.mark.parametrize("deviation", [1.0, 2.0])
def test_smoothing_is_scipys_with_three_deviations(deviation):
    """SciPy rounds the radius; for whole deviations there is nothing to round."""
    values = signal(30)
    expected = gaussian_filter1d(values, deviation, mode="reflect", truncate=3)
    np.testing.assert_allclose(smoothing(30, deviation) @ values, expected, 0, 1e-14)


def test_of_an_odd_side_a_stride_keeps_every_second_entry():
    values = signal(25)
    found = smoothing(25, 2.0, 2) @ values
    np.testing.assert_allclose(found, scipys_smoothing(values, 2.0)[1::2], 0, 1e-14)


@pytest.mark.parametrize("size", [24, 48])
def test_of_an_even_side_a_stride_keeps_what_lies_between_two_entries(size):
    values, radius = signal(size), 6
    wide = np.pad(values, radius, mode="symmetric")  # entry i is at i + radius
    expected = []
    for center in np.arange(0.5, size, 2):
        near = [i for i in range(-radius, size + radius) if abs(i - center) <= radius]
        kernel = [np.exp(-((i - center) ** 2) / (2 * 2.0**2)) for i in near]
        total = sum(w * wide[i + radius] for w, i in zip(kernel, near, strict=True))
        expected.append(total / sum(kernel))
    found = smoothing(size, 2.0, 2) @ values
    np.testing.assert_allclose(found, expected, 0, 1e-14)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [8, 24, 25])
def test_smoothing_is_the_same_from_both_ends(size, stride):
    matrix = smoothing(size, 1.5, stride)
    np.testing.assert_allclose(matrix[::-1, ::-1], matrix, 0, 1e-15)


@pytest.mark.parametrize("size", [1, 5, 30])
@pytest.mark.parametrize("deviation", [0.7, 20.0])
def test_smoothing_keeps_constants(size, deviation):
    np.testing.assert_allclose(smoothing(size, deviation).sum(axis=1), 1, 1e-14)


@pytest.mark.parametrize(("size", "factor"), [(100, 1), (100, 2), (96, 4)])
def test_a_reduction_by_a_whole_factor_is_the_mean_of_boxes(size, factor):
    values = signal(size)
    found = reduction(size, size // factor) @ values
    boxes = values.reshape(-1, factor).mean(axis=1)
    np.testing.assert_allclose(found, boxes, 0, 1e-14)


@pytest.mark.parametrize(("size", "reduced"), [(49, 40), (100, 40), (61, 7), (50, 1)])
def test_other_reductions_are_means_of_a_staircase(size, reduced):
    """Every entry is repeated so often that all intervals have whole ends."""
    values = signal(size)
    staircase = np.repeat(values, reduced)
    boxes = staircase.reshape(reduced, size).mean(axis=1)
    np.testing.assert_allclose(reduction(size, reduced) @ values, boxes, 0, 1e-13)


@pytest.mark.parametrize("size", [1, 2, 9])
def test_central_differences_are_those_of_neighbours(size):
    values = signal(size)
    padded = np.concatenate([values[:1], values, values[-1:]])
    expected = [(padded[i + 2] - padded[i]) / 2 for i in range(size)]
    np.testing.assert_allclose(central_difference(size) @ values, expected, 0, 1e-15)
