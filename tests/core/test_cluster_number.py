"""The number of clusters: planted ones, and its two measures written literally."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from twofold.core.cluster_number import (
    EXPONENT,
    choose_cluster_number,
    label_entropy,
    neighborhood,
    without_loops,
)
from twofold.core.communities import graph_clusters
from twofold.core.modularity import modularity
from twofold.metrics import clustering_accuracy


def neighbors(sizes, inside, outside, seed=0):
    """Each sample joined to so many of its own cluster, and to so many of all."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    W = np.zeros((len(labels), len(labels)))
    for i in range(len(labels)):
        own = np.flatnonzero(labels == labels[i])
        W[i, rng.choice(own[own != i], inside, replace=False)] = 1
        W[i, rng.choice(len(labels), outside, replace=False)] = 1
    W = np.maximum(W, W.T)
    np.fill_diagonal(W, 0)
    return csr_array(W), labels


# The choice


@pytest.mark.parametrize("sizes", [(25, 25, 25), (20, 30, 25, 28, 22), (12,) * 9])
@pytest.mark.parametrize("fill", [False, True])
def test_the_planted_number_is_found(sizes, fill):
    weights, labels = neighbors(sizes, 5, 1)
    numbers = [2, 3, 4, 5, 7, 9, 12, 16]
    found = choose_cluster_number(weights, numbers, 0, fill=fill)
    assert found.chosen == len(sizes)
    assert clustering_accuracy(labels, found.labels) == 1


def test_many_small_clusters_are_found_where_modularity_sees_fewer():
    """Its resolution is a number of edges, about that of the root of all."""
    weights, labels = neighbors([6] * 30, 4, 1)
    numbers = [5, 10, 15, 20, 25, 30, 35]
    found = choose_cluster_number(weights, numbers, 0, fill=False)
    assert found.chosen == 30
    assert clustering_accuracy(labels, found.labels) > 0.95
    by_modularity = [
        modularity(weights, graph_clusters(weights, k, 0)) for k in numbers
    ]
    assert numbers[int(np.argmax(by_modularity))] < 30


def check_choice(found, weights, counts):
    """The scores are those of the definition, and the likely range is around."""
    assert found.numbers == sorted(found.numbers)
    assert max(found.scores) == found.scores[found.numbers.index(found.chosen)] == 1
    low, high = found.likely
    assert low <= found.chosen <= high
    assert {low, high} <= set(range(found.numbers[0], found.numbers[-1] + 1))
    for k, score in zip(found.numbers, found.scores, strict=True):
        if score >= 0.97:
            assert low <= k <= high
    assert len(np.unique(found.labels)) == found.chosen
    assert set(found.labels) == set(range(found.chosen))


@pytest.mark.parametrize("seed", range(2))
def test_the_likely_range_has_the_choice_and_all_that_is_nearly_as_good(seed):
    rng = np.random.default_rng(seed)
    weights, _ = neighbors(rng.integers(6, 30, 6), 4, seed, seed)
    numbers = [2, 3, 5, 8, 13, 20]
    found = choose_cluster_number(weights, numbers, seed, fill=False)
    assert found.numbers == numbers
    check_choice(found, weights, np.ones(weights.shape[0]))
    filled = choose_cluster_number(weights, numbers, seed, fill=True)
    assert set(numbers) <= set(filled.numbers)
    check_choice(filled, weights, np.ones(weights.shape[0]))
    # Nothing is left out between the numbers beside the choice.
    at = filled.numbers.index(filled.chosen)
    beside = filled.numbers[max(at - 1, 0) : at + 2]
    assert all(b - a == 1 for a, b in pairwise(beside))


def test_scores_are_information_for_entropy():
    """Of separate clusters of one size, log k and log k: their ratio is a power."""
    sizes = [8] * 4
    labels = np.repeat(np.arange(4), sizes)
    W = (labels[:, None] == labels) - np.eye(32)
    found = choose_cluster_number(csr_array(W), [2, 4], 0, fill=False)
    expected = (np.log(2) / np.log(4)) ** (1 - EXPONENT)
    assert found.chosen == 4
    assert found.scores == pytest.approx([expected, 1])


def test_edges_of_samples_to_themselves_say_nothing():
    weights, _ = neighbors([15] * 4, 5, 1)
    looped = csr_array(weights + csr_array(np.diag(np.arange(60.0))))
    np.testing.assert_array_equal(
        without_loops(looped).toarray(), without_loops(weights).toarray()
    )
    one, other = (
        choose_cluster_number(each, [2, 3, 4, 5], 0, fill=False)
        for each in (weights, looped)
    )
    assert (one.scores, one.chosen) == (other.scores, other.chosen)


def test_a_graph_without_edges_has_no_number():
    assert choose_cluster_number(csr_array((12, 12)), [2, 3], 0, fill=True) is None


def test_weights_of_one_change_nothing():
    weights, _ = neighbors([15] * 4, 5, 1)
    plain = choose_cluster_number(weights, [2, 3, 4, 5], 0, fill=False)
    given = choose_cluster_number(weights, [2, 3, 4, 5], 0, np.ones(60), fill=False)
    assert (given.scores, given.chosen) == (plain.scores, plain.chosen)
    np.testing.assert_array_equal(given.labels, plain.labels)


# What labels cost


@pytest.mark.parametrize("floor", [0.0, 0.03, 0.2, 7.0])
def test_the_entropy_is_a_sum_over_samples(floor):
    labels = np.repeat([0, 1, 2, 3], [1, 5, 14, 30])
    counts = np.random.default_rng(0).integers(1, 5, 50)
    total, expected = counts.sum(), 0.0
    for i in range(50):
        share = counts[labels == labels[i]].sum() / total
        expected -= counts[i] / total * np.log(max(share, min(floor, 1.0)))
    assert label_entropy(labels, counts, floor) == pytest.approx(expected)


def test_weights_of_samples_are_copies():
    labels = np.array([0, 0, 1, 1, 1, 2])
    counts = np.array([3, 1, 2, 4, 1, 5])
    copies = np.repeat(labels, counts)
    for floor in (0.0, 0.3):
        weighted = label_entropy(labels, counts, floor)
        repeated = label_entropy(copies, np.ones(16), floor)
        assert weighted == pytest.approx(repeated)


@pytest.mark.parametrize(("n", "degree"), [(9, 2), (12, 4), (30, 10)])
def test_the_neighborhood_of_a_regular_graph_is_its_degree(n, degree):
    away = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    ring = np.minimum(away, n - away)
    W = ((ring > 0) & (ring <= degree // 2)) * 0.37
    assert neighborhood(csr_array(W)) == pytest.approx(degree)


def test_the_neighborhood_is_the_mean_perplexity():
    rng = np.random.default_rng(0)
    W = np.triu(rng.uniform(size=(20, 20)) * (rng.uniform(size=(20, 20)) < 0.3), 1)
    W[:, 7] = W[7] = 0  # joined to none
    W[0, 19] = 1
    W += W.T
    each = []
    for row in W:
        parts = row[row > 0] / row.sum() if row.any() else []
        if len(parts):
            each.append(np.prod(parts**-parts))
    assert len(each) < 20
    assert neighborhood(csr_array(W)) == pytest.approx(np.mean(each))
    assert neighborhood(csr_array((4, 4))) == 1
