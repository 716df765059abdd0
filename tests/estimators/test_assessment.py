"""Structure and confidence: what is told of a fit without labels."""

import numpy as np
import problems
import pytest
from model_forging import edit_record
from model_forging import read_record as record_of
from scipy.special import expit
from sklearn.datasets import make_blobs

from twofold import TSNMF, AutoTSNMF
from twofold.app.results import assign_new, assign_trained
from twofold.core.graphs.construction import build_graph
from twofold.core.structure import kept_share, measure_structure
from twofold.estimators import NothingFoundWarning, load_model, save_model
from twofold.estimators.assessment import _PLACED, _TRAINED, assess
from twofold.estimators.fitted import LEAST_STRUCTURE

FEW = {"channels": "pixels", "max_fits": 3, "random_state": 0}
"""A search that is soon done."""


def overlapping(seed=0, n=240, std=8.0):
    """Blobs of which a part of the samples lies nearer to another one."""
    X, y = make_blobs(n, 20, centers=4, cluster_std=std, random_state=seed)
    return X, y


@pytest.fixture(scope="module")
def fitted(images):
    model = TSNMF(3, random_state=0).fit(images)
    return model, assess(model)


@pytest.fixture(scope="module")
def images():
    return problems.images()


def right_of(labels, target):
    """Which samples are of the majority class of their cluster."""
    table = np.zeros((1 + labels.max(), 1 + target.max()))
    np.add.at(table, (labels, target), 1)
    return table.argmax(axis=1)[labels] == target


# What confidence says


@pytest.mark.parametrize("seed", range(3))
def test_confidence_is_higher_where_the_cluster_is_right(seed):
    X, target = overlapping(seed)
    model = TSNMF(4, random_state=0).fit(X[::2])
    trained = assess(model).confidence
    found = assign_new(model, X[1::2])
    for confidence, labels, known in (
        (trained, model.labels_, target[::2]),
        (found.confidence, found.clusters, target[1::2]),
    ):
        right = right_of(labels, known)
        assert 2 < (~right).sum() < 60
        assert ((confidence >= 0) & (confidence <= 1)).all()
        assert confidence[right].mean() > confidence[~right].mean() + 0.1


def test_clear_clusters_have_more_of_it_than_noise(images, fitted):
    noise = np.random.default_rng(0).normal(size=(60, 7, 6))
    other = assess(TSNMF(3, random_state=0).fit(noise))
    assert fitted[1].structure > LEAST_STRUCTURE > other.structure
    assert fitted[1].found
    assert not other.found
    assert fitted[1].confidence.mean() > 0.9
    assert other.confidence.mean() < 0.6


def place_by_hand(model):
    """Log ratios of the edges of the rows of a fit to their cluster and the next."""
    predictor, labels, found = model.state_.predictor, model.state_.labels, []
    weights = sum(
        build_graph(
            side.features[None], predictor.n_neighbors, predictor.graph
        ).adjacency.toarray()
        for side in predictor.sides
    )
    for row, cluster in zip(weights, labels, strict=True):
        shares = [row[labels == c].sum() / row.sum() for c in range(3)]
        own = shares.pop(cluster)
        found.append(np.log((own + 0.02) / (max(shares) + 0.02)))
    return np.array(found)


def test_confidence_of_training_samples_is_a_logistic_regression(images, fitted):
    model, found = fitted
    state, rows = model.state_, model.state_.row_of
    sides = [side.features for side in state.predictor.sides]
    graph = state.predictor.graph, state.predictor.n_neighbors
    structure = measure_structure(sides, state.labels, 3, *graph, 0)
    assert found.structure == structure.strength
    kept = kept_share(state.labels, structure.half_labels)
    odds = np.log((kept + 0.06) / (1.06 - kept))
    known = np.log(structure.agreement), np.log(60 / 3), 1.0
    log_odds = _TRAINED[0] * (place_by_hand(model) + odds) / 2
    expected = expit(log_odds + np.dot(_TRAINED[1:], known))
    np.testing.assert_allclose(found.confidence, expected[rows])


def test_confidence_of_new_samples_is_another_one(images, fitted):
    model, found = fitted
    new = problems.images(40, seed=0)[::-1]
    prediction = model.state_.predict(new[:, None])
    placed = assign_new(model, new)
    agreement = np.log(max(found.agreement, 0.02))
    for i, (cluster, confidence) in enumerate(
        zip(placed.clusters, placed.confidence, strict=True)
    ):
        votes = np.zeros(3)
        for edges in prediction.edges:
            for weight, j in zip(edges.weights[i], edges.neighbors[i], strict=True):
                votes[model.state_.labels[j]] += weight
        shares = (votes / votes.sum()).tolist()
        own = shares.pop(cluster)
        place = np.log((own + 0.02) / (max(shares) + 0.02))
        log_odds = np.dot(_PLACED, (place, agreement, np.log(60 / 3), 1.0))
        assert confidence == pytest.approx(expit(log_odds))


# What does not matter


def test_the_order_of_the_samples_is_that_of_confidence(images, fitted):
    order = np.random.default_rng(0).permutation(60)
    other = TSNMF(3, random_state=0).fit(images[order])
    found = assess(other)
    assert found.structure == pytest.approx(fitted[1].structure)
    np.testing.assert_allclose(found.confidence, fitted[1].confidence[order])


def test_identical_samples_share_it(images):
    X = np.concatenate([images, images[:10]])
    model = TSNMF(3, random_state=0).fit(X)
    found = assess(model).confidence
    assert found.shape == (70,)
    np.testing.assert_array_equal(found[60:], found[:10])


def test_it_is_assessed_once_where_it_is_asked_for(images):
    model = TSNMF(3, random_state=0).fit(images)
    assert model.state_.assessment is None
    first = assign_trained(model, images).confidence
    assert model.state_.assessment is not None
    np.testing.assert_array_equal(assign_trained(model, images).confidence, first)
    np.testing.assert_array_equal(assess(model).confidence, first)


def test_a_single_cluster_has_no_structure(images):
    found = assess(TSNMF(1, random_state=0).fit(images))
    assert found.structure == 0


# The search


def test_a_search_tells_what_is_told_of_its_model(images):
    auto = AutoTSNMF(3, **FEW).fit(images)
    told = auto.best_estimator_.state_.assessment
    assert auto.structure_ == told.structure
    np.testing.assert_array_equal(auto.confidence_, told.confidence)


@pytest.mark.parametrize("number", [3, None, range(2, 5)])
@pytest.mark.filterwarnings("error::twofold.estimators.NothingFoundWarning")
def test_noise_is_warned_of_and_clusters_are_not(images, number):
    auto = AutoTSNMF(number, **FEW).fit(images)
    assert auto.structure_ >= LEAST_STRUCTURE
    noise = np.random.default_rng(0).normal(size=(60, 7, 6))
    with pytest.warns(NothingFoundWarning, match=r"structure -?0\.\d\d, where noise"):
        other = AutoTSNMF(number, **FEW).fit(noise)
    assert other.structure_ < LEAST_STRUCTURE


@pytest.mark.filterwarnings("error::twofold.estimators.NothingFoundWarning")
def test_who_asks_for_one_cluster_is_not_warned():
    noise = np.random.default_rng(0).normal(size=(40, 7, 6))
    assert AutoTSNMF(1, **FEW).fit(noise).structure_ == 0


# Model files


def test_a_model_file_keeps_structure_and_agreement(images, fitted, tmp_path):
    model, found = fitted
    save_model(model, tmp_path)
    loaded, _ = load_model(tmp_path)
    told = loaded.state_.assessment
    assert (told.structure, told.agreement) == (found.structure, found.agreement)
    assert told.confidence is None
    new = problems.images(40, seed=0)[::-1]
    np.testing.assert_array_equal(
        assign_new(loaded, new).confidence, assign_new(model, new).confidence
    )


def test_a_file_without_an_assessment_predicts_with_confidence(images, tmp_path):
    model = TSNMF(3, random_state=0).fit(images)
    save_model(model, tmp_path)
    assert record_of(tmp_path)["fit"]["assessment"] is None
    edit_record(tmp_path, lambda record: record["fit"].pop("assessment"))
    loaded, _ = load_model(tmp_path)
    assert loaded.state_.assessment is None
    found = assign_new(loaded, images).confidence
    assess(model)
    # The rows of a file are those of the fit, so that the halves are the same.
    np.testing.assert_allclose(found, assign_new(model, images).confidence)


def test_a_model_of_a_file_cannot_be_assessed(images, fitted, tmp_path):
    save_model(fitted[0], tmp_path)
    loaded, _ = load_model(tmp_path)
    with pytest.raises(ValueError, match="model must have been fitted here, got one"):
        assess(loaded)


@pytest.mark.parametrize(
    "facts",
    [
        {"structure": 1.6, "agreement": 0.5},
        {"structure": -3, "agreement": 0.5},
        {"structure": 0.5, "agreement": 1.1},
        {"structure": "high", "agreement": 0.5},
        {"structure": 0.5},
        {"structure": 0.5, "agreement": 0.5, "more": 1},
        [0.5, 0.5],
        0.5,
    ],
    ids=str,
)
def test_what_cannot_be_told_is_refused(fitted, tmp_path, facts):
    save_model(fitted[0], tmp_path)
    edit_record(tmp_path, lambda record: record["fit"].update(assessment=facts))
    with pytest.raises(ValueError, match="assessment") as caught:
        load_model(tmp_path)
    assert "\n" not in str(caught.value)
