"""``AutoTSNMF.edge_information``: what the graphs of a search tell about any labels."""

import numpy as np
import problems
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mutual_info_score

import twofold.estimators.search.candidates
from twofold import AutoTSNMF


@pytest.fixture(scope="module")
def auto():
    return AutoTSNMF(3, random_state=0).fit(problems.images())


def told_by(search, labels):
    """The parts that the graphs of every kind tell, by scikit-learn."""
    kinds = {}
    for preview in search._compared:
        edges = preview.adjacency.tocoo()
        # Whole numbers, as scikit-learn takes them: rounding is below the tolerance.
        table, ends = np.zeros((3, 3)), labels[search._rows]
        np.add.at(table, (ends[edges.row], ends[edges.col]), edges.data)
        table = np.rint(1e8 * table / table.sum())
        told = mutual_info_score(None, None, contingency=table) / np.log(3)
        kinds.setdefault(preview.candidate.graph, []).append(told)
    return kinds


def mean_of_best(*each):
    """The mean over the kinds, and over the two best graphs of a kind."""
    found = [[told for kinds in each for told in kinds[name]] for name in each[0]]
    return np.mean([np.mean(sorted(told)[-2:]) for told in found])


def test_it_is_the_mean_over_the_two_best_graphs_of_every_kind(auto):
    expected = mean_of_best(told_by(auto, auto.labels_))
    found = auto.edge_information(auto.labels_)
    assert found == pytest.approx(expected, abs=1e-6)
    named = np.array(["c", "a", "b"])[auto.labels_]
    assert auto.edge_information(named.tolist()) == pytest.approx(found)


def test_other_labels_have_less(auto):
    best = auto.edge_information(auto.labels_)
    shuffled = np.random.default_rng(0).permutation(auto.labels_)
    moved = auto.labels_.copy()
    moved[:6] = (moved[:6] + 1) % 3
    told = [auto.edge_information(labels) for labels in (shuffled, moved)]
    assert 0 < told[0] < told[1] < best <= 1
    assert auto.edge_information(np.zeros(60)) == 0


def test_labels_are_in_the_order_of_the_samples(auto):
    order = np.random.default_rng(1).permutation(60)
    again = AutoTSNMF(3, random_state=0).fit(problems.images()[order])
    found = again.edge_information(auto.labels_[order])
    assert found == pytest.approx(auto.edge_information(auto.labels_))


def test_copies_and_parts_of_the_samples(auto, monkeypatch):
    twice = np.concatenate([problems.images()] * 2)
    copied = AutoTSNMF(3, random_state=0).fit(twice)
    found = copied.edge_information(np.tile(auto.labels_, 2))
    assert found == pytest.approx(mean_of_best(told_by(copied, copied.labels_)), 1e-6)
    monkeypatch.setattr(twofold.estimators.search.candidates, "MAX_SAMPLES", 40)
    part = AutoTSNMF(3, random_state=0).fit(problems.images())
    assert part._compared[0].adjacency.shape == (40, 40)
    found = part.edge_information(part.labels_)
    assert found == pytest.approx(mean_of_best(told_by(part, part.labels_)), 1e-6)


@pytest.mark.parametrize("shape", [(59,), (60, 1), ()])
def test_other_numbers_of_labels_are_refused(auto, shape):
    with pytest.raises(ValueError, match=r"labels must have shape \(60,\), one for"):
        auto.edge_information(np.zeros(shape, int))


def test_graphs_of_two_searches_are_those_of_one(auto):
    """In another order of samples, whose labels follow; the best two of each kind."""
    noise = np.random.default_rng(3).normal(size=(60, 7, 6))
    noisy = problems.images() + 2 * noise
    order = np.random.default_rng(2).permutation(60)
    labels, other = auto.labels_[order], AutoTSNMF(3, random_state=0)
    other.fit(noisy[order])
    same = AutoTSNMF(3, random_state=0).fit(problems.images()[order])
    expected = mean_of_best(told_by(same, labels), told_by(other, labels))
    found = same.edge_information(labels, others=[other])
    assert found == pytest.approx(expected, abs=1e-6)
    assert found == pytest.approx(other.edge_information(labels, others=[same]))
    assert found > other.edge_information(labels)


def test_searches_of_other_samples_are_refused(auto):
    fewer = AutoTSNMF(3, random_state=0).fit(problems.images()[:50])
    with pytest.raises(ValueError, match=r"others must be .* same 60 .*, got .*50"):
        auto.edge_information(auto.labels_, others=[fewer])
    with pytest.raises(TypeError, match=r"others must be .* got \['str'\]"):
        auto.edge_information(auto.labels_, others="x")
    with pytest.raises(NotFittedError):
        auto.edge_information(auto.labels_, others=[AutoTSNMF(3)])


def test_searches_that_compared_nothing_are_passed_over(auto):
    empty = AutoTSNMF(3, random_state=0).fit(problems.images())
    empty._compared = []
    assert np.isnan(empty.edge_information(auto.labels_))
    assert np.isnan(empty.edge_information(auto.labels_, others=[empty]))
    for first, second in ((auto, empty), (empty, auto)):
        found = first.edge_information(auto.labels_, others=[second])
        assert found == pytest.approx(auto.edge_information(auto.labels_))
