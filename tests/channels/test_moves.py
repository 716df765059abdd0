"""Images that are moved, against SciPy and literal loops."""

import numpy as np
import pytest
from scipy import ndimage

from twofold.channels.moves import Transforms, move, move_and_fill


def smooth(h=24, w=20, seed=0):
    noise = np.random.default_rng(seed).normal(size=(h, w))
    return ndimage.gaussian_filter(noise, 2) * 20 + 10


@pytest.mark.parametrize(("shift", "turn"), [((3, -2), 20.0), ((0, 0), -35.0)])
def test_moves_are_those_of_scipy(shift, turn):
    image = smooth()
    transforms = Transforms(np.array([shift], float), np.array([turn]))
    moved, _, _ = move(image[None, None], transforms)
    expected = ndimage.shift(image, shift, order=1, mode="nearest")
    expected = ndimage.rotate(expected, turn, reshape=False, order=1, mode="nearest")
    inner = slice(8, -8)  # where shifting first loses nothing that turning brings back
    np.testing.assert_allclose(moved[0, 0, inner, inner], expected[inner, inner])


def test_nothing_is_moved():
    images = np.stack([smooth(seed=i) for i in range(3)])[:, None]
    moved, inside, nearest = move(images, Transforms.none(3))
    np.testing.assert_allclose(moved, images)
    assert inside.all()
    for place in np.ndindex(24, 20):
        np.testing.assert_allclose(nearest[:, :, *place], np.array([place] * 3).T)


def test_what_is_inside():
    images = np.stack([smooth()] * 2)[:, None]
    transforms = Transforms(np.array([[5.0, 0], [0, -3]]), np.zeros(2))
    moved, inside, _ = move(images, transforms)
    assert not inside[0, :5].any()
    assert inside[0, 5:].all()
    assert inside[1, :, :-3].all()
    assert not inside[1, :, -3:].any()
    np.testing.assert_allclose(moved[0, 0, 5:], images[0, 0, :-5])
    np.testing.assert_allclose(moved[0, 0, :5], images[0, 0, :1].repeat(5, axis=0))


def test_channels_are_filled_by_their_own_means():
    images = np.stack([smooth(seed=i) for i in range(2)])[None]
    mean = np.stack([smooth(seed=i) for i in (5, 6)])
    darkest = np.array([-20.0, -30.0])
    transforms = Transforms(np.array([[4.0, 0]]), np.zeros(1))
    filled = move_and_fill(images, transforms, mean, darkest)
    for c, y, x in np.ndindex(2, 24, 20):
        expected = images[0, c, max(y - 4, 0), x]
        if y < 4:  # the first row of the image lies in row 4
            low = darkest[c]
            ratio = np.clip((mean[c, y, x] - low) / (mean[c, 4, x] - low), 0.5, 2)
            expected = low + (expected - low) * ratio
        assert filled[0, c, y, x] == pytest.approx(expected)


@pytest.mark.parametrize("darkest", [-1e150, 0.0, 1e150])
def test_any_numbers_fill_in_finite_ones(darkest):
    """The mean may be as dark as the darkest, or darker."""
    images, low = smooth()[None, None], np.array([darkest])
    transforms = Transforms(np.array([[4.0, -3.0]]), np.array([20.0]))
    for mean in (np.zeros((1, 24, 20)), smooth(seed=1)[None], 1e150 * smooth()[None]):
        assert np.isfinite(move_and_fill(images, transforms, mean, low)).all()
