"""The map: like images are near each other, whatever their clusters are."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from twofold import TSNMF
from twofold.app.report.map import _unit_square, layout
from twofold.app.results import projected


def grouped(n, groups=4, seed=0):
    """Features around one point for each group."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % groups
    centers = rng.normal(size=(groups, 20))
    return centers[group] + rng.normal(scale=0.3, size=(n, 20)), group


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def test_groups_are_apart():
    rows, group = grouped(120)
    places = layout(rows)
    assert places.shape == (120, 2)
    apart = distances(places) + np.diag(np.full(120, np.inf))
    nearest = np.argsort(apart, axis=1)[:, :5]
    assert (group[nearest] == group[:, None]).all()
    assert silhouette_score(places, group) > 0.6


def test_it_fills_the_unit_square_without_distortion_of_its_axes():
    places = layout(grouped(60)[0])
    spans = np.ptp(places, axis=0)
    assert spans.max() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(places.min(axis=0) + places.max(axis=0), 1, atol=1e-6)
    assert places.min() >= -1e-6
    assert places.max() <= 1 + 1e-6


def test_it_is_the_same_every_time():
    rows, _ = grouped(40)
    np.testing.assert_array_equal(layout(rows), layout(rows.copy()))


def test_another_order_of_the_samples_gives_a_map_of_the_same_neighbours():
    rows, _ = grouped(200)
    order = np.random.default_rng(1).permutation(200)
    first, second = distances(layout(rows)[order]), distances(layout(rows[order]))
    lists = [np.argsort(apart, axis=1)[:, 1:11] for apart in (first, second)]
    shared = [len(np.intersect1d(*pair)) for pair in zip(*lists, strict=True)]
    assert np.mean(shared) > 4  # of 10; 2 of them by chance, in groups of 50


def test_few_samples_keep_their_distances():
    angle = np.array([0.1, 0.2, 0.5, 0.9, 1.4])
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    other = ~np.eye(5, dtype=bool)
    ratio = distances(layout(rows))[other] / distances(rows)[other]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "rows",
    [
        np.ones((1, 3)),
        np.ones((2, 3)),
        np.ones((30, 3)),
        np.zeros((12, 2)),
        np.repeat(np.eye(3), 20, axis=0),
        np.repeat(np.random.default_rng(0).normal(size=(30, 10)), 20, axis=0),
        np.repeat(np.eye(2), 700, axis=0),
    ],
    ids=["one", "two", "equal", "zero", "three points", "thirty points", "many copies"],
)
def test_identical_samples_have_the_same_place(rows, dtype):
    places = layout(rows.astype(dtype))
    assert places.shape == (len(rows), 2)
    assert np.isfinite(places).all()
    assert (places >= -1e-9).all()
    assert (places <= 1 + 1e-9).all()
    same = distances(rows) == 0
    assert distances(places)[same].max() < 1e-6
    assert (distances(places)[~same] > 0.01).all()


@pytest.mark.parametrize("n", [19, 20, 21, 30, 50])
def test_a_line_is_laid_out_in_its_order(n):
    places = layout(np.linspace(1, 2, n)[:, None])
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert np.isfinite(places).all()
    assert steps.max() < distances(places).max() / 2


def test_groups_without_an_edge_between_them_share_the_square():
    rows, group = grouped(160)
    rows += 1000 * np.eye(20)[group]
    places = layout(rows)
    radius = [places[group == g].std() for g in range(4)]
    assert silhouette_score(places, group) > 0.6
    assert min(radius) > 0.02  # no group is a dot at the border


@pytest.mark.parametrize("seed", range(5))
def test_points_that_differ_by_rounding_are_in_the_square(seed):
    steps = np.random.default_rng(seed).integers(0, 4, size=(6, 2))
    places = _unit_square(1 + steps * np.finfo(float).eps)
    assert places.min() >= 0
    assert places.max() <= 1


def fitted(images, k, **options):
    """The map of a fit to images, and the clusters of the fit."""
    model = TSNMF(k, random_state=0, **options).fit(images)
    return layout(projected(model, images)), model.labels_


def test_planted_groups_are_islands():
    rng = np.random.default_rng(1)
    planted = np.arange(200) % 5
    images = rng.uniform(size=(5, 16, 16))[planted]
    places, clusters = fitted(images + rng.normal(0, 0.15, images.shape), 5)
    assert silhouette_score(places, clusters) > 0.6


@pytest.mark.parametrize("channels", ["pixels", "gradients"])
def test_clusters_of_noise_are_no_islands(channels):
    images = np.random.default_rng(1).uniform(size=(300, 16, 16))
    places, clusters = fitted(images, 5, channels=channels)
    assert len(np.unique(clusters)) == 5
    assert silhouette_score(places, clusters) < 0.1


def test_rows_are_what_both_sides_keep_of_the_samples():
    images = np.random.default_rng(0).uniform(size=(30, 8, 6))
    model = TSNMF(3, random_state=0, channels="pixels", scale="sample").fit(images)
    scaled = images / np.linalg.norm(images, axis=(1, 2), keepdims=True)
    left = (scaled.transpose(0, 2, 1) @ model.left_projection_).reshape(30, -1)
    right = (scaled @ model.right_projection_).reshape(30, -1)
    expected = [side @ side.T * 30 / (side**2).sum() for side in (left, right)]
    rows = projected(model, images)
    np.testing.assert_allclose(rows @ rows.T, sum(expected), atol=1e-10)
