"""Searches among channels."""

import numpy as np
import pytest
from mapped import Half, K, pictures
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import FunctionTransformer

import twofold.estimators.search.candidates
from twofold import AutoTSNMF
from twofold.channels import BANKS


def searched(images, channels, **parameters):
    settings = {"max_fits": 3, "random_state": 0, **parameters}
    return AutoTSNMF(K, channels=channels, **settings).fit(images)


def test_a_search_in_pixels_alone_leaves_them():
    model = searched(pictures(), ["pixels"])
    assert set(model.search_results_["channels"]) == {"pixels"}
    assert model.best_estimator_.channels == "pixels"
    assert model.best_estimator_.state_.mapping is None


def test_a_search_takes_transformers():
    images, bank = pictures(), Half()
    model = searched(images, [bank, "gradients"], max_fits=10)
    assert set(model.search_results_["channels"]) == {"Half 0", "gradients"}
    alone = searched(images, [bank])
    best = alone.best_estimator_
    assert isinstance(best.channels, Half)
    again = clone(best).fit(images)
    assert adjusted_rand_score(again.labels_, alone.labels_) == 1
    new = pictures(9, seed=5)
    np.testing.assert_array_equal(alone.predict(new), best.predict(new))


def test_a_search_of_images_tries_all_channels():
    model = searched(pictures(), "auto", max_fits=13)
    assert set(model.search_results_["channels"]) == {*BANKS} - {"network"}
    assert adjusted_rand_score(model.labels_, np.arange(45) % K) == 1


@pytest.mark.parametrize(
    "channels", ["grey", [], ["grey"], [None], ["auto"], 3, [object()]]
)
def test_wrong_channels_are_refused_in_a_line(channels):
    with pytest.raises(ValueError, match="channels") as refusal:
        searched(pictures(), channels)
    assert "\n" not in str(refusal.value)


def test_without_a_graph_to_compare_the_first_channels_are_fitted(monkeypatch):
    """There are more clusters than samples that are looked at."""
    monkeypatch.setattr(twofold.estimators.search.candidates, "MAX_SAMPLES", 20)
    search = AutoTSNMF(25, channels=["fine_gradients"], max_fits=3, random_state=0)
    model = search.fit(pictures())
    best = model.best_estimator_
    assert best.channels == "fine_gradients"
    assert best.state_.predictor.weights["energy_weight"] == 0.1
    assert best.left_projection_.shape[1] == 9
    assert np.isnan(model.best_score_)


@pytest.mark.parametrize("energy_weights", [None, (1.0, 0.3, 3.0)])
def test_every_bank_of_a_list_is_tried(energy_weights):
    banks = ["gradients", "fine_gradients", "pixels"]
    model = AutoTSNMF(K, channels=banks, energy_weights=energy_weights, random_state=0)
    found = model.fit(pictures()).search_results_
    assert set(found["channels"]) == set(banks)
    if energy_weights:
        assert {1.0, 0.3} <= set(found["energy_weight"])


def halved_in_place(X):
    X *= 0.5
    return X


def test_a_transformer_that_works_in_place_leaves_the_samples_alone():
    images = pictures()
    before = images.copy()
    model = searched(images, [FunctionTransformer(halved_in_place)])
    np.testing.assert_array_equal(images, before)
    model.predict(images)
    np.testing.assert_array_equal(images, before)


@pytest.mark.parametrize("channels", ["pixels", Half()], ids=str)
def test_one_kind_of_channels_needs_no_list(channels):
    alone, listed = searched(pictures(), channels), searched(pictures(), [channels])
    np.testing.assert_array_equal(alone.labels_, listed.labels_)


def test_each_bank_is_tried_with_its_own_energy_weight():
    found = searched(pictures(), "auto", max_fits=10).search_results_
    tried = dict(zip(found["channels"], found["energy_weight"], strict=True))
    assert tried == {name: BANKS[name].energy_weight for name in tried}
    assert len(tried) == 3
