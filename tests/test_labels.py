import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from twofold._labels import mean_rows, read_labels


def test_labels_are_those_of_k_means_where_all_samples_differ():
    V = np.random.default_rng(0).uniform(size=(40, 3))
    labels = read_labels(V, np.arange(40), 3, seed=5)
    kmeans = KMeans(3, n_init=10, random_state=5).fit(V)
    np.testing.assert_array_equal(labels, kmeans.labels_)


def test_identical_samples_get_one_label():
    V = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.9], [1.0, 0.1]])
    labels = read_labels(V, np.array([0, 1, 1, 1]), 2, seed=0)
    assert labels[1] == labels[2] == labels[3] != labels[0]


def test_fewer_clusters_than_asked_for_are_said():
    V = np.random.default_rng(0).uniform(size=(6, 3))
    with pytest.warns(ConvergenceWarning, match="found 2 of n_clusters=3 .* only 2 of"):
        labels = read_labels(V, np.array([0, 0, 0, 1, 1, 1]), 3, seed=0)
    assert set(labels) == {0, 1}


def test_means_of_clusters():
    V = np.random.default_rng(0).uniform(size=(6, 3)).astype(np.float32)
    means = mean_rows(V, np.array([2, 0, 1, 0, 2, 2]))
    assert means.dtype == np.float32
    expected = [V[[1, 3]].mean(axis=0), V[2], V[[0, 4, 5]].mean(axis=0)]
    np.testing.assert_allclose(means, expected, rtol=1e-6)
