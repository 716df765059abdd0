"""AutoTSNMF: what it chooses, what it costs, and what it says of it."""

import numpy as np
import problems
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import twofold.estimators.search.candidates
from twofold import TSNMF, AutoTSNMF
from twofold.channels import BANKS
from twofold.core.graphs.construction import build_graph
from twofold.core.modularity import modularity
from twofold.estimators.problem import read_given
from twofold.estimators.search.candidates import (
    CandidateProber,
    Preview,
    by_score,
    excess_by_kind,
    score,
)
from twofold.estimators.search.cluster_numbers import Curve, choose_number
from twofold.estimators.search.views import Candidate
from twofold.metrics import clustering_accuracy
from twofold.progress import Event, listening


@pytest.fixture(scope="module")
def images():
    return problems.images()


@pytest.fixture(scope="module")
def auto(images):
    return AutoTSNMF(3, random_state=0).fit(images)


def prober_of(images):
    base = TSNMF(1, random_state=0)
    given, banks = read_given(base, images), {"pixels": BANKS["pixels"]}
    return CandidateProber(base, given, banks, np.inf, lambda *_: None)


# What is chosen


def test_the_clusters_are_found(auto):
    assert clustering_accuracy(problems.groups(), auto.labels_) == 1
    assert auto.n_clusters_ == 3
    assert auto.cluster_numbers_ is None
    assert 0 < auto.best_score_ < 1


def test_subspaces_are_told_apart_where_nearness_is_not_enough():
    rng = np.random.default_rng(0)
    bases, target = rng.normal(size=(4, 8, 64)), np.repeat(np.arange(4), 30)
    rows = [rng.normal(size=(30, 8)) @ basis for basis in bases]
    images = np.concatenate(rows).reshape(-1, 8, 8)
    near = TSNMF(4, graph="heat", init="spectral", random_state=0).fit(images)
    auto = AutoTSNMF(4, random_state=0).fit(images)
    assert clustering_accuracy(target, near.labels_) < 0.9
    assert clustering_accuracy(target, auto.labels_) == 1


def test_the_chosen_model_is_the_one_that_its_parameters_give(auto, images):
    again = clone(auto.best_estimator_).fit(images)
    np.testing.assert_array_equal(again.labels_, auto.labels_)
    np.testing.assert_array_equal(again.components_, auto.best_estimator_.components_)


def test_it_answers_as_the_chosen_model_does(auto, images):
    model, new = auto.best_estimator_, problems.images(seed=5)
    np.testing.assert_array_equal(auto.predict(new), model.predict(new))
    np.testing.assert_array_equal(auto.transform(new), model.transform(new))
    coefficients = auto.transform(images)
    np.testing.assert_array_equal(
        auto.inverse_transform(coefficients), model.inverse_transform(coefficients)
    )


def test_the_order_and_the_unit_of_the_samples_do_not_matter(auto, images):
    order = np.random.default_rng(3).permutation(len(images))
    other = AutoTSNMF(3, random_state=0).fit(7 * images[order])
    chosen, again = (each.best_estimator_.get_params() for each in (auto, other))
    np.testing.assert_array_equal(again.pop("init"), chosen.pop("init")[order])
    assert again == chosen
    np.testing.assert_array_equal(other.labels_, auto.labels_[order])


def test_the_parameters_of_the_estimator_are_kept(images):
    base = TSNMF(tol=0, max_iter=7, n_neighbors=4, scale="global")
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=7"):
        auto = AutoTSNMF(3, estimator=base, random_state=0).fit(images)
    model = auto.best_estimator_
    assert (model.tol, model.max_iter, model.scale) == (0, 7, "global")
    assert set(auto.search_results_["n_neighbors"]) == {4}
    assert base.get_params() == TSNMF(**base.get_params()).get_params()


def test_missing_entries_are_filled(images):
    holes = problems.pierced(images, problems.holes(images.shape, 0.1))
    base = TSNMF(missing_values=np.nan)
    auto = AutoTSNMF(3, estimator=base, random_state=0).fit(holes)
    own = AutoTSNMF(3, missing_values=np.nan, random_state=0).fit(holes)
    np.testing.assert_array_equal(own.labels_, auto.labels_)
    assert list(own.get_feature_names_out()) == [f"autotsnmf{j}" for j in range(3)]
    assert clustering_accuracy(problems.groups(), auto.labels_) == 1
    mask = np.isnan(holes)
    masked = AutoTSNMF(3, random_state=0).fit(images, mask=mask)
    np.testing.assert_array_equal(masked.labels_, auto.labels_)
    np.testing.assert_array_equal(
        clone(masked).fit_transform(images, mask=mask),
        masked.best_estimator_.transform(images, mask=mask),
    )
    np.testing.assert_array_equal(
        auto.impute(holes), auto.best_estimator_.impute(holes)
    )


@pytest.mark.torch
def test_tensors_are_searched_where_they_lie(auto, images):
    torch = pytest.importorskip("torch")
    found = AutoTSNMF(3, random_state=0).fit(torch.tensor(images))
    assert isinstance(found.labels_, torch.Tensor)
    assert clustering_accuracy(auto.labels_, found.labels_.numpy()) == 1


def test_small_vectors_are_joined_to_their_nearest_neighbours_alone():
    rows = np.concatenate(
        [problems.positive((40, 4)) + 3 * np.eye(4)[j] for j in (0, 2)]
    )
    auto = AutoTSNMF(2, random_state=0).fit(rows)
    assert set(auto.search_results_["graph"]) == {"heat"}
    assert clustering_accuracy(np.repeat([0, 1], 40), auto.labels_) == 1


def test_a_part_of_many_samples_is_looked_at(monkeypatch, images):
    monkeypatch.setattr(twofold.estimators.search.candidates, "MAX_SAMPLES", 40)
    prober = prober_of(images)
    preview = prober.preview(Candidate("pixels", "heat", 3, 2, 1.0), 3)
    assert preview.labels.shape == (40,)
    assert len(np.unique(prober.subset)) == 40
    auto = AutoTSNMF(3, random_state=0).fit(images)
    assert auto.labels_.shape == (60,)
    assert clustering_accuracy(problems.groups(), auto.labels_) == 1


# The score


@pytest.fixture(scope="module")
def previews(images):
    prober = prober_of(images)
    settings = [
        Candidate("pixels", graph, 5, r, 1.0)
        for r in (2, 3, 4)
        for graph in ("heat", "subspace_knn")
    ]
    return prober.preview_all(settings, 3)


def test_labels_are_scored_by_the_two_graphs_of_each_kind_that_show_them_most(previews):
    labels = np.random.default_rng(0).integers(3, size=60)
    own: dict[str, list[float]] = {"heat": [], "subspace_knn": []}
    for preview in previews:
        excess = modularity(preview.adjacency, labels) - preview.chance
        own[preview.candidate.graph].append(excess)
    best = {kind: (sum(each) - min(each)) / 2 for kind, each in own.items()}
    assert [len(each) for each in own.values()] == [3, 3]
    assert excess_by_kind(labels, previews) == pytest.approx(best)
    assert score(labels, previews) == pytest.approx(np.mean(list(best.values())))


def test_a_look_is_at_the_graphs_of_the_first_directions(images):
    prober = prober_of(images)
    preview = prober.preview(Candidate("pixels", "heat", 4, 7, 1.0), 3)
    # All directions are kept, so that the projections change no distance.
    samples = prober.views["pixels"].problem.samples[:, 0]
    W = sum(
        build_graph(view.reshape(1, 60, -1), 4, "heat").adjacency.toarray()
        for view in (samples, samples.swapaxes(1, 2))
    )
    np.testing.assert_allclose(preview.adjacency.toarray(), W, atol=1e-12)


def test_the_best_look_is_the_first(previews):
    scores = [score(preview.labels, previews) for preview in by_score(previews)]
    assert scores == sorted(scores, reverse=True)


def test_the_table_has_a_row_for_each_look_and_fit(auto):
    table = auto.search_results_
    assert len({len(column) for column in table.values()}) == 1
    assert table["stage"].count("fit") == 1
    kinds = [table[f"{kind}_excess"] for kind in ("heat", "subspace", "subspace_knn")]
    np.testing.assert_allclose(table["score"], np.mean(kinds, axis=0))
    assert table["score"][table["stage"].index("fit")] == auto.best_score_
    scores = [
        s for s, t in zip(table["score"], table["stage"], strict=True) if t == "preview"
    ]
    best = table["stage"].index("preview") + int(np.argmax(scores))
    fit = table["stage"].index("fit")
    for name in ("graph", "n_neighbors", "n_directions", "energy_weight"):
        assert table[name][fit] == table[name][best]


def test_weights_and_starts_are_tried_in_fits(images):
    fits = {"graph_weights": (1.0, 0.1, 10.0), "n_starts": 2, "max_fits": 10}
    auto = AutoTSNMF(3, **fits, random_state=0).fit(images)
    table = auto.search_results_
    fits = [i for i, stage in enumerate(table["stage"]) if stage == "fit"]
    assert [table["graph_weight"][i] for i in fits] == [1.0, 0.1, 10.0] * 2
    assert len({table["seed"][i] for i in fits}) == 2
    assert auto.best_score_ == max(table["score"][i] for i in fits)
    assert len(table["stage"]) - len(fits) == 2 * (10 - 6)


# What it costs


@pytest.mark.parametrize(("budget", "previews"), [(1, 1), (2, 2), (4, 6), (100, 18)])
def test_no_more_is_done_than_the_budget_allows(images, budget, previews):
    done = []
    with listening(done.append):
        auto = AutoTSNMF(3, max_fits=budget, n_directions=(2, 3), random_state=0)
        auto.fit(images)
    assert auto.search_results_["stage"].count("fit") == 1
    assert done[-1].stage == "fitting"
    assert [event.stage for event in done].count("searching") <= previews
    assert done[0] == Event("searching", 1, previews)


def test_without_any_time_there_is_one_look_and_one_fit(images):
    auto = AutoTSNMF(3, max_time=0, n_starts=3, random_state=0).fit(images)
    assert auto.search_results_["stage"] == ["preview", "fit"]
    assert auto.out_of_time_
    assert clustering_accuracy(problems.groups(), auto.labels_) == 1


def test_without_any_time_the_number_is_chosen_from_one_look(images):
    auto = AutoTSNMF(range(2, 9), max_time=0, random_state=0).fit(images)
    assert auto.search_results_["stage"] == ["preview", "fit"]
    assert auto.cluster_numbers_.chosen == auto.n_clusters_ == 3
    assert auto.out_of_time_


def test_enough_time_is_no_lack_of_it(auto, images):
    timed = AutoTSNMF(3, max_time=1e6, random_state=0).fit(images)
    assert not timed.out_of_time_
    np.testing.assert_array_equal(timed.labels_, auto.labels_)


def test_hopeless_energy_weights_are_not_tried_with_more_directions(
    images, monkeypatch
):
    prober = prober_of(images)
    monkeypatch.setattr(
        twofold.estimators.search.candidates,
        "score",
        lambda labels, previews: 0.1 if labels is poor[0].labels else 1.0,
    )
    settings = [
        Candidate("pixels", "heat", 3, r, weight)
        for r in (2, 3)
        for weight in (0.1, 1.0)
    ]
    poor = [prober.preview(settings[0], 3)]
    tried = [preview.candidate for preview in prober.preview_all(settings, 3)]
    assert tried == [settings[0], settings[1], settings[3]]


def test_a_look_at_long_vectors_is_no_slower_than_their_number_asks(monkeypatch):
    sizes = []
    eigh = np.linalg.eigh

    def noted(matrix):
        sizes.append(matrix.shape[-1])
        return eigh(matrix)

    rows = problems.positive((40, 900))
    plain = AutoTSNMF(2, max_fits=2, random_state=0).fit(rows)
    monkeypatch.setattr(np.linalg, "eigh", noted)
    again = AutoTSNMF(2, max_fits=2, random_state=0).fit(rows)
    np.testing.assert_array_equal(again.labels_, plain.labels_)
    assert max(sizes) <= 40 + 2 * 32 + 1


def test_energy_weights_are_hopeless_by_their_distance_where_all_are_below_chance():
    noise = np.random.default_rng(0).uniform(size=(60, 12, 12))
    auto = AutoTSNMF(4, random_state=0).fit(noise)
    assert max(auto.search_results_["score"]) < 0
    assert set(auto.search_results_["n_directions"]) == {4, 9}


def test_more_clusters_than_samples_looked_at(monkeypatch, images):
    monkeypatch.setattr(twofold.estimators.search.candidates, "MAX_SAMPLES", 20)
    auto = AutoTSNMF(30, random_state=0).fit(images)
    assert len(np.unique(auto.labels_)) == 30
    assert np.isnan(auto.best_score_)


# What is refused


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (0, "n_clusters must be a positive integer, a range"),
        (True, "n_clusters must be"),
        ([3, 0], r"n_clusters must be .* got \[3, 0\]"),
        ([], "n_clusters must be"),
        (range(5, 2), "n_clusters must be"),
        (61, "n_clusters=61 must be at most the number of samples"),
    ],
)
def test_other_numbers_are_refused(images, wanted, message):
    with pytest.raises(ValueError, match=message):
        AutoTSNMF(wanted).fit(images)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"graphs": ("heat", "cold")}, "graphs must be some of"),
        ({"graphs": ()}, "graphs must be some of"),
        ({"n_directions": ()}, "n_directions must be positive integers"),
        ({"n_directions": (2, 0)}, r"n_directions must be .* got \(2, 0\)"),
        ({"energy_weights": ()}, "energy_weights must be"),
        (
            {"energy_weights": (1.0, -1.0)},
            "energy_weights must be .* from 0 on, got -1",
        ),
        ({"energy_weights": np.array(1.0)}, "energy_weights must be numbers from 0 on"),
        (
            {"graph_weights": (np.inf,)},
            "graph_weights must be numbers from 0 on, got i",
        ),
        ({"graph_weights": ("a",)}, "graph_weights must be numbers from 0 on, got 'a'"),
        ({"graph_weights": (1e300,)}, r"graph_weights must be at most .* got 1e\+300"),
        ({"graph_weights": (10**400,)}, "graph_weights must be at most .* got 1000"),
        ({"graphs": [["heat"]]}, "graphs must be some of"),
        ({"n_directions": np.array("x")}, "n_directions must be positive integers"),
        ({"n_starts": True}, "n_starts must be a positive integer, got True"),
        ({"n_starts": 10**30}, "n_starts must be at most 1,000,000,000, got 1000"),
        ({"max_time": 10**400}, r"max_time must be at most 1.8e\+308, got 1000"),
        (
            {"cache": ""},
            "cache must be None or the name of a folder, got an empty name",
        ),
        ({"cache": "a\0b"}, "cache must be None or the name of a folder, got 'a"),
        ({"cache": __file__}, "cache must be a folder, got .*, which is a file; name"),
        ({"cache": __file__ + "/x"}, "cache must be a folder that can be written to"),
        (
            {"cache": "/proc/none"},
            "cache must be .* written to, got /proc/none: No such",
        ),
        ({"max_fits": 0}, "'max_fits' parameter of AutoTSNMF"),
        ({"max_time": -1}, "'max_time' parameter of AutoTSNMF"),
        ({"estimator": TSNMF(tol=-1)}, "'tol' parameter of TSNMF"),
        ({"estimator": "TSNMF"}, "'estimator' parameter of AutoTSNMF"),
        (
            {"estimator": TSNMF(graph="heat")},
            "estimator must leave graph to the search",
        ),
        ({"estimator": TSNMF(n_directions=3)}, "set n_directions of AutoTSNMF"),
    ],
)
def test_other_parameters_are_refused(images, parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoTSNMF(3, **parameters).fit(images)


# How many


def test_a_curve_of_one_number_is_sure_of_it(images):
    candidates = [Candidate("pixels", "heat", 4, 7, 1.0)]
    curve = choose_number(prober_of(images), candidates, [3], refine=True)
    assert curve == Curve([3], [1.0], 3, (3, 3))
    assert not curve.at_end
    assert not curve.unsure


def test_what_cannot_be_a_number_of_clusters_is_not_chosen(images):
    candidates = [Candidate("pixels", "heat", 4, 7, 1.0)]
    assert choose_number(prober_of(images), candidates, [1, 60], refine=True) is None
    curve = choose_number(prober_of(images), candidates, [1, 2, 3, 60], refine=False)
    assert (curve.numbers, curve.chosen) == ([2, 3], 3)


@pytest.mark.parametrize(
    ("likely", "unsure"),
    [
        *(((4, 4), False), ((2, 4), False), ((2, 5), True)),
        *(((10, 15), False), ((10, 16), True), ((40, 60), False)),
    ],
)
def test_a_wide_range_is_no_clear_number(likely, unsure):
    assert Curve([2], [1.0], 2, likely).unsure is unsure


# The hierarchy


@pytest.fixture(scope="module")
def pairs():
    """Six groups of images, two and two of them alike, and a search for six."""
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(6), 12)
    means = 2 * rng.normal(size=(3, 8, 8))[[0, 1, 2, 0, 1, 2]]
    means += 0.5 * rng.normal(size=(6, 8, 8))
    images = means[target] + 0.3 * rng.normal(size=(72, 8, 8))
    options = {"channels": "pixels", "max_fits": 4, "random_state": 0}
    return AutoTSNMF(6, **options).fit(images), target


def test_clusters_that_are_alike_are_merged_first(pairs):
    auto, target = pairs
    assert clustering_accuracy(target, auto.labels_) == 1
    assert auto.children_.shape == (5, 2)
    assert sorted(auto.children_.ravel()) == list(range(10))
    assert (auto.children_.max(axis=1) < 6 + np.arange(5)).all()
    assert auto.distances_.shape == (5,)
    assert (np.diff(auto.distances_) >= 0).all()
    assert auto.distances_[0] >= 0
    assert clustering_accuracy(target % 3, auto.cut(3)) == 1


def test_a_cut_merges_whole_clusters(pairs):
    auto, _ = pairs
    np.testing.assert_array_equal(auto.cut(6), auto.labels_)
    np.testing.assert_array_equal(auto.cut(1), np.zeros(72))
    groups = [[i] for i in range(6)]
    for k, merged in zip((5, 4, 3, 2), auto.children_, strict=False):
        groups.append(groups[merged[0]] + groups[merged[1]])
        cut = auto.cut(k)
        assert set(cut) == set(range(k))
        # Of each cluster one name, and the merged ones have the same.
        named = [set(cut[auto.labels_ == cluster]) for cluster in range(6)]
        assert {len(names) for names in named} == {1}
        assert len({min(named[cluster]) for cluster in groups[-1]}) == 1
        first = [min(names) for names in named]
        assert list(dict.fromkeys(first)) == list(range(k))


@pytest.mark.parametrize("number", [0, 7, -1, 2.0, True, None, "3", [3]])
def test_other_cuts_are_refused(pairs, number):
    message = "n_clusters must be an integer from 1 to 6, the number of clusters that"
    with pytest.raises(ValueError, match=message):
        pairs[0].cut(number)


def test_one_cluster_has_no_hierarchy(images):
    auto = AutoTSNMF(1, random_state=0).fit(images)
    assert (auto.children_.shape, auto.distances_.shape) == ((0, 2), (0,))
    np.testing.assert_array_equal(auto.cut(1), np.zeros(60))
    with pytest.raises(NotFittedError):
        AutoTSNMF(3).cut(2)


def test_there_is_a_hierarchy_where_no_graph_could_be_compared():
    rng = np.random.default_rng(0)
    far = 1000 * np.repeat(rng.random((6, 3)), 60, axis=0)
    auto = AutoTSNMF(3, random_state=0).fit(far + rng.random((360, 3)))
    assert np.isnan(auto.best_score_)
    assert sorted(auto.children_.ravel()) == [0, 1, 2, 3]
    assert len(np.unique(auto.cut(2))) == 2


def test_a_look_is_better_than_chance_where_there_are_clusters(previews):
    for preview in previews:
        assert isinstance(preview, Preview)
        assert preview.excess(preview.labels) > 0.1
