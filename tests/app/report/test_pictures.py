"""Samples of every kind as pictures."""

import numpy as np
import pytest
from PIL import features

from twofold.app.report.pictures import (
    compressed_uri,
    data_uri,
    picture_of,
    reduced,
    shown_range,
    thumbnails_of,
)

GENERATOR = np.random.default_rng(0)


def noise(*shape):
    return GENERATOR.integers(0, 256, size=shape, dtype=np.uint8)


def test_grey_runs_from_black_at_low_to_white_at_high():
    sample = np.array([[2.0, 4.0], [3.0, 9.0], [-7.0, 2.5]])
    shown = picture_of(sample, 2, 4)
    expected = [[0, 255], [128, 255], [0, 64]]  # beyond the range it is clipped
    for channel in range(3):
        np.testing.assert_array_equal(shown[..., channel], expected)


def test_three_channels_are_colours_and_others_are_averaged():
    colours = noise(4, 5, 3)
    np.testing.assert_array_equal(picture_of(colours, 0, 255), colours)
    for channels in (1, 2, 4):
        sample = noise(4, 5, channels).astype(float)
        expected = np.rint(sample.mean(axis=2))
        found = picture_of(sample, 0, 255)
        np.testing.assert_array_equal(found, np.stack([expected] * 3, axis=2))


def test_a_flat_sample_is_shown_without_contrast():
    assert np.unique(picture_of(np.full((3, 4), 7.5), 7.5, 7.5)).size == 1


def test_the_shown_range_leaves_out_one_in_a_thousand():
    values = np.arange(10_000.0)
    values[0], values[-1] = -1e9, 1e9
    low, high = shown_range(values.reshape(100, 10, 10))
    assert (values < low).mean() == pytest.approx(0.001, abs=2e-4)
    assert (values > high).mean() == pytest.approx(0.001, abs=2e-4)


@pytest.mark.parametrize("length", [1, 5, 48, 700])
def test_a_vector_is_the_area_under_its_curve(length):
    vector = np.linspace(0, 1, length) if length > 1 else np.array([1.0])
    shown = picture_of(vector, 0, 1)
    dark = (shown[..., 0] < 128).sum(axis=0)
    side = shown.shape[0]
    assert shown.shape == (side, side, 3)
    expected = side * (np.linspace(0, 1, side) if length > 1 else np.ones(side))
    assert np.abs(dark - expected).max() <= 1
    assert (np.diff((shown[..., 0] < 128).astype(int), axis=0) >= 0).all()


@pytest.mark.parametrize("picture", [noise(5, 7, 3), noise(1, 1, 3)])
def test_pictures_in_a_page_are_exact(picture, pixels_of):
    np.testing.assert_array_equal(pixels_of(data_uri(picture)), picture)
    np.testing.assert_array_equal(pixels_of(compressed_uri(picture, None)), picture)


def test_lower_quality_is_smaller_and_still_alike(pixels_of):
    y, x = np.mgrid[:64, :64]
    smooth = np.stack([2 * x + y, 3 * y, 190 - x], axis=2).astype(np.uint8)
    rough = np.clip(smooth + noise(64, 64, 3) / 8.0, 0, 255).astype(np.uint8)
    sizes = [len(compressed_uri(rough, quality)) for quality in (90, 50, 10)]
    assert sizes[0] > sizes[1] > sizes[2]
    back = pixels_of(compressed_uri(smooth, 80)).astype(float)
    assert np.abs(back - smooth).mean() < 4


def test_without_webp_they_are_jpeg(monkeypatch, pixels_of):
    monkeypatch.setattr(features, "check", lambda name: name != "webp")
    flat = np.full((16, 16, 3), 90, dtype=np.uint8)
    for quality in (None, 40):
        uri = compressed_uri(flat, quality)
        assert uri.startswith("data:image/jpeg")
        assert np.abs(pixels_of(uri).astype(int) - 90).max() <= 2


def test_reduced_pixels_are_means():
    picture = noise(6, 8, 3)
    expected = picture.reshape(3, 2, 4, 2, 3).mean(axis=(1, 3))
    assert np.abs(reduced(picture, 2) - expected).max() <= 0.5
    np.testing.assert_array_equal(reduced(picture, 1), picture)


def test_small_samples_are_thumbnails_as_they_are():
    stack = noise(50, 4, 6).astype(float)
    stack[:, 0, :2] = 0, 255  # so that the range is known
    found, sizes = thumbnails_of(stack, 96)
    assert found.shape == (50, 6, 6, 3)
    assert sizes.tolist() == [[4, 6]] * 50
    np.testing.assert_array_equal(found[:, 1:5, :, 0], stack)
    assert not found[:, [0, 5]].any()  # above and below


def test_large_samples_become_small_ones_of_the_same_proportions():
    y, x = np.mgrid[:80, :40]
    stack = np.stack([x + y, x + 0 * y, 40 - x + y]).astype(float)
    found, sizes = thumbnails_of(stack, 20)
    assert found.shape == (3, 20, 20, 3)
    assert sizes.tolist() == [[20, 10]] * 3
    inside = found[:, :, 5:15, 0].astype(float)
    means = stack.reshape(3, 20, 4, 10, 4).mean(axis=(2, 4))
    for a, b in zip(inside, means, strict=True):
        assert np.corrcoef(a.ravel(), b.ravel())[0, 1] > 0.99


def test_one_range_for_all_so_that_brightness_can_be_compared():
    stack = np.stack([np.full((3, 3), value) for value in (0.0, 5.0, 10.0)])
    found, _ = thumbnails_of(stack, 96)
    assert found.mean(axis=(1, 2, 3)).round().tolist() == [0, 128, 255]


def test_a_few_wild_values_do_not_darken_the_rest():
    stack = np.random.default_rng(1).uniform(0, 1, size=(100, 10, 10))
    stack[0, 0, 0] = 1e9
    found, _ = thumbnails_of(stack, 96)
    assert found[1:].mean() == pytest.approx(127.5, abs=3)


def test_vectors_have_square_thumbnails():
    found, sizes = thumbnails_of(np.random.default_rng(0).normal(size=(4, 30)), 96)
    side = found.shape[1]
    assert found.shape == (4, side, side, 3)
    assert (sizes == side).all()
