"""The rule of ``channels="auto"``, on samples made for every outcome."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from sklearn.decomposition import PCA

from twofold.channels.choice import choose_bank, is_light, is_smooth, n_patterns

SIZE = 24


def lit_faces(n=120, n_faces=6, seed=0):
    """Matte surfaces (n, 1, h, w), each lit from random directions."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[-1 : 1 : SIZE * 1j, -1 : 1 : SIZE * 1j]
    images = []
    for face in range(n_faces):
        # A round head with bumps of its own, and its own marks on the skin
        height = 1.2 * np.exp(-(x**2 + y**2))
        for _ in range(6):
            cy, cx, s = *rng.uniform(-0.7, 0.7, 2), rng.uniform(0.1, 0.25)
            height += rng.uniform(-0.15, 0.15) * np.exp(
                -((x - cx) ** 2 + (y - cy) ** 2) / (2 * s**2)
            )
        skin = 1 + 0.1 * gaussian_filter(rng.normal(size=(SIZE, SIZE)), 0.7)
        down, across = np.gradient(height, 2 / SIZE)
        normals = np.stack([-across, -down, np.ones_like(x)])
        normals /= np.linalg.norm(normals, axis=0)
        for _ in range(face, n, n_faces):
            light = np.array([*rng.uniform(-1.5, 1.5, 2), 1.0])
            shade = np.einsum("d,dij->ij", light / np.linalg.norm(light), normals)
            images.append(skin * np.maximum(shade, 0) + 0.02)
    return np.array(images)[:, None]


def shapes(n=120, seed=0):
    """Bars and discs anywhere in the image, with soft edges."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:SIZE, :SIZE]
    images = []
    for i in range(n):
        cy, cx = rng.uniform(6, 18, 2)
        disc = (x - cx) ** 2 + (y - cy) ** 2 < rng.uniform(3, 6) ** 2
        bar = (abs(x - cx) < rng.uniform(2, 8)) & (abs(y - cy) < rng.uniform(2, 8))
        images.append(gaussian_filter((disc, bar)[i % 2].astype(float), 0.8))
    return np.array(images)[:, None]


def tables(n=120, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 1, 20, 12))


def time_series(n=120, seed=0):
    """Smooth along time, the rows; sensors, the columns, are independent."""
    noise = np.random.default_rng(seed).normal(size=(n, 1, 40, 10))
    for t in range(1, 40):
        noise[:, :, t] += 0.95 * noise[:, :, t - 1]
    return noise


def covariances(n=120, seed=0):
    draws = np.random.default_rng(seed).normal(size=(n, 1, 12, 30))
    return draws @ draws.mT / 30


GENERATORS = {
    "lit faces": (lit_faces, "fine_gradients"),
    "shapes": (shapes, "gradients"),
    "tables": (tables, "pixels"),
    "time series": (time_series, "pixels"),
    "sensors in rows": (lambda **k: time_series(**k).mT, "pixels"),
    "covariances": (covariances, "pixels"),
    "low": (lambda **k: shapes(**k)[:, :, :7], "pixels"),
    "narrow": (lambda **k: shapes(**k)[..., 8:15], "pixels"),
    "constant": (lambda **k: np.ones((9, 1, 12, 12)), "pixels"),
    "constants": (
        lambda **k: np.arange(1.0, 10)[:, None, None, None] * np.ones((1, 12, 12)),
        "pixels",
    ),
    "zeros": (lambda **k: np.zeros((9, 1, 12, 12)), "pixels"),
    "all the same": (lambda **k: shapes(**k)[[4] * 9], "pixels"),
    "multiples": (
        lambda **k: shapes(**k)[[4] * 9] * np.arange(1.0, 10)[:, None, None, None],
        "pixels",
    ),
    "one": (lambda **k: shapes(**k)[:1], "pixels"),
}

cases = pytest.mark.parametrize(
    ("make", "bank"), GENERATORS.values(), ids=list(GENERATORS)
)


@cases
@pytest.mark.parametrize("seed", range(5))
def test_each_kind_of_samples_has_its_bank(make, bank, seed):
    assert choose_bank(make(seed=seed)) == bank


@cases
def test_the_order_and_the_units_of_samples_do_not_matter(make, bank):
    """Each sample may have a unit of its own, since all get the same norm.

    A constant that is added to samples does matter: it is a part of their norm.
    """
    samples, rng = make(seed=7), np.random.default_rng(0)
    assert choose_bank(rng.permutation(samples)) == bank
    assert choose_bank(255 * samples) == bank
    assert choose_bank(-samples) == bank
    units = 10 ** rng.uniform(-3, 3, size=(len(samples), 1, 1, 1))
    assert choose_bank(units * samples) == bank
    assert choose_bank(samples.astype(np.float32)) == bank


@pytest.mark.parametrize("unit", [1e-300, 1e150])
def test_extreme_units_do_not_overflow(unit):
    assert choose_bank(shapes() * unit) == "gradients"


@cases
def test_turned_samples_have_the_same_bank(make, bank):
    samples = make(seed=3)
    assert choose_bank(samples.mT) == bank
    assert choose_bank(samples[..., ::-1, ::-1]) == bank


@pytest.mark.parametrize("make", [lit_faces, shapes, tables])
def test_grey_samples_in_three_channels_have_the_bank_of_one(make):
    samples = make(seed=3)
    assert choose_bank(np.repeat(samples, 3, axis=1)) == choose_bank(samples)


def test_the_number_of_patterns_is_that_of_principal_components():
    samples = shapes(n=50)
    flat = samples.reshape(50, -1)
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    variances = PCA().fit(flat).explained_variance_
    expected = variances.sum() ** 2 / (variances**2).sum()
    np.testing.assert_allclose(n_patterns(samples), expected, 1e-10)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_equal_patterns_are_counted(m):
    """Samples of norm 1, each one pattern or its negative, have mean 0."""
    signed = np.concatenate([np.eye(m, 9), -np.eye(m, 9)])
    np.testing.assert_allclose(n_patterns(signed), m, 1e-12)


def test_constant_samples_have_no_pattern():
    assert n_patterns(np.ones((5, 1, 9, 9))) == 0


def test_smoothness_is_that_of_both_axes():
    """Neighbours by loops, of samples of norm 1 less their mean."""
    samples = time_series(n=6)[:, 0]
    unit = np.array([x / np.linalg.norm(x) for x in samples])
    centred = unit - unit.mean(axis=0)

    def correlation(down, across):
        _, h, w = centred.shape
        pairs = [
            (x[i, j], x[i + down, j + across])
            for x in centred
            for i in range(h - down)
            for j in range(w - across)
        ]
        a, b = np.array(pairs).T
        return (a @ b) / np.sqrt((a @ a) * (b @ b))

    assert correlation(1, 0) > 0.8
    assert abs(correlation(0, 1)) < 0.1
    assert not is_smooth(samples[:, None])
    # Repeated along both axes, all neighbours are correlated by half or more.
    coarse = np.kron(tables()[:, 0], np.ones((2, 2)))
    assert is_smooth(coarse[:, None])


def test_light_is_told_from_other_changes():
    assert is_light(lit_faces())
    assert not is_light(shapes())
