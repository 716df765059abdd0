"""Exchanges of clusters: what they mend, and what they never do."""

import numpy as np
import pytest
from problems import planted
from scipy.sparse import block_diag, csr_array

from twofold.core.exchanges import exchange_clusters
from twofold.core.modularity import modularity, refine_labels


def same_partition(one, other):
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def joined_and_cut(groups):
    """Clusters 0 and 1 are joined, and cluster 2 is cut in half."""
    labels = np.where(groups == 1, 0, groups)
    cut = np.flatnonzero(groups == 2)
    labels[cut[::2]] = 1
    return labels


@pytest.mark.parametrize("seed", range(5))
def test_an_exchange_mends_what_moves_cannot(seed):
    W, groups = planted(200, 5, 0.5, 0.02, seed)
    labels = joined_and_cut(groups)
    assert not same_partition(refine_labels(W, labels), groups)
    assert same_partition(exchange_clusters(W, labels, 0), groups)


def test_several_faults_are_mended_one_after_another():
    W, groups = planted(400, 8, 0.5, 0.02)
    labels = joined_and_cut(groups)
    again = joined_and_cut((groups - 4) % 8)  # the same for clusters 4, 5 and 6
    labels = np.where(np.isin(groups, (4, 5, 6)), (again + 4) % 8, labels)
    assert same_partition(exchange_clusters(W, labels, 0), groups)


@pytest.mark.parametrize("seed", range(8))
def test_modularity_never_falls_and_no_cluster_is_lost(seed):
    W, _ = planted(60, 3, 0.2, 0.15, seed)
    k = 2 + seed
    labels = np.random.RandomState(seed).permutation(np.arange(60) % k)
    found = exchange_clusters(W, labels, 0)
    assert modularity(W, found) >= modularity(W, labels)
    assert set(found) == set(range(k))


def test_good_clusters_are_left_alone():
    W, groups = planted(120, 4, 0.5, 0.02)
    np.testing.assert_array_equal(exchange_clusters(W, groups, 0), groups)


def test_samples_without_edges_and_clusters_of_one_are_no_obstacle():
    W, groups = planted(90, 3, 0.5, 0.02)
    W = csr_array(block_diag([W, np.zeros((4, 4))]))
    labels = np.concatenate([joined_and_cut(groups), [3, 3, 4, 5]])
    found = exchange_clusters(W, labels, 0)
    assert same_partition(found[:90], groups)
    assert modularity(W, found) >= modularity(W, labels)


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]])
def test_there_is_nothing_to_exchange_among_few_clusters(labels):
    W = csr_array(np.ones((4, 4)) - np.eye(4))
    np.testing.assert_array_equal(exchange_clusters(W, np.array(labels), 0), labels)


def test_the_same_seed_gives_the_same_clusters():
    W, _ = planted(150, 5, 0.15, 0.08)
    labels = np.arange(150) % 5
    one, other = (exchange_clusters(W, labels, 3) for _ in range(2))
    np.testing.assert_array_equal(one, other)
