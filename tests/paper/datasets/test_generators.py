import itertools

import numpy as np
import pytest
from sklearn.cluster import KMeans

from twofold import TSNMF
from twofold.metrics import clustering_accuracy
from twofold.paper.datasets import iter_faces, make_faces


@pytest.mark.parametrize("options", [{}, {"occlusion": 0.2, "noise": 0.5}])
@pytest.mark.parametrize(("n_samples", "n_classes"), [(50, 3), (500, 10)])
def test_they_are_hard_for_k_means_and_not_for_tsnmf(n_samples, n_classes, options):
    images, target = make_faces(n_samples, n_classes, **options)
    flat = images.reshape(n_samples, -1)
    pixels = KMeans(n_classes, n_init=10, random_state=0).fit_predict(flat)
    model = TSNMF(n_classes, channels="pixels", random_state=0)
    ours = model.fit_predict(images)
    assert clustering_accuracy(target, pixels) < 0.55
    assert clustering_accuracy(target, ours) > 0.95


def test_without_light_k_means_has_no_trouble():
    images, target = make_faces(illumination=0)
    labels = KMeans(10, n_init=10, random_state=0).fit_predict(images.reshape(500, -1))
    assert clustering_accuracy(target, labels) == 1


def test_the_parts_of_an_image_have_the_rank_and_the_strength_asked_for():
    options = {"noise": 0, "rank": 3, "shape": (20, 30)}
    bare, target = make_faces(200, 2, illumination=0, **options)
    lit, _ = make_faces(200, 2, illumination=5, **options)
    assert bare.shape == (200, 20, 30)
    assert bare.dtype == np.float32
    for image in (bare[0], (lit - bare)[0]):
        assert np.linalg.matrix_rank(image, tol=1e-4) == 3
    norms = np.linalg.norm(lit - bare, axis=(1, 2))
    assert np.sqrt(np.mean(norms**2)) == pytest.approx(5, rel=0.1)
    np.testing.assert_array_equal(bare[target == 0][0], bare[target == 0][1])
    # Light is in other directions than the patterns, on both sides.
    np.testing.assert_allclose(bare[0].T @ (lit - bare)[1], 0, atol=1e-5)
    np.testing.assert_allclose(bare[0] @ (lit - bare)[1].T, 0, atol=1e-5)


def test_noise_and_covered_parts():
    clean, _ = make_faces(100, 5, noise=0)
    noisy, _ = make_faces(100, 5, noise=2)
    assert np.linalg.norm(noisy - clean, axis=(1, 2)).mean() == pytest.approx(
        2, abs=0.1
    )
    covered, _ = make_faces(100, 5, occlusion=0.25)
    np.testing.assert_array_equal((covered == 0).sum(axis=(1, 2)), 64)


def test_classes_are_of_equal_size_and_in_random_order():
    _, target = make_faces(3001, 10, shape=(8, 8))
    assert set(np.bincount(target)) == {300, 301}
    assert (np.diff(target) != 1).sum() > 2000


def test_batches_are_the_whole():
    options = {"n_samples": 2500, "n_classes": 7, "shape": (9, 8), "random_state": 4}
    images, target = make_faces(**options)
    batches = list(iter_faces(**options))
    assert [len(batch) for batch, _ in batches] == [1024, 1024, 452]
    np.testing.assert_array_equal(np.concatenate([b for b, _ in batches]), images)
    np.testing.assert_array_equal(np.concatenate([t for _, t in batches]), target)
    assert not np.array_equal(images[:1024], images[1024:2048])
    # Each batch has its own light, also where the classes are the same.
    first, second = (
        b[t == 0] - b[t == 0].mean(axis=0, keepdims=True) for b, t in batches[:2]
    )
    assert not np.allclose(first[0], second[0])
    other, _ = make_faces(**{**options, "random_state": 5})
    assert not np.array_equal(other, images)


def test_a_million_are_made_as_they_are_asked_for():
    """The first batches of a stream are there at once, and are those of any other."""
    stream = iter_faces(1_000_000, 10, shape=(8, 8))
    first = list(itertools.islice(stream, 2))
    assert sum(len(target) for _, target in first) == 2048
    images, _ = make_faces(2048, 10, shape=(8, 8))
    np.testing.assert_array_equal(np.concatenate([b for b, _ in first]), images)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_classes": 0}, "n_classes must be between 1 and n_samples=500, got 0"),
        ({"n_samples": 5}, "n_classes must be between 1 and n_samples=5, got 10"),
        ({"shape": (32, 7)}, r"shape=\(32, 7\) must have sides of at least .*=8"),
        ({"occlusion": 1.5}, "occlusion must be between 0 and 1, got 1.5"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        make_faces(**options)
