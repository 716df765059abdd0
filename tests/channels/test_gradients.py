"""Maps of oriented gradients against the same written out pixel by pixel."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from twofold.channels import OrientedGradients

PARAMETERS = {
    "default": {},
    "fine": {"pooling": 1.0},
    "coarse": {"pooling": 3.0},
    "unsigned": {"signed": False, "n_orientations": 6},
    "as they are": {"normalize": False, "n_orientations": 5},
    "two": {"n_orientations": 2},
}


def pictures(n=5, shape=(12, 10), seed=0, dtype=np.float64):
    """Smooth images with noise."""
    rng = np.random.default_rng(seed)
    rough = rng.uniform(size=(n, *shape))
    smooth = gaussian_filter1d(gaussian_filter1d(rough, 1.5, axis=1), 1.5, axis=2)
    return (4 * smooth + 0.1 * rough).astype(dtype)


def smoothed(image, deviation):
    """One image (h, w), smoothed along both axes."""
    deviations = np.broadcast_to(deviation, 2)
    for axis, d in enumerate(deviations):
        radius = int(np.ceil(3 * d))
        image = gaussian_filter1d(image, d, axis=axis, mode="reflect", radius=radius)
    return image


def box_mean(image, height, width):
    """Means over boxes whose sides need not be whole pixels."""
    h, w = image.shape
    result = np.zeros((height, width))
    for i in range(height):
        for j in range(width):
            area = total = 0.0
            for y in range(i * h // height, min(h, (i + 1) * h // height + 1)):
                for x in range(j * w // width, min(w, (j + 1) * w // width + 1)):
                    down = min(y + 1, (i + 1) * h / height) - max(y, i * h / height)
                    across = min(x + 1, (j + 1) * w / width) - max(x, j * w / width)
                    part = max(down, 0.0) * max(across, 0.0)
                    area, total = area + part, total + part * image[y, x]
            result[i, j] = total / area
    return result


def gradient_at(image, i, j):
    """Half the differences (down, across) of the neighbours within the image."""
    h, w = image.shape
    down = image[min(i + 1, h - 1), j] - image[max(i - 1, 0), j]
    across = image[i, min(j + 1, w - 1)] - image[i, max(j - 1, 0)]
    return down / 2, across / 2


def shares(down, across, n_orientations, signed):
    """The strength of one gradient, shared between the two nearest directions."""
    circle = 360 if signed else 180
    step = circle / n_orientations
    angle = np.degrees(np.arctan2(down, across)) % circle
    result = np.zeros(n_orientations)
    for d in range(n_orientations):
        apart = abs(angle - d * step)
        apart = min(apart, circle - apart)
        if apart < step:
            result[d] = (1 - apart / step) * np.hypot(down, across)
    return result


def pooled_entries(line, deviation):
    """One line, smoothed."""
    radius = int(np.ceil(3 * deviation))
    return gaussian_filter1d(line, deviation, mode="reflect", radius=radius)


def pooled_pairs(line, deviation):
    """One line, smoothed around the middle of each pair of its entries.

    A pair is two neighbours from the first entry on; of an odd line, every second entry
    from the second on is kept.
    """
    if len(line) % 2:
        return pooled_entries(line, deviation)[1::2]
    radius = int(np.ceil(3 * deviation))
    wide = np.pad(line, radius + 1, mode="symmetric")
    result = []
    for first in range(0, len(line), 2):
        # offsets -0.5, 0.5 are the pair itself
        offsets = np.arange(-radius, radius) + 0.5
        entries = wide[first + radius + 1 + (offsets + 0.5).astype(int)]
        kernel = np.exp(-(offsets**2) / (2 * deviation**2))
        result.append((kernel * entries).sum() / kernel.sum())
    return np.array(result)


def literal_maps(image, n_orientations=8, signed=True, pooling=2.0, normalize=True):
    """Maps (h', w', n_orientations) of one image (h, w, c), by loops."""
    h, w, c = image.shape
    longest = max(h, w)
    if longest > 48:
        h, w = round(h * 40 / longest), round(w * 40 / longest)
        image = np.stack([box_mean(image[..., i], h, w) for i in range(c)], axis=-1)
    pooling = min(pooling, min(h, w) / 8)
    channels = [smoothed(image[..., i], 0.7) for i in range(c)]
    strength = np.zeros((h, w, n_orientations))
    for i in range(h):
        for j in range(w):
            gradients = [gradient_at(channel, i, j) for channel in channels]
            strongest = max(gradients, key=lambda pair: np.hypot(*pair))
            strength[i, j] = shares(*strongest, n_orientations, signed)
    steps = [2 if side >= 24 else 1 for side in (h, w)]
    maps = np.moveaxis(strength, -1, 0)
    for axis, step in enumerate(steps, start=1):
        pooled = pooled_pairs if step == 2 else pooled_entries
        maps = np.apply_along_axis(pooled, axis, maps, pooling)
    if normalize:
        energy = smoothed(maps.sum(axis=0), [2 * pooling / step for step in steps])
        maps = maps / (energy + 0.05 * energy.mean())
    return np.moveaxis(np.sqrt(maps), 0, -1)


@pytest.mark.parametrize("shape", [(12, 10), (8, 8), (25, 9), (24, 30)])
@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_maps_are_those_found_pixel_by_pixel(shape, parameters):
    images = pictures(2, shape)
    found = OrientedGradients(**parameters).transform(images)
    for image, maps in zip(images, found, strict=True):
        expected = literal_maps(image[..., None], **parameters)
        assert maps.shape == expected.shape
        np.testing.assert_allclose(maps**2, expected**2, 1e-11, 1e-14)


@pytest.mark.parametrize(
    ("shape", "maps"),
    [
        ((100, 60), (20, 12)),
        ((49, 10), (20, 8)),
        ((50, 8), (20, 6)),
        ((48, 8), (24, 8)),
    ],
)
def test_large_images_are_reduced_first(shape, maps):
    image = pictures(1, shape)
    found = OrientedGradients().transform(image)
    assert found.shape == (1, *maps, 8)
    expected = literal_maps(image[0, ..., None])
    np.testing.assert_allclose(found[0] ** 2, expected**2, 1e-11, 1e-14)


@pytest.mark.parametrize("shape", [(12, 10), (24, 32), (25, 30), (100, 60)])
def test_mirrored_images_have_mirrored_maps(shape):
    """A mirror turns the direction t into pi - t, and upside down into -t."""
    images = pictures(2, shape)
    maps = OrientedGradients().transform(images)
    directions = np.arange(8)
    for axis, mirrored in ((2, (4 - directions) % 8), (1, -directions % 8)):
        found = OrientedGradients().transform(np.flip(images, axis))
        expected = np.flip(maps, axis)[..., mirrored]
        np.testing.assert_allclose(found**2, expected**2, 0, 1e-12)


def test_colours_take_the_strongest_gradient():
    images = np.stack([pictures(2, seed=s) for s in range(3)], axis=-1)
    found = OrientedGradients().transform(images)
    for image, maps in zip(images, found, strict=True):
        np.testing.assert_allclose(maps**2, literal_maps(image) ** 2, 1e-11, 1e-14)


@pytest.mark.parametrize("n_channels", [1, 3])
def test_a_grey_image_in_several_channels_has_the_maps_of_the_grey_one(n_channels):
    images = pictures()
    repeated = np.repeat(images[..., None], n_channels, axis=-1)
    grey = OrientedGradients().transform(images)
    np.testing.assert_allclose(OrientedGradients().transform(repeated), grey, 1e-12)


def test_a_stronger_channel_wins_wherever_it_stands():
    """100 times as strong as the other one at every pixel: a ramp."""
    ramp = np.broadcast_to(np.arange(12.0)[:, None] * 100, (3, 12, 10))
    weak = pictures(3) / 10
    alone = OrientedGradients().transform(ramp)
    for channels in ([ramp, weak], [weak, ramp]):
        both = OrientedGradients().transform(np.stack(channels, axis=-1))
        np.testing.assert_array_equal(both, alone)


def test_a_ramp_points_in_its_direction():
    """Brighter downwards is direction 2 of 8, to the right 0, upwards 6."""
    down = np.broadcast_to(np.arange(16.0)[:, None], (16, 16))
    maps = OrientedGradients().transform(np.stack([down, down.T, down[::-1]]))
    totals = maps.sum(axis=(1, 2))
    assert totals.argmax(axis=1).tolist() == [2, 0, 6]
    others = np.sort(totals, axis=1)[:, :-1]
    np.testing.assert_allclose(others, 0, atol=1e-5)


@pytest.mark.parametrize("signed", [True, False])
def test_opposite_directions_are_two_if_signed(signed):
    ramp = np.broadcast_to(np.arange(16.0), (16, 16))
    there, back = OrientedGradients(signed=signed).transform(
        np.stack([ramp, ramp[:, ::-1]])
    )
    assert np.allclose(there**2, back**2) is not signed


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(12, 10), (30, 27), (60, 20), (11, 13, 3)])
def test_the_maps_of_an_image_do_not_depend_on_the_batch(shape, dtype, parameters):
    """To the bit: alone, in order, shuffled."""
    images = pictures(9, shape, dtype=dtype)
    bank = OrientedGradients(**parameters)
    together = bank.transform(images)
    for i, maps in enumerate(together):
        np.testing.assert_array_equal(bank.transform(images[i : i + 1])[0], maps)
    order = np.random.default_rng(1).permutation(9)
    np.testing.assert_array_equal(bank.transform(images[order]), together[order])


@pytest.mark.parametrize("entries", [1, 5000])
def test_blocks_of_images_have_the_maps_of_all_at_once(monkeypatch, entries):
    images = pictures(9)
    expected = OrientedGradients().transform(images)
    monkeypatch.setattr("twofold.channels.gradients._BLOCK_ENTRIES", entries)
    np.testing.assert_array_equal(OrientedGradients().transform(images), expected)


def test_neighbours_in_a_sorted_stack_do_not_leak():
    """Constant images among bright and detailed ones have no gradients."""
    images = pictures(9)
    images[3:6] = [[[0.0]], [[5.0]], [[1e3]]]
    maps = OrientedGradients().transform(images)
    np.testing.assert_array_equal(maps[3:6], 0)
    assert (maps[[2, 6]].max(axis=(1, 2, 3)) > 0.1).all()


@pytest.mark.parametrize("shape", [(12, 12), (20, 11), (25, 31), (9, 27)])
@pytest.mark.parametrize(("signed", "steps"), [(True, 2), (False, 4)])
def test_a_turned_image_has_turned_maps_of_turned_directions(shape, signed, steps):
    """Sides are odd where every second entry is kept, which then are symmetric."""
    images, bank = pictures(3, shape), OrientedGradients(signed=signed)
    turned = bank.transform(np.rot90(images, axes=(1, 2)))
    expected = np.roll(np.rot90(bank.transform(images), axes=(1, 2)), -steps, axis=-1)
    np.testing.assert_allclose(turned**2, expected**2, 1e-11, 1e-14)


@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 2e-3), (np.float64, 1e-11)])
@pytest.mark.parametrize("constant", [-3.0, 20.0])
def test_brighter_images_have_the_same_maps(dtype, close, constant):
    images, bank = pictures(dtype=dtype), OrientedGradients()
    brighter = images + dtype(constant)
    found, expected = bank.transform(brighter), bank.transform(images)
    np.testing.assert_allclose(found**2, expected**2, close, close)


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.float64, f) for f in (1e-290, 1 / 255, 255, 1e290)]
    + [(np.float32, f) for f in (1e-30, 1 / 255, 255, 1e30)],
)
def test_the_unit_does_not_matter_once_normalized(dtype, factor):
    images, bank = pictures(dtype=dtype), OrientedGradients()
    close = 1e5 * np.finfo(dtype).eps
    found, expected = bank.transform(images * dtype(factor)), bank.transform(images)
    np.testing.assert_allclose(found**2, expected**2, close, close)


def test_maps_that_are_not_normalized_grow_as_the_root_of_the_unit():
    images, bank = pictures(), OrientedGradients(normalize=False)
    np.testing.assert_allclose(bank.transform(4 * images), 2 * bank.transform(images))


def test_the_dark_side_of_a_negative_points_the_other_way():
    images, bank = pictures(), OrientedGradients()
    opposite = np.roll(bank.transform(images), 4, axis=-1)
    np.testing.assert_allclose(bank.transform(-images) ** 2, opposite**2, 1e-11, 1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0, 1, 1 / 3, -1e6 / 3, 1e30])
@pytest.mark.parametrize("shape", [(8, 8), (30, 25), (100, 60), (9, 9, 3)])
def test_constant_images_have_no_gradients(dtype, value, shape):
    images = np.full((2, *shape), value, dtype)
    for normalize in (True, False):
        maps = OrientedGradients(normalize=normalize).transform(images)
        np.testing.assert_array_equal(maps, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0, 1 / 3, 100 / 3])
def test_a_constant_half_has_no_gradients_far_from_the_rest(dtype, value):
    """Up to the reach of the filters: 3 and 1 pixels, and 3 of the smoothed maps."""
    images = pictures(3, (40, 12), dtype=dtype)
    images[:, :20] = value
    maps = OrientedGradients(pooling=1.0).transform(images)
    np.testing.assert_array_equal(maps[:, : (20 - 3 - 1 - 3) // 2], 0)
    assert np.isfinite(maps).all()
    assert (maps[:, 11:].max(axis=(1, 2, 3)) > 0.1).all()


def test_precision_and_integers():
    images = np.random.default_rng(0).integers(0, 256, size=(4, 9, 9), dtype=np.uint8)
    bank = OrientedGradients()
    single = bank.transform(images.astype(np.float32))
    double = bank.transform(images.astype(float))
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=1e-3)
    np.testing.assert_array_equal(bank.transform(images), double)
    np.testing.assert_array_equal(bank.transform(images.tolist()), double)
    np.testing.assert_array_equal(
        bank.transform(images > 99), bank.transform((images > 99).astype(float))
    )
