"""What a network sees of an image: its unit, and its square."""

import numpy as np
import pytest
from network_problems import photos

from twofold.channels.network.pictures import brightness, pictures


@pytest.mark.parametrize(
    ("low", "high", "white"),
    [
        (0, 1, 1),
        (0, 0.2, 1),
        (0, 1.3, 1),  # a filled pixel
        (-0.05, 1, 1),
        (0, 200, 255),
        (0, 32, 255),
        (0, 280, 255),
        (0, 60000, 65535),
        (10, 8200, 65535),
        (0, 3, 3),  # nearly black
        (0, 4095, 4095),
        (0, 0.0625, 0.0625),  # 12 bits in a file of 16
    ],
)
def test_the_unit_is_read_from_the_largest_entry(low, high, white):
    image = np.linspace(low, high, 64).reshape(1, 8, 8)
    found = brightness(image)
    np.testing.assert_allclose(found, np.clip(image / white, 0, 1), atol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    ("low", "high"), [(-1, 1), (-3, 5), (-9, -2), (0, 1e6), (-1e308, 1e308)]
)
def test_other_units_are_stretched(low, high):
    half = np.linspace(0, 1, 64)
    image = (low * (1 - half) + high * half).reshape(1, 8, 8)
    np.testing.assert_allclose(brightness(image).ravel(), half, atol=1e-6)


@pytest.mark.parametrize("value", [0, 1, -4, 1e9, -1e300])
def test_constant_images_stay_constant(value):
    found = brightness(np.full((3, 8, 8), value, float))
    assert np.isfinite(found).all()
    assert np.ptp(found) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_images_stay_as_they_are(dtype):
    stack = np.moveaxis(photos(2, (20, 20, 3)), -1, 1).astype(dtype)
    stack.flags.writeable = False
    np.testing.assert_array_equal(pictures(stack, 20, "crop"), stack)
    np.testing.assert_array_equal(pictures(stack, 20, "pad"), stack)


@pytest.mark.parametrize("turned", [False, True])
def test_nothing_is_stretched(turned):
    """A disc stays one: as wide as it is high, cropped or padded."""
    rows, columns = np.mgrid[:60, :120]
    disc = ((rows - 29.5) ** 2 + (columns - 59.5) ** 2 < 20**2).astype(float)
    disc = disc.T if turned else disc
    for frame, diameter in (("crop", 40 * 90 / 60), ("pad", 40 * 90 / 120)):
        found = pictures(disc[None, None], 90, frame)[0]
        np.testing.assert_array_equal(found[0], found[1])
        for axis in (0, 1):
            middle = np.take(found[0], 45, axis=axis)
            assert (middle > 0.75).sum() == pytest.approx(diameter, abs=1.5)
    ends = found[0][:5] if not turned else found[0][:, :5]
    np.testing.assert_array_equal(ends, 0.5)


def test_small_images_are_enlarged_and_large_ones_reduced_by_means():
    large = np.indices((64, 64)).sum(axis=0) % 2.0  # a chessboard
    found = pictures(large[None, None], 16, "crop")[0, 0, 2:-2, 2:-2]
    np.testing.assert_allclose(found, 0.5, atol=0.02)
    small = np.linspace(0, 1, 8)[:, None] * np.ones(8)
    found = pictures(small[None, None], 32, "crop")[0, 0]
    assert (np.diff(found, axis=0) >= -1e-6).all()
    np.testing.assert_allclose(found, found[:, :1] * np.ones(32), atol=1e-6)
