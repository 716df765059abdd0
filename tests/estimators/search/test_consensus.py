"""Labels on which the graphs of a search agree, and the fit that starts from them."""

from dataclasses import replace
from unittest import mock

import numpy as np
import problems
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from twofold import TSNMF, AutoTSNMF
from twofold.core.communities import graph_clusters
from twofold.core.edge_information import edge_information
from twofold.core.modularity import modularity, refine_labels
from twofold.estimators.search import consensus
from twofold.estimators.search.candidates import Preview, score
from twofold.estimators.search.consensus import consensus_graph, consensus_labels
from twofold.estimators.search.grid import fit_again
from twofold.estimators.search.views import Candidate
from twofold.metrics import clustering_accuracy


def consensus_of(previews):
    """The consensus of previews that are all nearly as good as the best."""
    with mock.patch("twofold.estimators.search.offers._NEARLY", -9.0):
        return consensus_labels(previews)


GROUPS = problems.planted(120, 4, 0.3, 0.1)[1]


def preview_of(seed, graph="heat", weight=1.0, chance=0.1):
    """A graph of its own, and its clusters, of the same groups."""
    W = weight * problems.planted(120, 4, 0.3, 0.1, seed)[0]
    candidate = Candidate("pixels", graph, 5, 4, float(seed))
    labels = graph_clusters(W, 4, 0, exchanges=False)
    return Preview(candidate, 4, W, labels, chance, 0.0)


def test_graphs_of_all_kinds_count_the_same_whatever_their_weights():
    previews = [
        *(preview_of(seed) for seed in range(2)),
        preview_of(2, "subspace", weight=50.0),
        preview_of(3, chance=0.9),  # the least excess of its kind
    ]
    first, second, third, _ = (each.adjacency.toarray() for each in previews)
    parts = (first / first.sum() + second / second.sum()) / 2 + third / third.sum()
    found = consensus_graph(previews, GROUPS).toarray()
    np.testing.assert_allclose(found, parts / 2, rtol=1e-12)


def test_graphs_that_err_at_different_samples_correct_each_other():
    kinds = ("heat", "heat", "subspace", "subspace")
    previews = [preview_of(seed, kind) for seed, kind in enumerate(kinds)]
    labels = consensus_labels(previews)
    alone = [clustering_accuracy(GROUPS, each.labels) for each in previews]
    assert max(alone) < clustering_accuracy(GROUPS, labels)
    scores = [score(each.labels, previews) for each in previews]
    assert max(scores) < score(labels, previews)


def test_no_graph_alone_means_no_change():
    alone = preview_of(0)
    labels = consensus_labels([alone])
    assert modularity(alone.adjacency, labels) >= alone.modularity(alone.labels)
    assert clustering_accuracy(alone.labels, labels) > 0.95


def test_poor_candidates_are_no_start(monkeypatch):
    """Their clusters would have the highest modularity in the consensus graph."""
    good, poor = preview_of(0), preview_of(1, "subspace", chance=0.9)
    started = []
    monkeypatch.setattr(
        "twofold.estimators.search.consensus.refine_labels",
        lambda graph, labels: started.append(labels) or labels,
    )
    consensus_labels([good, poor])
    assert len(started) == 1
    np.testing.assert_array_equal(started[0], good.labels)


def test_the_best_after_moves_may_have_been_second():
    """The first is the clusters of one half of the edges, the second of all of them."""
    rng = np.random.default_rng(0)
    whole, groups = problems.planted(120, 4, 0.3, 0.05)
    noise = rng.permutation(GROUPS)
    previews = []
    for seed, labels in enumerate((noise, groups)):
        each = preview_of(seed, chance=0.0)
        previews.append(replace(each, adjacency=whole, labels=labels))
    found = consensus_of(previews)
    assert clustering_accuracy(groups, found) == 1
    assert modularity(whole, found) > modularity(whole, noise)


def uneven():
    """A graph of twelve clusters, two of them large and loose, and their labels."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), [60, 60, *[12] * 10])
    rate = np.where(groups[:, None] != groups, 0.012, np.where(groups < 2, 0.12, 0.6))
    half = np.triu(rng.uniform(size=rate.shape) < rate, 1).astype(float)
    return csr_array(half + half.T), groups


def test_clusters_of_which_the_graph_tells_clearly_more_are_taken(monkeypatch):
    """Pairs of small clusters in one, and single samples for the missing ones."""
    graph, groups = uneven()
    lumped = np.where(groups < 2, groups, 2 + (groups - 2) // 2)
    lumped[[0, 1, 61, 62, 63]] = np.arange(7, 12)
    each = replace(preview_of(0), adjacency=graph, labels=lumped, k=12)
    found = consensus_labels([each])
    told = edge_information(graph, found) / edge_information(graph, each.labels)
    assert told > 1.03
    assert clustering_accuracy(groups, found) > 0.9
    monkeypatch.setattr(consensus, "_MARGIN", 2 * told)
    kept = consensus_labels([each])
    assert modularity(graph, kept) >= modularity(graph, lumped)
    assert edge_information(graph, kept) < edge_information(graph, found)


def test_a_little_more_is_not_enough():
    """The labels stay those of the highest modularity."""
    for seed in range(5):
        each = preview_of(seed)
        found = consensus_labels([each])
        refined = refine_labels(each.adjacency, each.labels)
        assert clustering_accuracy(refined, found) == 1


def test_clusters_are_named_in_the_order_of_their_samples():
    """Whatever they are called by the candidate that they come from."""
    each = preview_of(0)
    renamed = replace(each, labels=3 - each.labels)
    found = consensus_labels([renamed])
    first = [np.flatnonzero(found == cluster)[0] for cluster in range(4)]
    assert first == sorted(first)


def shuffled_images():
    """Images in another order, some of them twice."""
    order = np.random.default_rng(0).permutation(70) % 60
    return problems.images()[order]


def test_the_fit_starts_from_them_in_the_order_of_x():
    images = shuffled_images()
    auto = AutoTSNMF(3, random_state=0).fit(images)
    model = auto.best_estimator_
    np.testing.assert_array_equal(np.sort(np.unique(model.init)), [0.2, 1.2])
    assert clustering_accuracy(auto.labels_, np.argmax(model.init, axis=1)) == 1
    again = clone(model).fit(images)
    np.testing.assert_array_equal(again.labels_, auto.labels_)
    np.testing.assert_array_equal(again.components_, model.components_)


def test_samples_do_not_go_back_to_the_clusters_of_one_graph():
    noise = np.random.default_rng(0).normal(size=(60, 7, 6))
    model = AutoTSNMF(3, random_state=0).fit(noise).best_estimator_
    largest = model.coefficients_.argmax(axis=1)
    np.testing.assert_array_equal(model.labels_, largest)
    back = clone(model).set_params(assign_labels="graph").fit(noise)
    assert not np.array_equal(back.labels_, model.labels_)


@pytest.mark.parametrize(
    "own",
    [{"assign_labels": "k-means"}, {"init": "spectral"}, {"tol": 0.04}],
    ids=str,
)
def test_what_the_estimator_says_of_starts_and_ends_remains(own):
    auto = AutoTSNMF(3, estimator=TSNMF(**own), random_state=0)
    parameters = auto.fit(problems.images()).best_estimator_.get_params()
    expected = {"init": "graph", "assign_labels": "graph"} | own
    assert {name: parameters[name] for name in expected} == expected


def test_other_starts_are_their_own(monkeypatch):
    starts = []

    def watched(model, *args):
        starts.append(model.init)
        return fit_again(model, *args)

    monkeypatch.setattr("twofold.estimators.search.grid.fit_again", watched)
    AutoTSNMF(3, n_starts=3, random_state=0).fit(problems.images())
    assert isinstance(starts[0], np.ndarray)
    assert starts[1:] == ["graph", "graph"]


def test_of_many_samples_graphs_of_all_are_asked(monkeypatch):
    """Clusters of all samples are the start, though a part of them was previewed."""
    monkeypatch.setattr("twofold.estimators.search.candidates.MAX_SAMPLES", 40)
    images, order = problems.images(), np.random.default_rng(0).permutation(70) % 60
    auto = AutoTSNMF(3, random_state=0).fit(images[order])
    start = np.argmax(auto.best_estimator_.init, axis=1)
    assert auto.best_estimator_.assign_labels == "coefficients"
    assert clustering_accuracy(problems.groups()[order], start) == 1
    assert clustering_accuracy(auto.labels_, start) == 1
    again = clone(auto.best_estimator_).fit(images[order])
    np.testing.assert_array_equal(again.labels_, auto.labels_)


def test_where_all_are_previewed_nothing_is_searched_again(monkeypatch):
    images = problems.images()
    wanted = AutoTSNMF(3, random_state=0).fit(images).best_estimator_.init
    monkeypatch.setattr("twofold.estimators.search.candidates.MAX_SAMPLES", 60)
    monkeypatch.setattr("twofold.estimators.search.consensus.graph_clusters", None)
    found = AutoTSNMF(3, random_state=0).fit(images).best_estimator_.init
    np.testing.assert_array_equal(found, wanted)


def test_late_searches_start_from_the_clusters_of_one_graph(monkeypatch):
    monkeypatch.setattr("twofold.estimators.search.candidates.MAX_SAMPLES", 40)
    auto = AutoTSNMF(3, max_time=0, random_state=0).fit(problems.images())
    model = auto.best_estimator_
    assert auto.out_of_time_
    assert (model.init, model.assign_labels) == ("graph", "graph")
