import numpy as np
import pytest

from twofold.paper.datasets import add_noise, occlude, remove_entries, sample_classes

IMAGES = np.random.default_rng(0).integers(1, 256, size=(30, 9, 7), dtype=np.uint8)


@pytest.mark.parametrize("fraction", [0, 0.4, 0.6, 1])
def test_the_same_share_of_every_image_is_removed(fraction):
    damaged = remove_entries(IMAGES, fraction, random_state=3)
    removed = damaged == 0
    np.testing.assert_array_equal(removed.sum(axis=(1, 2)), round(fraction * 63))
    np.testing.assert_array_equal(damaged[~removed], IMAGES[~removed])
    assert damaged.dtype == np.uint8


def test_all_places_are_removed_equally_often():
    ones = np.ones((4000, 4, 5))
    shares = (remove_entries(ones, 0.4) == 0).mean(axis=0)
    np.testing.assert_allclose(shares, 0.4, atol=0.04)  # five standard deviations


@pytest.mark.parametrize(("fill", "dtype"), [(np.nan, float), (300, float), (7, "u1")])
def test_whatever_stands_in_their_place_fits(fill, dtype):
    damaged = remove_entries(IMAGES, 0.5, fill=fill)
    assert damaged.dtype == dtype
    changed = np.isnan(damaged) if np.isnan(fill) else damaged == fill
    assert (changed.sum(axis=(1, 2)) >= round(0.5 * 63)).all()
    kept = remove_entries(IMAGES.astype(np.float32), 0.5, fill=np.nan)
    assert kept.dtype == np.float32


def test_of_colour_whole_pixels_are_removed():
    colour = np.stack([IMAGES] * 3, axis=-1)
    removed = remove_entries(colour, 0.3) == 0
    np.testing.assert_array_equal(removed.any(axis=-1), removed.all(axis=-1))


def test_a_rectangle_is_covered():
    for size, (tall, wide) in [
        ((3, 4), (3, 4)),
        (0.5, (4, 4)),
        (0, (0, 0)),
        (1, (9, 7)),
    ]:
        covered = occlude(IMAGES, size, random_state=1) == 0
        for image in covered:
            assert image.sum() == tall * wide
            rows, columns = image.any(axis=1), image.any(axis=0)
            assert rows.sum() == tall * bool(wide)
            assert (np.diff(np.flatnonzero(rows)) == 1).all()
            assert (np.diff(np.flatnonzero(columns)) == 1).all()
    many = np.ones((500, 9, 7))
    places = {tuple(np.argwhere(i)[0]) for i in occlude(many, [3, 4]) == 0}
    assert places == {(row, column) for row in range(7) for column in range(4)}


def test_noise_has_the_strength_asked_for():
    flat = np.zeros((20, 50, 50))
    flat[0, 0, 0] = 10
    noise = add_noise(flat, 0.1) - flat
    assert noise.std() == pytest.approx(1, abs=0.02)
    assert noise.mean() == pytest.approx(0, abs=0.02)
    assert add_noise(flat.astype(np.float32), 0.1).dtype == np.float32
    incomplete = remove_entries(flat, 0.3, fill=np.nan)
    noisy = add_noise(incomplete, 0.1)
    np.testing.assert_array_equal(np.isnan(noisy), np.isnan(incomplete))
    np.testing.assert_array_equal(add_noise(IMAGES, 0), IMAGES)


@pytest.mark.parametrize(
    "damage",
    [
        lambda x, s: remove_entries(x, 0.3, random_state=s),
        lambda x, s: occlude(x, 0.3, random_state=s),
        lambda x, s: add_noise(x, 0.3, random_state=s),
    ],
)
def test_seeds_and_what_is_left_alone(damage):
    before = IMAGES.copy()
    first, second, other = damage(IMAGES, 1), damage(IMAGES, 1), damage(IMAGES, 2)
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
    drawn = damage(IMAGES, np.random.RandomState(1))
    np.testing.assert_array_equal(first, drawn)
    np.testing.assert_array_equal(IMAGES, before)


TARGET = np.repeat(np.arange(20, 30), np.arange(3, 13))


def test_all_samples_of_random_classes():
    chosen = np.random.RandomState(5).permutation(10)[:4] + 20
    expected = np.flatnonzero(np.isin(TARGET, chosen))
    np.testing.assert_array_equal(sample_classes(TARGET, 4, 5), expected)
    np.testing.assert_array_equal(sample_classes(TARGET, 10, 5), np.arange(75))


def test_as_many_of_each_class():
    for seed in range(5):
        kept = sample_classes(TARGET, 6, seed, per_class=3)
        _, counts = np.unique(TARGET[kept], return_counts=True)
        np.testing.assert_array_equal(counts, [3] * 6)
        whole = sample_classes(TARGET, 6, seed)
        assert set(kept) <= set(whole)
    large = np.repeat([0, 1], 100)
    drawn = [sample_classes(large, 2, seed, per_class=5) for seed in range(2)]
    assert drawn[0].max() > 110  # not the first ones of each class
    assert not np.array_equal(*drawn)


def test_true_and_false_pixels():
    bits = IMAGES > 100
    assert remove_entries(bits, 0.5).dtype == bool
    assert remove_entries(bits, 0.5, fill=7).max() == 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: remove_entries(IMAGES, 1.5), "fraction must be between 0 and 1, got"),
        (lambda: remove_entries(IMAGES[0], 0.5), r"images must be .* shape \(9, 7\)"),
        (lambda: occlude(IMAGES, (10, 2)), r"size must .* 9 x 7, got \(10, 2\)"),
        (lambda: occlude(IMAGES, (0.5, 0.5)), r"size must .* got \(0.5, 0.5\)"),
        (lambda: occlude(IMAGES[:0], 0.5), r"images must be .* not empty, .*\(0, 9, 7"),
        (lambda: occlude(IMAGES, -0.1), "size must be between 0 and 1, got -0.1"),
        (lambda: add_noise(IMAGES, -1), "strength must be at least 0, got -1"),
        (
            lambda: sample_classes(TARGET, 11, 0),
            "n must be between 1 and .* 10, got 11",
        ),
        (
            lambda: sample_classes(TARGET, 10, 0, per_class=4),
            "per_class must be between 1 and 3, the size of class 20, got 4",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
