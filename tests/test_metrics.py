import itertools

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from twofold.metrics import ari, clustering_accuracy, nmi, purity, score_all

OPTIONAL = np.dtypes.StringDType(na_object=np.nan)

labelings = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30
)


@given(labelings)
def test_accuracy_is_the_best_over_all_matchings(pairs):
    target, labels = np.array(pairs).T
    best = max(  # four classes to four of five clusters; 4 is the class of none
        np.mean(np.array(order)[labels] == target)
        for order in itertools.permutations(range(5))
    )
    assert clustering_accuracy(target, labels) == pytest.approx(best)
    assert clustering_accuracy(labels, target) == pytest.approx(best)


@given(labelings)
def test_purity_counts_the_majority_of_each_cluster(pairs):
    target, labels = np.array(pairs).T
    majority = sum(np.bincount(target[labels == c]).max() for c in set(labels))
    assert purity(target, labels) == pytest.approx(majority / len(target))
    assert purity(target, labels) >= clustering_accuracy(target, labels)


def entropy(p):
    return -np.sum(p[p > 0] * np.log(p[p > 0]))


@pytest.mark.parametrize(
    ("normalization", "mean"),
    [
        ("max", max),
        ("min", min),
        ("arithmetic", lambda a, b: (a + b) / 2),
        ("geometric", lambda a, b: np.sqrt(a * b)),
    ],
)
@given(labelings)
def test_nmi_is_mutual_information_over_a_mean_of_the_entropies(
    normalization, mean, pairs
):
    target, labels = np.array(pairs).T
    joint = np.zeros((4, 5))
    np.add.at(joint, (target, labels), 1 / len(target))
    rows, columns = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0))
    information = rows + columns - entropy(joint.ravel())
    score = nmi(target, labels, normalization=normalization)
    if max(rows, columns) < 1e-12:
        assert score == 1
    elif min(rows, columns) < 1e-12:
        assert score == 0
    else:
        assert score == pytest.approx(information / mean(rows, columns), abs=1e-9)


@given(labelings)
def test_ari_is_agreement_of_pairs_beyond_chance(pairs):
    target, labels = np.array(pairs).T
    first, second = np.triu_indices(len(target), k=1)
    if not len(first):
        return
    same, together = target[first] == target[second], labels[first] == labels[second]
    both, expected = np.sum(same & together), same.sum() * together.mean()
    largest = (same.sum() + together.sum()) / 2
    by_hand = 1.0 if largest == expected else (both - expected) / (largest - expected)
    assert ari(target, labels) == pytest.approx(by_hand)


def test_scores_of_a_table_made_by_hand():
    # Classes a, b, c; clusters 0: a a a b, 1: b b c, 2: c
    target = list("aaabbbcc")
    labels = [0, 0, 0, 0, 1, 1, 1, 2]
    assert clustering_accuracy(target, labels) == 6 / 8
    assert purity(target, labels) == 6 / 8
    scores = score_all(target, labels)
    assert list(scores) == ["accuracy", "nmi", "purity", "ari"]
    assert scores["accuracy"] == scores["purity"] == 6 / 8
    # Entropies in bits: of the classes 1.5613, of the clusters 1.4056, of both 2.1556
    assert nmi(target, labels) == pytest.approx(
        (1.5613 + 1.4056 - 2.1556) / 1.5613, abs=1e-3
    )
    assert scores["nmi"] == nmi(target, labels)
    assert scores["ari"] == sklearn.metrics.adjusted_rand_score(target, labels)


@pytest.mark.parametrize("target", [["a", "a", "b", "c"], [0.5, 0.5, -1.0, 7.0]])
def test_names_of_groups_do_not_matter(target):
    assert set(score_all(target, [7, 7, 3, 5]).values()) == {1.0}


def test_one_group_and_one_each():
    target = np.repeat([0, 1], 5)
    assert score_all(target, np.zeros(10))["accuracy"] == 0.5
    assert nmi(target, np.zeros(10)) == 0
    apart = score_all(target, np.arange(10))
    assert apart["accuracy"] == 0.2
    assert apart["purity"] == 1
    assert apart["ari"] == 0
    assert set(score_all([3], [4]).values()) == {1.0}


def test_a_group_for_each_of_very_many():
    many = np.arange(50_000)
    assert set(score_all(many, many[::-1]).values()) == {1.0}
    halves = score_all(many // 2, many)
    assert (halves["accuracy"], halves["purity"]) == (0.5, 1.0)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1))
def test_parts_of_the_table_are_matched_on_their_own(pairs):
    target, labels = np.array(pairs).T
    table = np.zeros((31, 31))
    np.add.at(table, (target, labels), 1)
    whole = table[linear_sum_assignment(table, maximize=True)].sum()
    assert clustering_accuracy(target, labels) == pytest.approx(whole / len(target))


@pytest.mark.parametrize("score", [ari, clustering_accuracy, nmi, purity, score_all])
@pytest.mark.parametrize(
    ("target", "labels", "message"),
    [
        ([], [], "target must be of shape .* got \\(0,\\)"),
        ([1, 2], [1], "labels must be as many as target has, 2, got 1"),
        ([[1], [2]], [1, 2], "target must be of shape .* got \\(2, 1\\)"),
        ([1, 2], [1, np.nan], "labels must be finite"),
        ([1, None], [1, 2], "target must have a value for every sample, got None"),
        ([1, 2], ["a", np.nan], "labels must have a value .* got nan; leave such"),
        (pd.Series(["a", None]), [1, 2], "target must have a value .*; leave such"),
        ([1, 2], pd.Series([1, pd.NA], dtype=object), "labels must have .* got <NA>;"),
        ([1, 2], pd.Series([1, None], dtype="Int64"), "labels must .*; leave such"),
        (pd.Categorical(["a", None]), [1, 2], "target must have .* got nan; leave"),
        (
            np.array(["2020", "NaT"], "M8[Y]"),
            [1, 2],
            "target must be finite, .* NaT",
        ),
        ([1, 2], [1j, complex(np.nan)], "labels must be finite"),
        ([1, 2], np.array(["a", np.nan], OPTIONAL), "labels must have .* got nan"),
        (
            [1, "1"],
            [1, 2],
            "target must be all .* or all strings, got int and str",
        ),
        (
            [1, 2],
            [b"a", "a"],
            "labels must be all .* or all strings, got bytes and",
        ),
        ([1, 2], [[1], [1, 2]], r"labels must be of shape \(n,\), got sequences of"),
    ],
)
def test_bad_labels(score, target, labels, message):
    with pytest.raises(ValueError, match=message):
        score(target, labels)


@pytest.mark.parametrize("score", [ari, clustering_accuracy, nmi, purity, score_all])
@pytest.mark.parametrize("name", ["target", "labels"])
def test_masked_entries_are_refused_and_the_way_out_is_one(score, name):
    arrays = {"target": np.array([0, 0, 1, 1, 0]), "labels": np.array([1, 1, 1, 0, 0])}
    masked = np.ma.array(arrays[name], mask=[False, True, False, False, True])
    arguments = arrays | {name: masked}
    message = (
        rf"{name} must have a value for every sample, got 2 masked; score "
        rf"target\[keep\] and labels\[keep\] with keep = ~{name}\.mask$"
    )
    with pytest.raises(ValueError, match=message):
        score(**arguments)
    keep = ~arguments[name].mask
    left = {key: array[keep] for key, array in arguments.items()}
    rows = [0, 2, 3]
    assert score(**left) == score(arrays["target"][rows], arrays["labels"][rows])


def test_a_masked_array_with_nothing_masked_is_an_array():
    target, labels = [0, 0, 1, 1], [0, 1, 1, 1]
    for mask in (np.ma.nomask, [False] * 4):
        found = score_all(
            np.ma.array(target, mask=mask), np.ma.array(labels, mask=mask)
        )
        assert found == score_all(target, labels)


@pytest.mark.parametrize(
    "target",
    [
        pd.Series(["a", "a", "b"]),
        pd.Series(["a", "a", "b"], dtype="category"),
        pd.Series([5, 5, 7], dtype="Int64"),
        np.array(["a", "a", "b"], np.dtypes.StringDType()),
        np.array(["a", "a", "b"], dtype=object),
        ("a", "a", "b"),
        [True, True, False],
        [2**70, 2**70, 1],
        np.array(["2020", "2020", "2021"], "M8[Y]"),
    ],
)
def test_groups_of_every_kind(target):
    assert set(score_all(target, [0, 0, 1]).values()) == {1.0}
    assert clustering_accuracy(target, [0, 1, 1]) == 2 / 3


def test_an_unknown_normalization():
    with pytest.raises(ValueError, match=r"normalization must be one of max, .* 'sum'"):
        nmi([0, 1], [0, 1], normalization="sum")


@pytest.mark.parametrize("normalization", [np.zeros(2), None, ["max"], "", 1])
def test_normalizations_of_other_types(normalization):
    with pytest.raises(ValueError, match=r"^normalization must be one of max, .*, got"):
        nmi([0, 1], [0, 1], normalization=normalization)


def test_lists_of_lists():
    for arguments in (([[1], [1, 2]], [0, 1]), ([0, 1], [[1], [1, 2]])):
        with pytest.raises(
            ValueError, match=r"^(target|labels) must be of shape \(n,\)"
        ):
            score_all(*arguments)


@pytest.mark.parametrize("swapped", [False, True])
def test_masked_entries_of_object_arrays_and_of_fields(swapped):
    objects = np.array([0, np.ma.masked, 1, 1], dtype=object)
    fields = np.ma.array(np.zeros(4, dtype=[("a", int)]), mask=[(0,), (1,), (0,), (0,)])
    for values in (objects, fields):
        arguments = ([0, 0, 1, 1], values) if swapped else (values, [0, 0, 1, 1])
        with pytest.raises(ValueError, match="must have a value for every sample, got"):
            score_all(*arguments)
