"""The mutual information of the clusters at both ends of an edge."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import mutual_info_score

from twofold.core.edge_information import edge_information
from twofold.core.modularity import modularity


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
