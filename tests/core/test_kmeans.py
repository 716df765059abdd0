"""K-means on a device, against scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import k_means
from sklearn.datasets import make_blobs

from twofold.core.kmeans import kmeans_labels, labels_on_device

torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
pytestmark = pytest.mark.torch

CPU = torch.device("cpu")


def overlapping(n=600, k=7, seed=0):
    """Return blobs that overlap, so that every start ends somewhere else."""
    return make_blobs(n, 5, centers=k, cluster_std=4.0, random_state=seed)[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_labels_are_those_of_scikit_learn(seed, weighted):
    points = overlapping(seed=seed)
    weights = np.random.default_rng(seed).integers(1, 9, 600) * 1.0
    weights = weights if weighted else None
    found = labels_on_device(points, 7, seed, 4, weights, CPU)
    expected = k_means(points, 7, n_init=4, random_state=seed, sample_weight=weights)[1]
    np.testing.assert_array_equal(found, expected)


def test_a_cluster_that_becomes_empty_is_left_to_scikit_learn():
    points = np.repeat(np.eye(3), 4, axis=0)  # three distinct points, five clusters
    assert labels_on_device(points, 5, 0, 2, None, CPU) is None


def test_many_points_go_to_the_device(monkeypatch):
    points = overlapping(900)
    plain = kmeans_labels(points, 7, 0)
    monkeypatch.setattr("twofold.core.kmeans._FEWEST_FOR_GPU", 900)
    monkeypatch.setattr("twofold.core.kmeans.k_means", None)  # not to be called
    np.testing.assert_array_equal(kmeans_labels(points, 7, 0, device=CPU), plain)
