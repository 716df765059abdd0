"""Identical samples: one sample with a weight, or as many as there are."""

import numpy as np
import problems
import pytest
from sklearn.datasets import load_digits

from twofold import TSNMF, AutoTSNMF, methods
from twofold.core.neighbors import certified
from twofold.estimators.model_files import load_model, save_model
from twofold.estimators.problem import read_problem


@pytest.fixture(scope="module")
def digits():
    return load_digits().images[np.random.RandomState(0).permutation(1797)[:300]]


def doubled(images):
    """All images twice, shuffled; and which of the images each is."""
    origin = np.random.RandomState(1).permutation(np.repeat(np.arange(len(images)), 2))
    return images[origin], origin


@pytest.mark.parametrize(
    "options",
    [
        {},
        *({"graph": graph} for graph in problems.GRAPHS),
        {"init": "random"},
        {"init": "k-means", "assign_labels": "k-means"},
        {"scale": "global"},
    ],
    ids=str,
)
def test_doubling_all_samples_changes_no_label(digits, options):
    twice, origin = doubled(digits)
    once = TSNMF(10, random_state=0, **options).fit(digits)
    again = TSNMF(10, random_state=0, **options).fit(twice)
    np.testing.assert_array_equal(again.labels_, once.labels_[origin])
    np.testing.assert_array_equal(again.predict(digits), once.predict(digits))
    np.testing.assert_allclose(
        again.objective_history_, once.objective_history_, rtol=1e-9
    )
    # Columns of V have length 1 over all samples.
    rows = again.coefficients_ * np.sqrt(2)
    np.testing.assert_allclose(rows, once.coefficients_[origin], atol=1e-9)
    np.testing.assert_allclose(
        again.reconstruction_error_, once.reconstruction_error_[origin], rtol=1e-9
    )


def test_doubling_changes_no_label_where_the_number_is_searched(digits):
    twice, origin = doubled(digits[:60])
    options = {"graphs": ["heat"], "n_directions": [4], "energy_weights": [1.0]}
    once = AutoTSNMF(random_state=0, **options).fit(digits[:60])
    again = AutoTSNMF(random_state=0, **options).fit(twice)
    assert again.cluster_numbers_ == once.cluster_numbers_
    np.testing.assert_array_equal(again.labels_, once.labels_[origin])


def test_doubling_changes_no_label_of_samples_with_missing_entries(digits):
    pierced = problems.pierced(digits[:120], problems.holes((120, 8, 8), 0.2))
    twice, origin = doubled(pierced)
    options = {"missing_values": np.nan, "random_state": 0}
    once = TSNMF(5, **options).fit(pierced)
    again = TSNMF(5, **options).fit(twice)
    np.testing.assert_array_equal(again.labels_, once.labels_[origin])


def test_copies_cost_no_more_than_one_sample(digits, monkeypatch):
    """The search for neighbours sees each of them once."""
    sizes = []

    def counting(lists, points, *rest):
        sizes.append(len(points))
        return certified.update_lists(lists, points, *rest)

    monkeypatch.setattr("twofold.core.graphs.construction.update_lists", counting)
    crowd = np.concatenate([digits[:100], np.repeat(digits[:1], 1200, axis=0)])
    TSNMF(5, random_state=0).fit(crowd)
    assert set(sizes) == {100}


def test_without_a_graph_a_weight_is_a_number_of_copies(digits):
    crowd = np.repeat(digits[:40], np.arange(40) % 5 + 1, axis=0)
    start = np.repeat(problems.positive((40, 3)), np.arange(40) % 5 + 1, axis=0)
    options = {"graph_weight": 0.0, "init": start, "tol": 1e-3, "random_state": 0}
    merged = TSNMF(3, **options).fit(crowd)
    kept = TSNMF(3, duplicates="keep", **options).fit(crowd)
    assert merged.n_iter_ == kept.n_iter_ > 2
    np.testing.assert_allclose(merged.components_, kept.components_, atol=1e-8)
    np.testing.assert_allclose(merged.coefficients_, kept.coefficients_, atol=1e-8)
    np.testing.assert_allclose(
        merged.reconstruction_error_, kept.reconstruction_error_, atol=1e-8
    )


def test_predictions_of_the_training_samples_are_their_labels(digits):
    crowd = np.repeat(digits, 1 + np.random.RandomState(1).poisson(2, 300), axis=0)
    model = TSNMF(10, random_state=0).fit(crowd)
    np.testing.assert_array_equal(model.predict(crowd), model.labels_)


def test_centers_of_k_means_count_the_copies(digits):
    crowd = np.repeat(digits[:60], np.arange(60) % 4 + 1, axis=0)
    model = TSNMF(4, assign_labels="k-means", random_state=0).fit(crowd)
    codes = model.transform(crowd)
    means = [codes[model.labels_ == label].mean(axis=0) for label in range(4)]
    np.testing.assert_allclose(model.state_.centers, means, rtol=1e-9)


def test_samples_that_nearly_agree_are_not_one(digits):
    """In single precision the order rounds them to the same numbers."""
    near = np.repeat(digits[:3], 2, axis=0).astype(np.float32)
    near[1::2] += 1e-3
    problem = read_problem(TSNMF(2), near)
    assert len(set(problem.given.group)) < 6
    assert len(problem.samples) == 6
    same = np.repeat(digits[:3], 2, axis=0).astype(np.float32) * 0.37
    assert len(read_problem(TSNMF(2), same).samples) == 3


def test_a_given_start_is_averaged_over_copies(digits):
    twice, origin = doubled(digits[:40])
    start = problems.positive((80, 4))
    means = np.stack([start[origin == i].mean(axis=0) for i in range(40)])
    once = TSNMF(4, init=means, random_state=0).fit(digits[:40])
    again = TSNMF(4, init=start, random_state=0).fit(twice)
    np.testing.assert_array_equal(again.labels_, once.labels_[origin])


def test_kept_copies_are_samples_of_their_own(digits):
    twice, _ = doubled(digits[:40])
    kept = TSNMF(4, duplicates="keep")
    assert len(read_problem(kept, twice).samples) == 80
    assert len(read_problem(TSNMF(4), twice).samples) == 40
    assert methods.build("ts-nmf", 4).duplicates == "keep"
    assert methods.MISSING_METHODS["ts-nmf-missing"].build(4).duplicates == "keep"


def test_a_model_of_merged_samples_is_loaded_as_it_was(digits, tmp_path):
    crowd = np.repeat(digits[:60], np.arange(60) % 4 + 1, axis=0)
    model = TSNMF(4, random_state=0).fit(crowd)
    save_model(model, tmp_path)
    loaded, _ = load_model(tmp_path)
    new = digits[60:120]
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))
    np.testing.assert_array_equal(loaded.predict(new), model.predict(new))
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    assert len(loaded.coefficients_) == len(crowd)


@pytest.mark.torch
@pytest.mark.parametrize("graph", ["subspace_knn", "heat"])
def test_tensors_are_merged_alike(digits, graph):
    torch = pytest.importorskip("torch")
    crowd = np.repeat(digits[:80], np.arange(80) % 4 + 1, axis=0)
    ours = TSNMF(5, graph=graph, random_state=0).fit(crowd)
    theirs = TSNMF(5, graph=graph, random_state=0).fit(torch.tensor(crowd))
    np.testing.assert_allclose(
        theirs.coefficients_.numpy(), ours.coefficients_, atol=1e-8
    )
    np.testing.assert_array_equal(theirs.labels_.numpy(), ours.labels_)
