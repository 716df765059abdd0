"""The confusion table, counted by hand."""

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twofold.app.report.sections import scores
from twofold.app.report.sections.scores import Confusion, tabulate


def pairs(max_classes, max_clusters):
    return st.lists(
        st.tuples(st.integers(0, max_classes - 1), st.integers(0, max_clusters - 1)),
        min_size=1,
        max_size=40,
    )


@given(pairs(4, 4))
def test_every_count_is_that_of_its_class_and_cluster(samples):
    target, clusters = np.array(samples).T
    _, clusters = np.unique(clusters, return_inverse=True)  # all occur
    names = ["d", "a", "c", "b"]
    table = tabulate(target, clusters, names)
    assert table.classes == [names[i] for i in sorted(set(target.tolist()))]
    assert sorted(table.clusters) == sorted(set(clusters.tolist()))
    for name, row in zip(table.classes, table.counts, strict=True):
        for cluster, count in zip(table.clusters, row, strict=True):
            both = (target == names.index(name)) & (clusters == cluster)
            assert count == both.sum()


@given(pairs(4, 4))
def test_no_order_of_the_columns_has_more_on_the_diagonal(samples):
    target, clusters = np.array(samples).T
    _, clusters = np.unique(clusters, return_inverse=True)
    counts = np.array(tabulate(target, clusters, list("abcd")).counts)
    if counts.shape[0] > counts.shape[1]:  # some class has no column to itself
        return
    best = max(
        sum(counts[i, j] for i, j in enumerate(order))
        for order in permutations(range(counts.shape[1]), counts.shape[0])
    )
    assert np.trace(counts[:, : counts.shape[0]]) == best


def test_known_answer():
    target = np.array([0, 0, 0, 1, 1, 2])
    clusters = np.array([2, 2, 1, 0, 0, 1])
    table = tabulate(target, clusters, ["x", "y", "z"])
    assert table == Confusion(
        classes=["x", "y", "z"],
        clusters=[2, 0, 1],
        counts=[[2, 0, 1], [0, 2, 0], [0, 0, 1]],
    )


def test_a_table_nobody_could_read_is_left_out(monkeypatch):
    target = np.array([0, 1, 2])
    monkeypatch.setattr(scores, "_MOST_CELLS", 8)
    assert tabulate(target, target, ["x", "y", "z"]) is None
    assert tabulate(target[:2], target[:2], ["x", "y"]) is not None
