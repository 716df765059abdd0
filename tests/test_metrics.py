import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twofold.metrics import accuracy, nmi, purity

labelings = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30
)


@given(labelings)
def test_accuracy_is_the_best_over_all_matchings(pairs):
    target, labels = np.array(pairs).T
    best = max(
        np.mean(np.array(order)[labels] == target)
        for order in itertools.permutations(range(4))
    )
    assert accuracy(target, labels) == pytest.approx(best)


@given(labelings)
def test_purity_counts_the_majority_of_each_cluster(pairs):
    target, labels = np.array(pairs).T
    majority = sum(np.bincount(target[labels == c]).max() for c in set(labels))
    assert purity(target, labels) == pytest.approx(majority / len(target))


@given(labelings)
def test_nmi_is_mutual_information_over_the_larger_entropy(pairs):
    target, labels = np.array(pairs).T
    joint = np.zeros((4, 4))
    np.add.at(joint, (target, labels), 1 / len(target))
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)

    def entropy(p):
        return -np.sum(p[p > 0] * np.log(p[p > 0]))

    information = entropy(rows) + entropy(columns) - entropy(joint.ravel())
    larger = max(entropy(rows), entropy(columns))
    expected = information / larger if larger > 1e-12 else 1.0
    assert nmi(target, labels) == pytest.approx(expected, abs=1e-9)


def test_names_of_clusters_do_not_matter():
    target, labels = ["a", "a", "b", "c"], [7, 7, 3, 5]
    assert (
        accuracy(target, labels) == nmi(target, labels) == purity(target, labels) == 1
    )
