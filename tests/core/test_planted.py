"""What clusters tell about edges, its moves, its merges and its cuts: brute force."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree
from scipy.linalg import block_diag
from scipy.sparse import csr_array

from twofold.core.planted import (
    best_split,
    merge_tree,
    merged_labels,
    merges,
    partition_information,
    raise_partition_information,
)

GRAPHS = {
    "n": st.integers(4, 30),
    "k": st.integers(1, 5),
    "edges": st.integers(2, 8),
    "loops": st.booleans(),
    "seed": st.integers(0, 10_000),
}


def random_graph(n, edges, seed, loops=False):
    """Return W (n, n) with random weights and a mean degree of ``edges`` or more."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < edges / n), 1)
    W[0, 1] = W[n - 2, n - 1] = 1.0
    W = W + W.T
    return W + np.diag(rng.uniform(size=n)) if loops else W


def random_labels(n, k, seed):
    """Return labels of at most k clusters, none of them empty."""
    rng, k = np.random.default_rng(seed), min(n, k)
    labels = rng.integers(0, k, size=n)
    labels[rng.permutation(n)[:k]] = np.arange(k)
    return labels


def cliques(sizes, between=0.0):
    """Return complete graphs with weak edges between them, and their labels."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    together = labels[:, None] == labels
    return np.where(together, 1.0, between) - np.eye(len(labels)), labels


def literal(W, labels):
    """Mean log rate of an edge, one term for each pair of samples.

    The rate is a / b times that of the degrees: a within clusters, b between them, as
    makes the edges likeliest. It is negative if edges within are the rarer ones.
    """
    total, degree = W.sum(), W.sum(axis=1)
    same = labels[:, None] == labels
    f, e = (W * same).sum() / total, (np.outer(degree, degree) * same).sum() / total**2
    if min(f, e) > 1 - 1e-10 or max(f, e) < 1e-10:
        return 0.0
    rate = np.where(same, f / e, (1 - f) / (1 - e))
    edges = W > 0
    told = (W[edges] / total * np.log(rate[edges])).sum()
    return told if f >= e else -told


def told_of(W, labels):
    """The information by the function that is tested."""
    total, degree = W.sum(), W.sum(axis=1)
    inside = sum(
        W[np.ix_(labels == c, labels == c)].sum() for c in range(labels.max() + 1)
    )
    expected = sum(degree[labels == c].sum() ** 2 for c in range(labels.max() + 1))
    return float(partition_information(inside / total, expected / total**2))


def close(one, other):
    # Shares are clipped at 1e-12, and their logarithms are of 30 at most.
    return np.isclose(one, other, rtol=1e-9, atol=1e-9)


# The information


@settings(max_examples=60, deadline=None)
@given(**GRAPHS)
def test_it_is_the_mean_over_all_pairs(n, k, edges, loops, seed):
    W, labels = random_graph(n, edges, seed, loops), random_labels(n, k, seed)
    assert close(told_of(W, labels), literal(W, labels))


@pytest.mark.parametrize("k", [2, 3, 12])
def test_separate_clusters_of_one_size_tell_log_k(k):
    W, labels = cliques([5] * k)
    assert told_of(W, labels) == pytest.approx(np.log(k))


def test_clusters_that_are_avoided_tell_less_than_nothing():
    W, labels = cliques([4, 4])
    W = 1 - W - np.eye(8)  # each joined to those of the other cluster alone
    assert told_of(W, labels) == pytest.approx(-np.log(2))
    assert partition_information(0.3, 0.3) == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(partition_information([0.0, 1.0], [0.0, 1.0]), [0, 0])


# The moves


@settings(max_examples=60, deadline=None)
@given(**GRAPHS)
def test_moves_never_lower_it_and_empty_no_cluster(n, k, edges, loops, seed):
    W, labels = random_graph(n, edges, seed, loops), random_labels(n, k, seed)
    before = labels.copy()
    found, told = raise_partition_information(csr_array(W), labels)
    np.testing.assert_array_equal(labels, before)
    assert set(found) == set(labels)
    assert close(told, literal(W, found))
    assert told >= literal(W, labels) - 1e-12


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(33, 200),
    k=st.integers(1, 20),
    edges=st.integers(2, 20),
    seed=st.integers(0, 10_000),
)
def test_moves_of_several_samples_at_once_do_not_either(n, k, edges, seed):
    W, labels = random_graph(n, edges, seed), random_labels(n, k, seed)
    found, told = raise_partition_information(csr_array(W), labels)
    assert set(found) == set(labels)
    assert close(told, literal(W, found))
    assert told >= literal(W, labels) - 1e-12


@pytest.mark.parametrize("sizes", [(5, 6, 7), (40, 50, 60), (4, 30, 90)])
def test_misplaced_samples_return(sizes):
    W, labels = cliques(sizes, between=0.01)
    start = labels.copy()
    wrong = np.cumsum(sizes) - 1
    start[wrong] = (start[wrong] + 1) % 3
    found, _ = raise_partition_information(csr_array(W), start)
    np.testing.assert_array_equal(found, labels)


def test_without_edges_nothing_moves():
    labels = np.array([0, 1, 1, 0, 2])
    found, told = raise_partition_information(csr_array((5, 5)), labels)
    np.testing.assert_array_equal(found, labels)
    assert told == 0


# The merges


@settings(max_examples=40, deadline=None)
@given(**GRAPHS)
def test_each_merge_is_the_best_of_all_pairs(n, k, edges, loops, seed):
    W = random_graph(n, edges, seed, loops)
    labels = current = random_labels(n, k + 2, seed)
    for (a, b), merged, told in merges(csr_array(W), labels):
        assert a < b
        every = {}
        for pair in combinations(range(current.max() + 1), 2):
            joined = np.where(current == pair[1], pair[0], current)
            every[pair] = joined - (joined > pair[1])
        best = max(literal(W, each) for each in every.values())
        assert close(told, best)
        assert close(literal(W, every[a, b]), best)
        np.testing.assert_array_equal(merged, every[a, b])
        current = merged
    assert current.max() + 1 == 2
    assert not list(merges(csr_array(W), current))


# The cuts


@settings(max_examples=40, deadline=None)
@given(**GRAPHS)
def test_the_best_cut_is_the_best_of_all(n, k, edges, loops, seed):
    W, labels = random_graph(n, edges, seed, loops), random_labels(n, k, seed)
    finer, k = random_labels(n, 2 * k, seed + 1), 1 + labels.max()
    found, cuts = best_split(csr_array(W), labels, finer), []
    for cluster in range(k):
        for part in range(finer.max() + 1):
            cut = (labels == cluster) & (finer == part)
            if cut.any() and cut.sum() < (labels == cluster).sum():
                cuts.append(np.where(cut, k, labels))
    if not cuts:
        assert found is None
        return
    assert any(np.array_equal(found, cut) for cut in cuts)
    assert close(literal(W, found), max(literal(W, cut) for cut in cuts))


def test_labels_that_cut_nothing_give_no_cut():
    W, labels = cliques([4, 5, 6])
    assert best_split(csr_array(W), labels, labels[::-1].max() - labels) is None
    assert best_split(csr_array(W), labels, np.zeros(15, dtype=int)) is None


# The tree


def check_tree(children, k):
    """Each name once, as a child of a later merge, as scikit-learn has them."""
    assert children.shape == (k - 1, 2)
    assert sorted(children.ravel()) == list(range(2 * k - 2))
    assert (children.max(axis=1) < k + np.arange(k - 1)).all()


@settings(max_examples=40, deadline=None)
@given(**GRAPHS)
def test_the_tree_is_that_of_the_merges(n, k, edges, loops, seed):
    W, labels = random_graph(n, edges, seed, loops), random_labels(n, k, seed)
    children, distances = merge_tree(csr_array(W), labels)
    k = 1 + labels.max()
    check_tree(children, k)
    assert distances.shape == (k - 1,)
    assert (np.diff(distances) >= 0).all()
    assert (distances >= 0).all()
    whole = literal(W, labels)
    for left, (_, merged, told) in zip(
        range(k - 1, 1, -1), merges(csr_array(W), labels), strict=True
    ):
        cut = merged_labels(labels, children, left)
        together = merged[:, None] == merged
        np.testing.assert_array_equal(cut[:, None] == cut, together)
        assert distances[k - 1 - left] >= whole - told - 1e-9


def test_pairs_of_cliques_are_merged_first():
    W, labels = cliques([8] * 6, between=0.01)
    for a, b in ((0, 3), (1, 5), (2, 4)):
        both = np.outer(labels == a, labels == b)
        W[both | both.T] = 0.4
    children, distances = merge_tree(csr_array(W), labels)
    check_tree(children, 6)
    assert {tuple(pair) for pair in children[:3]} == {(0, 3), (1, 5), (2, 4)}
    assert distances[-1] == pytest.approx(literal(W, labels))
    assert distances[2] < 0.7 * distances[3]
    np.testing.assert_array_equal(
        merged_labels(labels, children, 3), np.array([0, 1, 2, 0, 2, 1])[labels]
    )


def test_trees_of_one_and_two_clusters_and_of_no_edges():
    W, labels = cliques([3, 4])
    children, distances = merge_tree(csr_array(W), labels)
    np.testing.assert_array_equal(children, [[0, 1]])
    assert distances == pytest.approx([literal(W, labels)])
    children, distances = merge_tree(csr_array(W), np.zeros(7, dtype=int))
    assert (children.shape, distances.shape) == ((0, 2), (0,))
    children, distances = merge_tree(csr_array((9, 9)), np.arange(9) % 4)
    check_tree(children, 4)
    np.testing.assert_array_equal(distances, np.zeros(3))


def random_tree(m, seed):
    """Return random merges of m clusters."""
    rng, names, children = np.random.default_rng(seed), list(range(m)), []
    while len(names) > 1:
        pair = sorted(rng.choice(names, 2, replace=False).tolist())
        names = [name for name in names if name not in pair] + [m + len(children)]
        children.append(pair)
    return np.array(children)


@pytest.mark.parametrize(("m", "seed"), [(2, 0), (5, 1), (9, 2), (30, 3)])
def test_a_cut_is_that_of_scipy(m, seed):
    """Of merges at rising heights; clusters are named in the order of their first."""
    children, rng = random_tree(m, seed), np.random.default_rng(seed)
    sizes = [1] * m
    for one, other in children:
        sizes.append(sizes[one] + sizes[other])
    tree = np.column_stack([children, np.arange(1.0, m), sizes[m:]])
    labels = rng.integers(-1, m, size=50)
    for k in range(1, m + 1):
        of_cluster = cut_tree(tree, k)[:, 0]
        names = {name: i for i, name in enumerate(dict.fromkeys(of_cluster.tolist()))}
        expected = [-1 if i < 0 else names[of_cluster[i]] for i in labels]
        np.testing.assert_array_equal(merged_labels(labels, children, k), expected)


def test_clusters_without_samples_have_their_place_in_the_tree():
    """As of samples that were not previewed: they are merged, and cost nothing."""
    weights, labels = csr_array(block_diag(np.ones((4, 4)), np.ones((5, 5)))), [0, 2]
    labels = np.repeat(labels, [4, 5])
    children, distances = merge_tree(weights, labels, 4)
    assert sorted(children.reshape(-1)) == list(range(6))
    np.testing.assert_allclose(distances[:2], 0, atol=1e-12)
    assert distances[2] > 0.5
    np.testing.assert_array_equal(merged_labels(labels, children, 4), labels)
    assert set(merged_labels(labels, children, 2)) == {0, 1}
