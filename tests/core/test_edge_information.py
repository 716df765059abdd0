"""The mutual information of the clusters at both ends of an edge."""

import numpy as np
import problems
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import mutual_info_score

from twofold.core.edge_information import edge_information, raise_information
from twofold.core.modularity import modularity
from twofold.metrics import clustering_accuracy


def random_graph(n=40, seed=0):
    """Symmetric whole weights, as scikit-learn takes them, most of them 0."""
    rng = np.random.default_rng(seed)
    half = np.triu(rng.integers(1, 9, (n, n)) * (rng.uniform(size=(n, n)) < 0.3))
    return half + half.T


def blocks(sizes, noise=0.0):
    """Samples of a block all joined to each other, and all others by ``noise``."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return np.where(labels[:, None] == labels, 1.0, noise), labels


def test_it_is_the_mutual_information_of_scikit_learn():
    weights = random_graph()
    labels = np.random.default_rng(1).integers(4, size=40)
    table = np.array(
        [
            [weights[labels == a][:, labels == b].sum() for b in range(4)]
            for a in range(4)
        ]
    )
    expected = mutual_info_score(None, None, contingency=table)
    assert edge_information(csr_array(weights), labels) == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_separate_clusters_of_one_size_tell_log_k(k):
    weights, labels = blocks([5] * k)
    assert edge_information(csr_array(weights), labels) == pytest.approx(np.log(k))


def test_clusters_that_say_nothing_of_the_edges_tell_nothing():
    weights = csr_array(np.ones((12, 12)))
    told = edge_information(weights, np.arange(12) % 3)
    assert 0 <= told < 1e-12


def test_a_graph_without_edges_tells_nothing():
    assert edge_information(csr_array((4, 4)), np.array([0, 0, 1, 1])) == 0


def test_many_clusters_tell_more_than_few_large_ones_beside_tiny_ones():
    """Though these have the higher modularity."""
    weights, fine = blocks([10] * 10, noise=0.01)
    groups = fine // 2
    pairs = groups[:, None] == groups
    weights = csr_array(np.where(pairs & (weights < 1), 0.3, weights))
    coarse = groups.copy()
    coarse[[0, 20, 40, 60, 80]] = np.arange(5, 10)  # ten clusters, five of one sample
    assert modularity(weights, coarse) > modularity(weights, fine)
    assert edge_information(weights, coarse) < edge_information(weights, fine)


def best_of_single_moves(weights, labels):
    """The highest edge information after a move of one sample, by brute force."""
    best, k = edge_information(weights, labels), 1 + labels.max()
    for i in range(len(labels)):
        for cluster in range(k):
            moved = labels.copy()
            moved[i] = cluster
            if len(np.unique(moved)) == k:
                best = max(best, edge_information(weights, moved))
    return best


@pytest.mark.parametrize("seed", range(10))
def test_moves_raise_it_nearly_as_far_as_single_moves_can(seed):
    """They follow the first order of the rise, so that a little may be left."""
    weights = csr_array(problems.planted(60, 4, 0.4, 0.1, seed)[0])
    start = np.random.default_rng(seed).integers(4, size=60)
    found = raise_information(weights, start)
    reached = edge_information(weights, found)
    assert reached > edge_information(weights, start)
    assert best_of_single_moves(weights, found) < 1.05 * reached
    assert len(np.unique(found)) == 4


@pytest.mark.parametrize("seed", range(5))
def test_moves_find_clusters_of_unequal_sizes(seed):
    """Where a tenth of the samples have a wrong label."""
    rng = np.random.default_rng(seed)
    weights, labels = blocks([40, 30, 20, 13])
    drop = np.triu(rng.uniform(size=weights.shape) < 0.6, 1)
    noise = np.triu(rng.uniform(size=weights.shape) < 0.03, 1)
    half = np.where(np.triu(weights, 1) > 0, drop, noise).astype(float)
    start = labels.copy()
    wrong = rng.choice(len(labels), 10, replace=False)
    start[wrong] = rng.integers(4, size=10)
    found = raise_information(csr_array(half + half.T), start)
    assert clustering_accuracy(labels, found) > 0.98


def test_samples_without_edges_stay():
    weights, labels = blocks([4, 4, 1, 1])
    weights[8:, 8:] = 0
    found = raise_information(csr_array(weights), labels)
    np.testing.assert_array_equal(found, labels)
    nothing = csr_array((10, 10))
    np.testing.assert_array_equal(raise_information(nothing, labels), labels)
