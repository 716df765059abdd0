from itertools import combinations

import numpy as np
import pytest
from problems import planted
from scipy.sparse import csr_array

from twofold.core.communities import graph_clusters, merge_clusters
from twofold.core.kmeans import kmeans_labels
from twofold.core.modularity import modularity, refine_labels
from twofold.core.null_model import chance_modularity
from twofold.core.spectral import spectral_embedding
from twofold.metrics import clustering_accuracy


@pytest.mark.parametrize("k", [2, 3, 5])
def test_planted_clusters_are_found(k):
    W, groups = planted(120, k, 0.5, 0.02)
    labels = graph_clusters(W, k, 0)
    assert len(set(zip(labels, groups, strict=True))) == k
    assert set(labels) == set(range(k))


def test_clusters_have_more_modularity_than_the_embedding_alone():
    W, _ = planted(120, 4, 0.12, 0.05)
    alone = kmeans_labels(spectral_embedding(W, 4, 0), 4, 0)
    assert modularity(W, graph_clusters(W, 4, 0)) > modularity(W, alone)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (6, 1), (6, 6), (12, 5)])
def test_small_graphs_have_clusters_named_without_gaps(n, k):
    W, _ = planted(n, 2, 0.9, 0.1)
    labels = graph_clusters(W, k, 0)
    assert set(labels) == set(range(labels.max() + 1))
    assert labels.max() < k
    assert np.isfinite(chance_modularity(W, k, 0))


def merged_one_by_one(W, labels, k):
    """The same merges, each found by trying all pairs."""
    while labels.max() + 1 > k:
        trials = [
            np.where(labels == b, a, labels - (labels > b))
            for a, b in combinations(range(labels.max() + 1), 2)
        ]
        labels = trials[np.argmax([modularity(W, trial) for trial in trials])]
    return labels


@pytest.mark.parametrize("seed", range(4))
def test_merges_are_those_of_all_pairs_tried(seed):
    W, _ = planted(60, 3, 0.4, 0.1, seed)
    fine = np.random.RandomState(seed).permutation(np.arange(60) % 9)
    expected = merged_one_by_one(W, fine, 4)
    np.testing.assert_array_equal(merge_clusters(W, fine, 4), expected)


def test_fewer_clusters_than_wanted_are_left_alone():
    W, _ = planted(20, 2, 0.5, 0.1)
    labels = np.arange(20) % 3
    np.testing.assert_array_equal(merge_clusters(W, labels, 5), labels)


def rings(n_rings, size, n_links, seed=0):
    """Samples on rings, as of objects that turn, with some edges to the next ring."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_rings), size)
    W = np.zeros((len(groups), len(groups)))
    i = np.arange(size)
    for ring in range(n_rings):
        for step in (1, 2, 3):
            W[ring * size + i, ring * size + (i + step) % size] = 1
        ends = rng.integers(size, size=(2, n_links))
        W[ring * size + ends[0], (ring + 1) % n_rings * size + ends[1]] = 0.5
    return csr_array(np.maximum(W, W.T)), groups


def test_merged_clusters_find_rings_that_k_means_cuts():
    W, groups = rings(10, 80, 10)
    points = spectral_embedding(W, 10, 0)
    spectral = refine_labels(W, kmeans_labels(points, 10, 0))
    labels = graph_clusters(W, 10, 0)
    assert clustering_accuracy(groups, spectral) < 0.9
    assert clustering_accuracy(groups, labels) > 0.95
    assert modularity(W, labels) > modularity(W, spectral)


def test_small_clusters_are_not_merged():
    """Finer clusters of fewer than five samples follow the noise."""
    W, _ = planted(44, 3, 0.4, 0.1)
    points = spectral_embedding(W, 3, 0)
    spectral = refine_labels(W, kmeans_labels(points, 3, 0))
    labels = graph_clusters(W, 3, 0)
    assert len(set(zip(labels, spectral, strict=True))) == 3


def test_clusters_are_named_in_the_order_of_their_first_samples():
    W, groups = planted(120, 4, 0.5, 0.02)
    order = np.random.RandomState(0).permutation(120)
    labels = graph_clusters(W[order][:, order], 4, 0)
    _, first = np.unique(groups[order], return_index=True)
    expected = np.argsort(np.argsort(first))[groups[order]]
    np.testing.assert_array_equal(labels, expected)
