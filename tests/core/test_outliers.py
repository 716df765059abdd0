"""Samples in sparse places, against distances to all others."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from twofold.core.outliers import outlier_mask, sparseness
from twofold.estimators.scaling import standardized


def sparseness_by_hand(points):
    """Robust scores of log mean distances to the five nearest, and the fifth."""
    distances = np.sort(cdist(points, points), axis=1)[:, 1:6]
    sizes = np.log(distances.mean(axis=1))
    away = np.abs(sizes - np.median(sizes))
    return (sizes - np.median(sizes)) / (1.4826 * np.median(away)), distances[:, 4]


def blobs(n=90, seed=0):
    return make_blobs(n, 5, centers=3, random_state=seed)[0]


@pytest.mark.parametrize("n", [7, 90, 400])
def test_sparseness_is_of_the_nearest_distances(n):
    points = blobs(n)
    found = sparseness(points)
    for one, other in zip(found, sparseness_by_hand(points), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_the_unit_and_the_order_do_not_matter():
    points = blobs()
    order = np.random.default_rng(0).permutation(90)
    score, last = sparseness(points)
    for other, length in ((sparseness(8 * points), 8), (sparseness(-points), 1)):
        np.testing.assert_allclose(other[0], score, atol=1e-6)
        np.testing.assert_allclose(other[1], length * last)
    np.testing.assert_allclose(sparseness(points[order])[0], score[order], atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_far_points_are_found(seed):
    points = blobs(seed=seed)
    far = 60 * np.random.default_rng(seed).normal(size=(4, 5))
    found = outlier_mask(np.concatenate([points, far]), None)
    assert found[-4:].all()
    assert found[:-4].mean() < 0.05


def test_five_samples_have_no_places_to_compare():
    assert not outlier_mask(np.eye(5), None).any()
    assert outlier_mask(np.zeros((0, 3)), None).shape == (0,)


def test_identical_samples_are_none():
    assert not outlier_mask(np.ones((20, 3)), None).any()
    assert not outlier_mask(np.zeros((20, 3)), np.zeros((20, 9))).any()
    copies = np.repeat(np.eye(3), 10, axis=0)
    assert np.isfinite(sparseness(copies)[0]).all()
    assert not outlier_mask(copies, None).any()
    far = np.concatenate([copies, [[50.0, 0, 0]]])
    np.testing.assert_array_equal(np.flatnonzero(outlier_mask(far, None)), [30])


def scenes(n=60, seed=0):
    """Two kinds of noisy images, as they are and standardised."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(2, 10, 10))
    return means[np.arange(n) % 2] + 0.3 * rng.normal(size=(n, 10, 10))


def test_images_like_no_other_are_found_where_features_are_blind():
    """A blank frame and one of noise, whose features are those of the others."""
    rng = np.random.default_rng(1)
    images = scenes(62)
    images[60], images[61] = 7.0, rng.normal(size=(10, 10))
    features = np.zeros((62, 2)) + 1e-3 * rng.normal(size=(62, 2))
    features += np.eye(2)[np.arange(62) % 2]
    assert not outlier_mask(features, None)[60:].any()
    found = outlier_mask(features, standardized(images))
    np.testing.assert_array_equal(np.flatnonzero(found), [60, 61])


def test_what_is_somewhat_sparse_in_both_is_an_outlier():
    """Neither score is above the limit alone: the root of their squares is."""
    rng = np.random.default_rng(0)
    points, images = rng.normal(size=(2, 80, 6))
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    one, _ = sparseness_by_hand(points)
    other, last = sparseness_by_hand(images)
    both = np.hypot(one.clip(0), other.clip(0)) > 3
    unlike = (last > 1.2) & (other > 1.5)
    found = outlier_mask(points, images)
    np.testing.assert_array_equal(found, both | unlike)
    np.testing.assert_array_equal(outlier_mask(points, None), one > 3)
