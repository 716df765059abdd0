"""``AutoTSNMF.score_labels``: what any labels are worth in the graphs of a search."""

import numpy as np
import problems
import pytest
from sklearn.exceptions import NotFittedError

import twofold.estimators.search.candidates
from twofold import AutoTSNMF


@pytest.fixture(scope="module")
def auto():
    return AutoTSNMF(3, random_state=0).fit(problems.images())


def test_the_labels_of_the_model_have_its_score(auto):
    assert auto.score_labels(auto.labels_) == pytest.approx(auto.best_score_)
    named = np.array(["c", "a", "b"])[auto.labels_]
    assert auto.score_labels(named.tolist()) == pytest.approx(auto.best_score_)


def test_other_labels_have_less(auto):
    shuffled = np.random.default_rng(0).permutation(auto.labels_)
    assert auto.score_labels(shuffled) < 0 < auto.best_score_
    moved = auto.labels_.copy()
    moved[:6] = (moved[:6] + 1) % 3
    assert auto.score_labels(shuffled) < auto.score_labels(moved) < auto.best_score_


def test_labels_are_in_the_order_of_the_samples(auto):
    order = np.random.default_rng(1).permutation(60)
    again = AutoTSNMF(3, random_state=0).fit(problems.images()[order])
    assert again.score_labels(auto.labels_[order]) == pytest.approx(auto.best_score_)


def test_copies_and_parts_of_the_samples(auto, monkeypatch):
    twice = np.concatenate([problems.images()] * 2)
    copied = AutoTSNMF(3, random_state=0).fit(twice)
    labels = np.tile(auto.labels_, 2)
    assert copied.score_labels(labels) == pytest.approx(copied.best_score_)
    monkeypatch.setattr(twofold.estimators.search.candidates, "MAX_SAMPLES", 40)
    part = AutoTSNMF(3, random_state=0).fit(problems.images())
    assert part.score_labels(part.labels_) == pytest.approx(part.best_score_)


@pytest.mark.parametrize("shape", [(59,), (60, 1), ()])
def test_other_numbers_of_labels_are_refused(auto, shape):
    with pytest.raises(ValueError, match=r"labels must have shape \(60,\), one for"):
        auto.score_labels(np.zeros(shape, int))


def test_graphs_of_two_searches_are_those_of_one(auto):
    """In another order of samples, whose labels follow; the best two of each kind."""
    noise = np.random.default_rng(3).normal(size=(60, 7, 6))
    noisy = problems.images() + 2 * noise
    order = np.random.default_rng(2).permutation(60)
    labels, other = auto.labels_[order], AutoTSNMF(3, random_state=0)
    other.fit(noisy[order])
    same = AutoTSNMF(3, random_state=0).fit(problems.images()[order])
    kinds = {}
    for search in (same, other):
        for preview in search._compared:
            excess = preview.excess(labels[search._rows])
            kinds.setdefault(preview.candidate.graph, []).append(excess)
    expected = np.mean([np.mean(sorted(each)[-2:]) for each in kinds.values()])
    found = same.score_labels(labels, others=[other])
    assert found == pytest.approx(expected)
    assert found == pytest.approx(other.score_labels(labels, others=[same]))
    assert found > other.score_labels(labels)


def test_a_search_beside_itself_counts_its_best_graphs_twice(auto):
    best = {}
    for preview in auto._compared:
        kind, excess = preview.candidate.graph, preview.excess(auto.labels_[auto._rows])
        best[kind] = max(excess, best.get(kind, excess))
    found = auto.score_labels(auto.labels_, others=[auto])
    assert found == pytest.approx(np.mean(list(best.values())))


def test_searches_of_other_samples_are_refused(auto):
    fewer = AutoTSNMF(3, random_state=0).fit(problems.images()[:50])
    with pytest.raises(ValueError, match=r"others must be .* same 60 .*, got .*50"):
        auto.score_labels(auto.labels_, others=[fewer])
    with pytest.raises(TypeError, match=r"others must be .* got \['str'\]"):
        auto.score_labels(auto.labels_, others="x")
    with pytest.raises(NotFittedError):
        auto.score_labels(auto.labels_, others=[AutoTSNMF(3)])


def test_searches_that_compared_nothing_are_passed_over(auto):
    empty = AutoTSNMF(3, random_state=0).fit(problems.images())
    empty._compared = []
    assert np.isnan(empty.score_labels(auto.labels_))
    assert np.isnan(empty.score_labels(auto.labels_, others=[empty]))
    for first, second in ((auto, empty), (empty, auto)):
        found = first.score_labels(auto.labels_, others=[second])
        assert found == pytest.approx(auto.best_score_)
