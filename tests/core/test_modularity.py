import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.sparse import csr_array

from twofold.core.modularity import indicator, modularity, refine_labels
from twofold.core.moves import Clusters


def double_sum(W, labels):
    """Newman's definition: sum over all pairs of a cluster, divided by all weights."""
    total, degree = W.sum(), W.sum(axis=1)
    if total == 0:
        return 0.0
    beyond = W - np.outer(degree, degree) / total
    together = labels[:, None] == labels
    return (beyond * together).sum() / total


def random_graph(n, edges, seed, loops=False):
    """Return W (n, n) with random weights and a mean degree of ``edges``."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < edges / n), 1)
    W = W + W.T
    return W + np.diag(rng.uniform(size=n)) if loops else W


def random_labels(n, k, seed):
    """Return labels without an empty cluster."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, size=n)
    labels[rng.permutation(n)[:k]] = np.arange(k)
    return labels


def cliques(sizes):
    """Return disjoint complete graphs of unit weights, and their labels."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return (labels[:, None] == labels) - np.eye(len(labels)), labels


GRAPHS = {
    "n": st.integers(4, 30),
    "k": st.integers(1, 4),
    "edges": st.integers(0, 8),
    "loops": st.booleans(),
    "seed": st.integers(0, 10_000),
}


# The score


@settings(max_examples=60, deadline=None)
@given(**GRAPHS)
def test_modularity_is_the_double_sum(n, k, edges, loops, seed):
    W, labels = random_graph(n, edges, seed, loops), random_labels(n, k, seed)
    found = modularity(csr_array(W), labels)
    assert np.isclose(found, double_sum(W, labels), atol=1e-12)
    assert found <= 1 - 1 / k + 1e-12
    assert np.isclose(found, modularity(csr_array(3.7 * W), labels), atol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_equal_cliques_reach_the_maximum(k):
    W, labels = cliques([4] * k)
    assert np.isclose(modularity(csr_array(W), labels), 1 - 1 / k)
    assert np.isclose(modularity(csr_array(W), np.zeros(4 * k, dtype=int)), 0)


def test_without_edges_it_is_zero():
    assert modularity(csr_array((5, 5)), np.array([0, 1, 2, 0, 1])) == 0


def test_single_precision_is_enough():
    W, labels = random_graph(40, 6, 0), random_labels(40, 3, 0)
    found = modularity(csr_array(W.astype(np.float32)), labels)
    assert np.isclose(found, double_sum(W, labels), rtol=1e-5)


def test_the_indicator_has_a_one_for_each_sample():
    labels = np.array([2, 0, 2, 1])
    np.testing.assert_array_equal(indicator(labels).toarray(), np.eye(3)[labels])
    np.testing.assert_array_equal(indicator(labels, 5).toarray(), np.eye(5)[labels])


# The moves


def best_by_one_move(W, labels):
    """Return the highest modularity after a single move that empties no cluster."""
    best = double_sum(W, labels)
    for i in range(len(labels)):
        if (labels == labels[i]).sum() == 1:
            continue
        for cluster in range(labels.max() + 1):
            moved = labels.copy()
            moved[i] = cluster
            best = max(best, double_sum(W, moved))
    return best


@settings(max_examples=60, deadline=None)
@given(**GRAPHS)
def test_no_move_of_one_sample_is_left_in_small_graphs(n, k, edges, loops, seed):
    """Up to 32 samples move in turn, so that the gain of each move is exact."""
    W, labels = random_graph(n, edges, seed, loops), random_labels(n, k, seed)
    before = labels.copy()
    found = refine_labels(csr_array(W), labels)
    np.testing.assert_array_equal(labels, before)
    assert set(found) == set(labels)
    reached = double_sum(W, found)
    assert reached >= double_sum(W, labels) - 1e-12
    assert best_by_one_move(W, found) <= reached + 1e-9


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(33, 300),
    k=st.integers(1, 12),
    edges=st.integers(0, 20),
    seed=st.integers(0, 10_000),
)
def test_moves_never_lower_it_in_larger_graphs(n, k, edges, seed):
    """Several samples move together, which may end the rounds early."""
    W, labels = random_graph(n, edges, seed), random_labels(n, k, seed)
    found = refine_labels(csr_array(W), labels)
    assert set(found) == set(labels)
    assert double_sum(W, found) >= double_sum(W, labels) - 1e-12


@pytest.mark.parametrize("sizes", [(5, 6, 7), (40, 50, 60), (4, 30, 90)])
def test_misplaced_samples_return_to_their_pieces(sizes):
    W, labels = cliques(sizes)
    start = labels.copy()
    wrong = np.cumsum(sizes) - 1  # the last sample of each clique
    start[wrong] = (start[wrong] + 1) % 3
    np.testing.assert_array_equal(refine_labels(csr_array(W), start), labels)


@pytest.mark.parametrize("n", [8, 70])
def test_no_cluster_loses_its_last_sample(n):
    """A complete graph with one cluster for each sample, where every move is a gain."""
    W, _ = cliques([n])
    labels = np.arange(n)
    np.testing.assert_array_equal(np.sort(refine_labels(csr_array(W), labels)), labels)
    labels = np.minimum(np.arange(n), 2)  # two clusters of one sample
    assert set(refine_labels(csr_array(W), labels)) == {0, 1, 2}


def test_samples_without_edges_stay():
    W, labels = cliques([6, 6])
    W = np.pad(W, ((0, 4), (0, 4)))
    start = np.concatenate([labels, [0, 1, 1, 0]])
    start[3] = 1
    expected = np.concatenate([labels, [0, 1, 1, 0]])
    np.testing.assert_array_equal(refine_labels(csr_array(W), start), expected)
    none = csr_array((4, 4))
    np.testing.assert_array_equal(refine_labels(none, start[-4:]), start[-4:])


def test_self_loops_do_not_prevent_moves():
    W, labels = cliques([6, 6])
    W[0, 0] = 3.0
    start = labels.copy()
    start[0] = 1
    np.testing.assert_array_equal(refine_labels(csr_array(W), start), labels)


@pytest.mark.parametrize("factor", [1.0, 0.1, 1 / 3.7])
def test_of_clusters_with_equal_gain_the_first_is_chosen(factor):
    """Both have the same edges, summed in another order, so that rounding differs."""
    kite = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    for order in itertools.permutations(range(4)):
        W = block_diag(0, 0, 1 - np.eye(2), kite, kite[np.ix_(order, order)])
        W[0, 4] = W[4, 0] = W[0, 8] = W[8, 0] = 1
        labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
        found = refine_labels(csr_array(factor * W), labels)
        np.testing.assert_array_equal(found, [1, *labels[1:]])


def test_a_single_sample_or_cluster_stays():
    none = refine_labels(csr_array((1, 1)), np.array([0]))
    np.testing.assert_array_equal(none, [0])
    W, _ = cliques([5])
    one = refine_labels(csr_array(W), np.zeros(5, dtype=int))
    np.testing.assert_array_equal(one, np.zeros(5))


@settings(max_examples=30, deadline=None)
@given(**GRAPHS)
def test_the_sums_follow_the_moves(n, k, edges, loops, seed):
    """Against sums over all edges after each of ten moves of several samples."""
    W, labels = random_graph(n, edges, seed, loops), random_labels(n, k, seed)
    clusters, rng = Clusters(csr_array(W), labels), np.random.default_rng(seed)
    others = W - np.diag(np.diagonal(W))
    for _ in range(10):
        samples = rng.permutation(n)[: rng.integers(1, n + 1)]
        clusters.move(
            samples, clusters.kept(samples, rng.integers(k, size=len(samples)))
        )
        members = np.eye(k)[clusters.labels]
        np.testing.assert_array_equal(clusters.sizes, members.sum(axis=0))
        assert clusters.sizes.min() > 0
        sums = {
            "weights_to": others @ members,
            "cluster_degree": W.sum(axis=1) @ members,
            "between": members.T @ W @ members,
            "inside": np.trace(members.T @ W @ members),
        }
        found = vars(clusters) | {
            "between": clusters.between(),
            "inside": clusters.inside(),
        }
        for name, expected in sums.items():
            np.testing.assert_allclose(found[name], expected, atol=1e-12)
