"""The map: like coefficients are near each other."""

import numpy as np
import pytest

from twofold.app.report.map import _unit_square, layout


def coefficients(n, k=4, seed=0):
    """Rows that point mostly along one axis each, of any length."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % k
    rows = rng.uniform(0, 0.15, size=(n, k))
    rows[np.arange(n), groups] += 1
    return rows * rng.uniform(0.1, 10, size=(n, 1)), groups


def test_groups_are_apart():
    rows, groups = coefficients(120)
    places = layout(rows)
    assert places.shape == (120, 2)
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :5]
    assert (groups[nearest] == groups[:, None]).all()


def test_it_fills_the_unit_square_without_distortion_of_its_axes():
    places = layout(coefficients(60)[0])
    spans = np.ptp(places, axis=0)
    assert spans.max() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(places.min(axis=0) + places.max(axis=0), 1, atol=1e-6)
    assert places.min() >= -1e-6
    assert places.max() <= 1 + 1e-6


def test_it_is_the_same_every_time():
    rows, _ = coefficients(40)
    np.testing.assert_array_equal(layout(rows), layout(rows.copy()))


def test_lengths_do_not_matter():
    rows, _ = coefficients(8)
    np.testing.assert_allclose(layout(rows), layout(rows * 2.0), atol=1e-12)


def test_few_samples_keep_their_distances():
    angle = np.array([0.1, 0.2, 0.5, 0.9, 1.4])
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    places = layout(rows)

    def distances(points):
        return np.linalg.norm(points[:, None] - points[None], axis=2)

    ratio = (
        distances(places)[~np.eye(5, dtype=bool)]
        / distances(rows)[~np.eye(5, dtype=bool)]
    )
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((1, 3)),
        np.ones((30, 3)),
        np.zeros((12, 2)),
        np.linspace(1, 2, 15)[:, None],
        np.repeat(np.eye(3), 20, axis=0),
    ],
    ids=["one", "all the same", "zero", "one cluster", "three points"],
)
def test_rows_without_a_plane_have_places_all_the_same(rows):
    places = layout(rows)
    assert places.shape == (len(rows), 2)
    assert np.isfinite(places).all()
    assert (places >= -1e-9).all()
    assert (places <= 1 + 1e-9).all()
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    same = (np.abs(unit[:, None] - unit[None]).max(axis=2)) < 1e-12
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert apart[same].max() < 1e-6
    assert (apart[~same] > 0.1).all()


@pytest.mark.parametrize("seed", range(5))
def test_points_that_differ_by_rounding_are_in_the_square(seed):
    steps = np.random.default_rng(seed).integers(0, 4, size=(6, 2))
    places = _unit_square(1 + steps * np.finfo(float).eps)
    assert places.min() >= 0
    assert places.max() <= 1
