"""Labels that candidates offer each other."""

import numpy as np
import problems

from twofold.estimators.search.candidates import Preview
from twofold.estimators.search.offers import offer_labels
from twofold.estimators.search.views import Candidate

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
