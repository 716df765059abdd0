"""Labels that candidates offer each other, and the fit that starts from them."""

from dataclasses import replace

import numpy as np
import problems
import pytest
from sklearn.base import clone

from twofold import AutoTSNMF
from twofold.estimators.search.candidates import Preview
from twofold.estimators.search.offers import offer_labels
from twofold.estimators.search.views import Candidate
from twofold.metrics import clustering_accuracy

GROUPS = problems.planted(100, 4, 0.5, 0.05)[1]


def preview_of(seed, labels, graph="heat", chance=0.2):
    W, _ = problems.planted(100, 4, 0.5, 0.05, seed)
    candidate = Candidate("pixels", graph, 5, 4, float(seed))
    return Preview(candidate, 4, W, labels, chance, 0.0)


def nearly(groups):
    """Two samples of every cluster are in the next one."""
    labels = groups.copy()
    labels[::13] = (labels[::13] + 1) % 4
    return labels


def test_a_candidate_takes_labels_that_are_better_in_its_own_graph(monkeypatch):
    monkeypatch.setattr("twofold.estimators.search.offers._NEARLY", 0.5)
    previews = [preview_of(0, GROUPS), preview_of(1, nearly(GROUPS))]
    kept, taken = offer_labels(previews)
    assert kept is previews[0]
    assert not kept.offered
    assert taken.offered
    np.testing.assert_array_equal(taken.labels, GROUPS)
    assert taken.modularity(taken.labels) > taken.modularity(nearly(GROUPS))


def test_poor_candidates_neither_take_nor_offer():
    rng = np.random.default_rng(0)
    poor = preview_of(1, rng.permutation(GROUPS), "subspace", chance=0.9)
    previews = [preview_of(0, GROUPS), poor]
    assert offer_labels(previews) == previews


def test_one_candidate_and_none():
    alone = [preview_of(0, nearly(GROUPS))]
    assert offer_labels(alone) == alone
    assert offer_labels([]) == []


@pytest.fixture
def always_offered(monkeypatch):
    """All previews count as offered, with the labels that they have."""

    def offered(previews):
        return [replace(preview, offered=True) for preview in previews]

    monkeypatch.setattr("twofold.estimators.auto.offer_labels", offered)


@pytest.mark.usefixtures("always_offered")
def test_the_fit_starts_from_the_labels_it_was_offered():
    """In the order of X, in which samples are shuffled and some are there twice."""
    order = np.random.default_rng(0).permutation(70) % 60
    images, groups = problems.images()[order], problems.groups()[order]
    auto = AutoTSNMF(3, random_state=0).fit(images)
    model = auto.best_estimator_
    np.testing.assert_array_equal(np.sort(np.unique(model.init)), [0.2, 1.2])
    assert clustering_accuracy(groups, np.argmax(model.init, axis=1)) == 1
    again = clone(model).fit(images)
    np.testing.assert_array_equal(again.labels_, auto.labels_)
    np.testing.assert_array_equal(again.components_, model.components_)


@pytest.mark.usefixtures("always_offered")
def test_labels_of_a_subset_are_no_start(monkeypatch):
    images = problems.images()
    monkeypatch.setattr("twofold.estimators.search.candidates.MAX_SAMPLES", 40)
    assert AutoTSNMF(3, random_state=0).fit(images).best_estimator_.init == "graph"
