"""Alignment: known moves are found again, and each image is treated by itself."""

import numpy as np
import pytest
from scipy import ndimage

from twofold.channels import align as module
from twofold.channels.align import fit_alignment
from twofold.channels.moves import move

SIZE, MARGIN = 24, 6


def scene(seed, size=SIZE + 2 * MARGIN):
    """A smooth random picture, larger than an image by a margin on each side."""
    noise = np.random.default_rng(seed).normal(size=(size, size))
    return ndimage.gaussian_filter(noise, 2.5) * 20 + 10


def window(picture, shift=(0, 0)):
    """The image (h, w) of a picture whose content is shifted downwards and right."""
    top, left = MARGIN - shift[0], MARGIN - shift[1]
    return picture[top : top + SIZE, left : left + SIZE]


def crowd(seed=0, n=12):
    """Images (n, 1, h, w) of one picture, shifted and a little noisy; the shifts."""
    rng = np.random.default_rng(seed)
    shifts = rng.integers(-4, 5, size=(n, 2))
    images = np.stack([window(scene(seed), shift) for shift in shifts])
    return (images + 0.1 * rng.normal(size=images.shape))[:, None], shifts


def align(images, **limits):
    """How images are moved to agree with each other, and the moved images."""
    return fit_alignment(images, **limits).apply(images)


@pytest.mark.parametrize("seed", range(3))
def test_known_shifts_are_found_again(seed):
    images, shifts = crowd(seed)
    found, aligned = align(images)
    total = found.shifts + shifts
    np.testing.assert_array_equal(total, np.broadcast_to(total[0], total.shape))
    np.testing.assert_array_equal(found.turns, 0)
    inner = aligned[:, 0, 10:-10, 10:-10]
    assert np.abs(inner - inner.mean(axis=0)).max() < 0.5  # the noise alone


@pytest.mark.parametrize("shift", [(0, 0), (3, -2), (-5, 4), (1, 6)])
def test_a_new_image_is_moved_to_the_reference(shift):
    fitted = fit_alignment(np.repeat(window(scene(5))[None, None], 4, axis=0))
    found, _ = fitted.apply(window(scene(5), shift)[None, None])
    np.testing.assert_array_equal(found.shifts, [np.negative(shift)])


@pytest.mark.parametrize("angle", [-45.0, -22.5, 7.5, 30.0])
def test_known_turns_are_found_again(angle):
    picture = scene(2, 3 * SIZE)
    upright = picture[SIZE:-SIZE, SIZE:-SIZE]
    turned = ndimage.rotate(picture, angle, reshape=False, order=1)
    turned = turned[SIZE:-SIZE, SIZE:-SIZE]
    fitted = fit_alignment(np.repeat(upright[None, None], 4, axis=0), max_turn=45)
    found, aligned = fitted.apply(turned[None, None])
    np.testing.assert_allclose(found.turns, [-angle])
    np.testing.assert_array_equal(found.shifts, [[0, 0]])
    inner = slice(8, -8)
    difference = aligned[0, 0, inner, inner] - upright[inner, inner]
    assert np.abs(difference).max() < 0.2 * upright.std()  # interpolated twice


def test_large_images_are_compared_in_a_smaller_size():
    picture = ndimage.zoom(scene(3), 5, order=1)
    fitted = fit_alignment(np.repeat(picture[None, None, 30:150, 30:150], 3, axis=0))
    assert fitted.maps.shape == (3, module.LARGEST, module.LARGEST)
    found, _ = fitted.apply(picture[None, None, 20:140, 40:160])
    one = 120 / module.LARGEST  # pixel of the smaller size
    np.testing.assert_allclose(found.shifts, [[-10, 10]], atol=one)


@pytest.mark.parametrize("max_turn", [0, 45])
def test_an_image_does_not_depend_on_its_batch(max_turn):
    images, _ = crowd(n=module.CHUNK + 3)
    fitted = fit_alignment(images, max_turn=max_turn)
    found, aligned = fitted.apply(images)
    for i in (0, 7, module.CHUNK + 1):
        alone, image = fitted.apply(images[i : i + 1])
        np.testing.assert_array_equal(alone.shifts[0], found.shifts[i])
        np.testing.assert_array_equal(alone.turns[0], found.turns[i])
        np.testing.assert_array_equal(image[0], aligned[i])
    found, aligned = fitted.apply(images[:0])
    assert len(found.shifts) == len(found.turns) == len(aligned) == 0


@pytest.mark.parametrize("max_turn", [0, 45])
def test_the_order_of_the_images_does_not_matter(max_turn):
    images, _ = crowd(n=module.CHUNK + 3)
    order = np.random.default_rng(1).permutation(len(images))
    found, aligned = align(images, max_turn=max_turn)
    other, permuted = align(images[order], max_turn=max_turn)
    np.testing.assert_array_equal(other.shifts, found.shifts[order])
    np.testing.assert_array_equal(other.turns, found.turns[order])
    np.testing.assert_allclose(permuted, aligned[order], rtol=1e-12)


@pytest.mark.parametrize("max_turn", [0, 45])
@pytest.mark.parametrize("shape", [(5, 2, 9, 7), (2, 1, 1, 1), (3, 1, 1, 12)])
def test_constant_images_are_left_alone(shape, max_turn):
    images = np.broadcast_to(np.arange(shape[0])[:, None, None, None], shape)
    found, aligned = align(images, max_turn=max_turn)
    np.testing.assert_array_equal(found.shifts, 0)
    np.testing.assert_array_equal(found.turns, 0)
    np.testing.assert_array_equal(aligned, images)


def test_a_constant_image_among_others_is_left_alone():
    images, _ = crowd()
    images[4] = 3.0
    found, aligned = align(images, max_turn=45)
    np.testing.assert_array_equal(found.shifts[4], 0)
    np.testing.assert_array_equal(aligned[4], 3.0)


def test_light_does_not_matter():
    images, _ = crowd()
    gain = np.random.default_rng(1).uniform(0.3, 3, size=(len(images), 1, 1, 1))
    found, _ = align(images, max_turn=45)
    other, _ = align(gain * images + 5 * gain, max_turn=45)
    np.testing.assert_array_equal(other.shifts, found.shifts)
    np.testing.assert_array_equal(other.turns, found.turns)


def test_channels_move_together():
    images, _ = crowd()
    both = np.concatenate([images, 100 - 0.5 * images], axis=1)
    found, aligned = align(both)
    moved, inside, _ = move(both, found)
    inside = np.broadcast_to(inside[:, None], both.shape)
    np.testing.assert_array_equal(aligned[inside], moved[inside])


def test_what_comes_from_outside_continues_the_mean_image():
    images, _ = crowd(n=40)
    fitted = fit_alignment(images)
    found, aligned = fitted.apply(images)
    mean, low = fitted.mean[0], images.min()
    for image, shift, result in zip(images, found.shifts, aligned, strict=True):
        for y, x in np.ndindex(SIZE, SIZE):
            source = np.array([y, x]) - shift
            near = np.clip(source, 0, SIZE - 1)
            there = np.clip(near + shift, 0, SIZE - 1).astype(int)
            value = image[0, *near.astype(int)]
            if (near != source).any():
                ratio = (mean[y, x] - low) / (mean[*there] - low)
                value = low + (value - low) * np.clip(ratio, 0.5, 2)
            assert result[0, y, x] == pytest.approx(value)


def test_correlations_are_those_of_loops():
    rng = np.random.default_rng(0)
    maps, references = rng.normal(size=(2, 3, 5, 4)), rng.normal(size=(3, 3, 5, 4))
    reach = np.array([2, 1])
    scores = module.correlations(maps, references, reach)
    assert scores.shape == (2, 3, 5, 3)
    for i, r, dy, dx in np.ndindex(*scores.shape):
        total = 0.0
        for c, y, x in np.ndindex(3, 5, 4):
            there = y + dy - 2, x + dx - 1
            if 0 <= there[0] < 5 and 0 <= there[1] < 4:
                total += references[r, c, *there] * maps[i, c, y, x]
        assert scores[i, r, dy, dx] == pytest.approx(total)


def test_the_gain_is_that_of_the_correlation_with_the_mean():
    images, _ = crowd(n=module.CHUNK + 3)
    fitted = fit_alignment(images, rounds=0)
    maps = module.gradient_maps(images[:, 0]).reshape(len(images), -1)
    mean = maps.mean(axis=0) / np.linalg.norm(maps.mean(axis=0))
    np.testing.assert_allclose(fitted.maps.ravel(), mean, rtol=1e-4, atol=1e-6)
    assert fitted.before == fitted.after == pytest.approx(np.mean(maps @ mean))
    fitted = fit_alignment(images)
    assert fitted.after > fitted.before + 0.2
    again = fit_alignment(np.repeat(images[:1], 5, axis=0))
    assert again.before == again.after == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("uint8", "float32"), ("float32", "float32"), ("float64", "float64")],
)
def test_types(given, expected):
    images, _ = crowd()
    aligned = align((images - images.min()).astype(given))[1]
    assert aligned.dtype == expected


def test_other_shapes_are_refused():
    images, _ = crowd()
    with pytest.raises(ValueError, match=r"images must be of shape .*24, 24"):
        fit_alignment(images).apply(images[..., 1:])
