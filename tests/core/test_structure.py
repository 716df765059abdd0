"""How much speaks for clusters: literal formulas, blobs, and clouds without any."""

from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import kurtosis
from sklearn.datasets import make_blobs

from twofold.core.structure import (
    beside,
    kept_share,
    measure_structure,
    surrogate_cloud,
    valley,
)


def blobs(n=120, k=4, std=0.7, seed=1):
    return make_blobs(n, 6, centers=k, cluster_std=std, random_state=seed)


def measured(points, labels, k=4):
    return measure_structure([points], labels, k, "heat", 5, 0)


# The cloud


@pytest.mark.parametrize("n", [60, 61, 600])
def test_a_cloud_has_the_norms_of_the_samples(n):
    sides = [blobs(n)[0], np.random.default_rng(0).normal(2, 1, (n, 9))]
    found = surrogate_cloud(sides, np.random.RandomState(0))
    for side, other in zip(sides, found, strict=True):
        assert other.shape == side.shape
        norms = (np.sort(np.linalg.norm(each, axis=1)) for each in (other, side))
        np.testing.assert_allclose(*norms)


def test_a_cloud_has_the_mean_and_the_covariance_up_to_sampling():
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(6, 6))
    points = rng.normal(size=(2000, 6)) @ mixing + 5 * rng.normal(size=6)
    [found] = surrogate_cloud([points], np.random.RandomState(1))
    spread = np.cov(points.T)
    deviation = np.sqrt(np.diag(spread))
    apart = (found.mean(axis=0) - points.mean(axis=0)) / deviation
    assert np.abs(apart).max() < 5 / np.sqrt(2000)
    relative = (np.cov(found.T) - spread) / np.outer(deviation, deviation)
    assert np.abs(relative).max() < 0.1


def test_a_cloud_of_two_blobs_is_one():
    """Two far points have a kurtosis of -2 between them, and an even line -1.2."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 8))
    points[:200, 0] += 20
    [found] = surrogate_cloud([points], np.random.RandomState(0))
    assert kurtosis(points[:, 0]) < -1.9
    assert kurtosis(found[:, 0]) > -1.2


# The strength


@pytest.mark.parametrize("seed", range(3))
def test_blobs_that_touch_are_told_from_a_cloud(seed):
    points, labels = make_blobs(120, 20, centers=4, cluster_std=5, random_state=seed)
    found = measured(points, labels)
    assert found.agreement > 0.9
    assert found.strength > 0.6
    cloud = np.random.default_rng(seed).normal(size=(120, 6))
    cut = 2 * (cloud[:, 0] > 0) + (cloud[:, 1] > 0)
    assert measured(cloud, cut).strength < 0.3


@pytest.mark.parametrize("dimensions", [2, 6])
def test_blobs_far_apart_are_told_from_a_cloud(dimensions):
    points, labels = make_blobs(
        120, dimensions, centers=2, cluster_std=0.1, random_state=0
    )
    assert measured(points, labels, 2).strength > 0.4


def test_the_strength_is_the_sum_of_its_parts():
    found = measured(*blobs())
    parts = found.agreement - found.by_chance + found.valley - 0.5
    assert found.strength == pytest.approx(parts)
    assert -1 <= found.agreement <= 1
    assert 0 <= found.by_chance <= 1
    assert {half.shape for half in found.half_labels} == {(120,)}
    assert len(found.half_labels) % 2 == 0


def test_the_names_of_the_clusters_do_not_matter():
    points, labels = blobs()
    found = measured(points, labels)
    other = measured(points, np.array([2, 0, 3, 1])[labels])
    assert other.strength == pytest.approx(found.strength, abs=1e-12)


def test_the_unit_of_a_side_does_not_matter():
    points, labels = blobs()
    sides = [points[:, :3], points[:, 3:]]
    found = measure_structure(sides, labels, 4, "heat", 5, 0)
    scaled = [8.0 * sides[0], 0.25 * sides[1]]  # exact powers of two
    other = measure_structure(scaled, labels, 4, "heat", 5, 0)
    assert other.strength == pytest.approx(found.strength, abs=1e-9)


@pytest.mark.parametrize(
    ("n", "k", "labels"),
    [(19, 2, [0, 1] * 9 + [0]), (21, 6, [0, 1, 2, 3, 4, 5, 0] * 3)],
    ids=["nineteen samples", "fewer than four of a cluster"],
)
def test_of_few_samples_nothing_can_be_told(n, k, labels):
    assert np.isnan(measured(blobs(n)[0], np.array(labels), k).strength)


def test_one_cluster_is_no_structure():
    assert measured(blobs(20)[0], np.zeros(20, dtype=int), 3).strength == 0


def test_sides_count_the_same():
    rng = np.random.default_rng(0)
    sides = [10 * rng.normal(size=(30, 4)), rng.normal(size=(30, 2)), np.zeros((30, 1))]
    found = beside(sides)
    squares = [
        np.mean(np.sum(part**2, axis=1)) for part in np.split(found, [4, 6], axis=1)
    ]
    assert squares == pytest.approx([1, 1, 0])
    np.testing.assert_allclose(
        cdist(found[:, :4], found[:, :4]).argsort(axis=1),
        (cdist(sides[0], sides[0]).argsort(axis=1)),
    )


# The borders


def valley_by_pairs(points, labels):
    """The share of pairs, one at a border and one inside, whose first is sparser."""
    distances = cdist(points, points)
    order, every = np.argsort(distances, axis=1)[:, 1:], range(len(points))
    for q in (2, 3, 5, 7, 10):
        border = [any(labels[j] != labels[i] for j in order[i, :q]) for i in every]
        if np.mean(border) >= 0.1:
            break
    radius = [distances[i, order[i, q - 1]] for i in every]
    place = []
    for i in every:
        own = [radius[j] for j in every if labels[j] == labels[i]]
        less = sum(r < radius[i] for r in own)
        place.append((less + sum(r == radius[i] for r in own) / 2) / len(own))
    won = [
        (place[i] > place[j]) + 0.5 * (place[i] == place[j])
        for i in every
        for j in every
        if border[i] and not border[j]
    ]
    if not any(border):
        return None
    return np.mean(won) if won else 0.5


@pytest.mark.parametrize("std", [0.5, 3.0, 6.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_valley_is_a_share_of_pairs(std, seed):
    points, labels = blobs(60, 3, std, seed)
    found = valley(points, labels)
    assert found == pytest.approx(valley_by_pairs(points, labels))


def test_borders_of_touching_blobs_are_sparse_and_those_of_a_line_are_not():
    rng = np.random.default_rng(0)
    points, labels = make_blobs(400, 2, centers=[[0, 0], [4, 0]], random_state=0)
    assert valley(points, labels) > 0.7
    line = rng.uniform(size=(400, 2))
    assert abs(valley(line, (line[:, 0] > 0.5).astype(int)) - 0.5) < 0.15


def test_clusters_far_apart_have_no_border():
    points, labels = make_blobs(60, 2, centers=[[0, 0], [99, 0]], random_state=0)
    assert valley(points, labels) is None
    assert valley(points, np.zeros(60, dtype=int)) is None


def test_the_order_of_the_samples_does_not_matter():
    points, labels = blobs(80, 4, 3.0)
    order = np.random.default_rng(0).permutation(80)
    found = valley(points[order], labels[order])
    assert found == pytest.approx(valley(points, labels))


# What halves keep


def kept_by_hand(labels, other):
    """Which samples keep their cluster, by the names of the most samples kept."""
    size = 1 + max(labels.max(), other.max())
    renamed = [np.array(names)[other] for names in permutations(range(size))]
    counts = [(each == labels).sum() for each in renamed]
    best = max(counts)
    return best, [
        each == labels
        for each, count in zip(renamed, counts, strict=True)
        if count == best
    ]


@pytest.mark.parametrize("seed", range(8))
def test_a_share_is_that_of_the_best_names(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=40)
    other = np.where(rng.uniform(size=40) < 0.3, rng.integers(5, size=40), 3 - labels)
    best, masks = kept_by_hand(labels, other)
    found = kept_share(labels, [other])
    assert found.sum() == best
    assert any(np.array_equal(found, mask) for mask in masks)


def test_a_share_is_a_mean_and_names_do_not_matter():
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 3
    others = [np.where(rng.uniform(size=30) < 0.2, 0, labels) for _ in range(4)]
    found = kept_share(labels, others)
    each = [kept_share(labels, [other]) for other in others]
    np.testing.assert_allclose(found, np.mean(each, axis=0))
    renamed = [np.array([2, 0, 1])[other] for other in others]
    np.testing.assert_allclose(kept_share(labels, renamed), found)
    np.testing.assert_allclose(kept_share(np.array([1, 2, 0])[labels], others), found)
    order = rng.permutation(30)
    np.testing.assert_allclose(
        kept_share(labels[order], [other[order] for other in others]), found[order]
    )
