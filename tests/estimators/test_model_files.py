"""Model files: saving and loading again, and files after saving has failed."""

import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import problems
import pytest
from model_forging import assert_same_model, digest, edit_record, read_record, same
from safetensors.numpy import load_file
from sklearn.exceptions import NotFittedError

import twofold
from twofold import TSNMF, AutoTSNMF
from twofold.core import prediction, solver, terms, updates
from twofold.core.graphs import KINDS
from twofold.core.prediction import Predictor
from twofold.core.terms import Term
from twofold.estimators import load_model, parameters, problem, save_model
from twofold.estimators.labels import ASSIGNMENTS

COLOUR = np.moveaxis(problems.stack((24, 3, 5, 6)), 1, -1)


def there_and_back(model, folder, **options):
    save_model(model, folder, **options)
    return load_model(folder)[0]


# There and back


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (problems.images(), {}),
        (problems.images().astype(np.float32), {}),
        (np.rint(30 * problems.images()).astype(np.int16), {"scale": "global"}),
        (COLOUR, {}),
        (COLOUR.astype(np.float32), {"n_directions": (2, 3)}),
        (problems.images().reshape(60, -1), {}),
        (problems.images().reshape(60, -1), {"sample_shape": (7, 6), "n_init": 2}),
        (problems.images(n=9, h=40, w=3), {"n_neighbors": 8}),
        (problems.images(), {"neighbors": "approximate"}),
        *[(problems.images(), {"graph": graph}) for graph in KINDS],
    ],
)
def test_all_comes_back_as_it_was(tmp_path, X, options):
    model = TSNMF(3, random_state=5, **options).fit(X)
    loaded = there_and_back(model, tmp_path)
    new = X[::-1] + np.asarray(0.3 * X.std(), dtype=X.dtype)
    assert_same_model(loaded, model, new)
    assert loaded.get_params() == model.get_params()
    assert loaded.neighbor_recall_ == model.neighbor_recall_


def test_the_file_and_its_record(model, tmp_path):
    about = {"images": "faces", "representatives": [3, 1, 2], "nested": {"a": None}}
    path = save_model(model, str(tmp_path), about=about)
    assert path == tmp_path / "model.safetensors"
    assert os.listdir(tmp_path) == ["model.safetensors"]
    (tmp_path / "copy").write_bytes(path.read_bytes())
    for source in (tmp_path, str(tmp_path), path, tmp_path / "copy"):
        assert load_model(source)[1] == about
    record = read_record(tmp_path)
    assert record["format"] == "twofold model"
    assert record["version"] == 1
    assert record["twofold"] == twofold.__version__
    assert record["sha256"] == digest(record, load_file(path))


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    first = save_model(model, tmp_path).read_bytes()
    assert save_model(model, tmp_path).read_bytes() == first
    loaded = load_model(tmp_path)[0]
    assert save_model(loaded, tmp_path).read_bytes() == first


def test_any_name_of_a_file_may_be_in_about_and_in_the_path(model, tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff \xe2\x80\xae")
    folder.mkdir()
    about = {os.fsdecode(b"\xff\n.png"): os.fsdecode(b"\xfe"), "x": '\ud800\u2028"'}
    save_model(model, folder, about=about)
    assert load_model(folder)[1] == about


def test_keys_of_about_become_strings(model, tmp_path):
    save_model(model, tmp_path, about={1: (2, 3), None: 4, "1": 5})
    assert load_model(tmp_path)[1] == {"1": 5, "null": 4}


def test_nothing_to_say_is_an_empty_dict(model, tmp_path):
    save_model(model, tmp_path)
    assert load_model(tmp_path)[1] == {}


def test_numpy_numbers_in_about_and_parameters_become_pythons(images, tmp_path):
    model = TSNMF(
        np.int64(3),
        n_directions=(np.int32(2), 3),
        tol=np.float32(0.5),
        random_state=np.int64(4),
        verbose=np.False_,
    ).fit(images)
    save_model(model, tmp_path, about={"n": np.int64(3), "x": np.float32(0.5)})
    loaded, about = load_model(tmp_path)
    assert about == {"n": 3, "x": 0.5}
    found = loaded.get_params()
    assert found == model.get_params()
    assert type(found["n_clusters"]) is int
    assert type(found["tol"]) is float
    assert type(found["n_directions"]) is tuple


def test_a_start_given_as_an_array(images, tmp_path):
    init = np.eye(3)[problems.groups()]
    for given_start in (init, init.astype(np.float32), init.tolist()):
        model = TSNMF(3, init=given_start, random_state=0).fit(images)
        loaded = there_and_back(model, tmp_path)
        assert_same_model(loaded, model, images[::-1])
        np.testing.assert_array_equal(loaded.init, init)
        same(loaded.fit(images).labels_, model.labels_)


def test_the_names_of_columns(images, tmp_path):
    frame = pd.DataFrame(images.reshape(60, -1)).rename(columns="pixel {}".format)
    model = TSNMF(3, random_state=0).fit(frame)
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, frame[::-1])
    same(loaded.feature_names_in_, model.feature_names_in_)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns=str.upper))


@pytest.mark.parametrize("state", [None, np.random.RandomState(0)])
def test_a_random_state_that_is_no_integer_is_none(images, tmp_path, state):
    model = TSNMF(3, random_state=state).fit(images)
    assert there_and_back(model, tmp_path).random_state is None


@pytest.mark.torch
def test_tensors_become_arrays(images, tmp_path):
    torch = pytest.importorskip("torch")
    model = TSNMF(3, random_state=0).fit(torch.asarray(images))
    loaded = there_and_back(model, tmp_path)
    same(loaded.components_, model.components_.numpy())
    same(loaded.labels_, model.labels_.numpy())
    same(loaded.predict(images), model.predict(torch.asarray(images)).numpy())
    np.testing.assert_allclose(
        loaded.transform(images), model.transform(torch.asarray(images)).numpy()
    )


def test_parameters_set_after_the_fit_do_not_change_it(images, tmp_path):
    model = TSNMF(3, random_state=0).fit(images)
    model.set_params(n_clusters=7, graph="cosine", graph_weight=0.0, n_neighbors=1)
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, images[::-1])
    assert loaded.get_params() == model.get_params()


def test_fewer_clusters_than_were_asked_for(tmp_path):
    X = np.repeat(problems.images(n=2), 5, axis=0)
    with pytest.warns(UserWarning, match="found 2 of n_clusters=3"):
        model = TSNMF(3, random_state=0).fit(X)
    assert_same_model(there_and_back(model, tmp_path), model, X[::-1])


def test_the_training_samples_are_not_predicted_again(images, tmp_path, monkeypatch):
    model = TSNMF(3, assign_labels="k-means", random_state=0).fit(images)
    loaded = there_and_back(model, tmp_path)
    sizes = []
    predict = Predictor.predict

    def counting(self, projected, edges):
        sizes.append(len(projected[0]))
        return predict(self, projected, edges)

    monkeypatch.setattr(Predictor, "predict", counting)
    loaded.predict(images[:2])
    assert sizes == [2]


# Models of other versions


@pytest.mark.parametrize("name", ["model.npz", "model.json"])
def test_files_of_an_earlier_version(tmp_path, model, name):
    (tmp_path / name).write_text("{}")
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(ValueError, match="by an earlier version of twofold; fit"):
            load_model(path)
    save_model(model, tmp_path)
    load_model(tmp_path)


def test_parameters_of_later_versions_get_their_defaults(model, images, tmp_path):
    save_model(model, tmp_path)
    edit_record(tmp_path, lambda record: record.update(parameters={"n_clusters": 3}))
    loaded, _ = load_model(tmp_path)
    assert_same_model(loaded, model, images[::-1])
    assert loaded.get_params() == TSNMF(3, channels="pixels").get_params()


def test_terms_of_later_versions_get_no_weight(model, tmp_path):
    save_model(model, tmp_path)
    edit_record(tmp_path, lambda record: record["fit"]["weights"].pop("energy_weight"))
    weights = load_model(tmp_path)[0].state_.predictor.weights
    assert weights == parameters.term_weights(model) | {"energy_weight": 0.0}


class Ridge(Term):
    """weight * ||V||^2, with a weight that TSNMF happens to have."""

    name = "ridge"
    parameter = "eigen_tol"

    def value(self, side, learned, coefficients, *, filled):
        return (coefficients**2).sum(axis=(1, 2))

    def new_row_parts(self, edges, coefficients, weight):
        return weight + 0 * edges.degree, 0 * edges.sums(coefficients)


def test_a_term_that_is_added_to_the_registry(images, tmp_path, monkeypatch):
    more = (*terms.TERMS, Ridge())
    for module in (terms, solver, updates, prediction, parameters, problem):
        monkeypatch.setattr(module, "TERMS", more)
    recorded = (*solver.RECORDED[:-1], "ridge", "total")
    monkeypatch.setattr(solver, "RECORDED", recorded)
    model = TSNMF(3, eigen_tol=0.5, random_state=0).fit(images)
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, images[::-1] + 0.3)
    assert list(loaded.objective_terms_) == list(recorded[:-1])
    assert loaded.state_.predictor.weights["eigen_tol"] == 0.5
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"weights must be of .*, got \['eigen_tol', "):
        load_model(tmp_path)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("assign_labels", ASSIGNMENTS)
@pytest.mark.parametrize("graph", KINDS)
def test_all_graphs_and_readings_come_back(
    images, tmp_path, graph, assign_labels, missing
):
    X = problems.pierced(images, problems.holes(images.shape)) if missing else images
    marker = np.nan if missing else None
    model = TSNMF(3, graph=graph, assign_labels=assign_labels, missing_values=marker)
    loaded = there_and_back(model.set_params(random_state=0).fit(X), tmp_path)
    assert_same_model(loaded, model, X[::-1])
    assert loaded.get_params()["assign_labels"] == assign_labels
    assert read_record(tmp_path)["fit"]["assign_labels"] == assign_labels


def test_how_labels_were_read_is_kept_whatever_is_set_after_the_fit(tmp_path):
    for before, after in permutations(ASSIGNMENTS, 2):
        model = TSNMF(4, assign_labels=before, random_state=0)
        model.fit(np.random.default_rng(0).normal(size=(50, 6, 7)))
        new = np.random.default_rng(1).normal(size=(50, 6, 7))
        labels = model.predict(new)
        model.set_params(assign_labels=after)
        same(model.predict(new), labels)
        loaded = there_and_back(model, tmp_path)
        same(loaded.predict(new), labels)
        assert loaded.assign_labels == after


# Saving that fails


def test_a_model_must_be_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(TSNMF(), tmp_path)
    assert not os.listdir(tmp_path)


def test_the_folder_must_exist(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder; make it first"):
        save_model(model, tmp_path / "none")


def circle():
    about = {}
    about["self"] = about
    return about


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ({"a": {1}}, "set is nothing that JSON can hold"),
        ({"a": float("nan")}, "not JSON compliant"),
        ({(1, 2): 3}, "keys must be str"),
        (circle(), "Circular reference"),
        ([1], r"must be a dict, got \[1\]"),
        ({"a": "x" * 2**26}, "bytes of 67,108,864 as JSON"),
    ],
)
def test_about_must_be_json(model, tmp_path, about, reason):
    with pytest.raises(ValueError, match=f"^about: .*{reason}.*; give a smaller dict"):
        save_model(model, tmp_path, about=about)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"n_clusters": 0}, "'n_clusters' parameter"),
        (
            {"energy_weight": float("inf")},
            "'energy_weight' parameter .* Got inf instead;",
        ),
        ({"n_directions": ("a", 1)}, "n_directions must be a positive integer"),
        ({"init": np.ones((2, 3))}, r"init must be .* of shape \(60, 3\), got .*2, 3"),
    ],
)
def test_parameters_that_could_not_be_read_are_not_written(
    images, tmp_path, parameters, reason
):
    model = TSNMF(3, random_state=0).fit(images).set_params(**parameters)
    with pytest.raises(ValueError, match=f"^model: .*{reason}.*fit it again"):
        save_model(model, tmp_path)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("owner", "name"), [(Path, "write_bytes"), (os, "fsync"), (os, "replace")]
)
def test_the_earlier_model_stays_when_saving_fails(
    model, tmp_path, images, monkeypatch, owner, name
):
    def fail(*_, **__):
        raise OSError("disk full")

    save_model(model, tmp_path)
    other = TSNMF(2, random_state=0).fit(images)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        with pytest.raises(OSError, match="disk full"):
            save_model(other, tmp_path)
    assert os.listdir(tmp_path) == ["model.safetensors"]
    assert_same_model(load_model(tmp_path)[0], model, images)


def test_arguments_of_other_types(model, tmp_path):
    for path in (None, 5, b"model", "", tmp_path.iterdir()):
        with pytest.raises(TypeError, match=r"^folder must be a path, got "):
            save_model(model, path)
        with pytest.raises(TypeError, match=r"^path must be a path, got "):
            load_model(path)
    for other in (None, "model", TSNMF, AutoTSNMF(3)):
        with pytest.raises(TypeError, match=r"^model must be a TSNMF, got "):
            save_model(other, tmp_path)
    assert not list(tmp_path.iterdir())
