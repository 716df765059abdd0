"""Models in files: the way there and back, and what saving leaves behind."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import problems
import pytest
from model_pairs import assert_same_model, edit_record, same
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError

import twofold
from twofold import TSNMF
from twofold.core.graphs import KINDS
from twofold.estimators import labels
from twofold.estimators.labels import ASSIGNMENTS
from twofold.estimators.model_files import load_model, save_model

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
        *[(problems.images(), {"graph": graph}) for graph in KINDS],
    ],
)
def test_all_comes_back_as_it_was(tmp_path, X, options):
    model = TSNMF(3, random_state=5, **options).fit(X)
    loaded = there_and_back(model, tmp_path)
    new = X[::-1] + np.asarray(0.3 * X.std(), dtype=X.dtype)
    assert_same_model(loaded, model, new)
    assert loaded.get_params() == model.get_params()


def test_the_files_and_what_is_said_of_them(model, tmp_path):
    about = {"images": "faces", "representatives": [3, 1, 2], "nested": {"a": None}}
    paths = save_model(model, str(tmp_path), about=about)
    assert paths == (tmp_path / "model.npz", tmp_path / "model.json")
    assert sorted(os.listdir(tmp_path)) == ["model.json", "model.npz"]
    for path in (tmp_path, str(tmp_path), *paths):
        assert load_model(path)[1] == about
    record = json.loads(paths[1].read_text())
    assert record["format"] == "twofold model"
    assert record["version"] == 3
    assert record["twofold"] == twofold.__version__
    assert record["sha256"] == hashlib.sha256(paths[0].read_bytes()).hexdigest()


def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    first = [path.read_bytes() for path in save_model(model, tmp_path)]
    assert [path.read_bytes() for path in save_model(model, tmp_path)] == first
    again = load_model(tmp_path)[0]
    assert [path.read_bytes() for path in save_model(again, tmp_path)] == first


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


def test_no_training_sample_is_placed_again(images, model, tmp_path, monkeypatch):
    def place(*_):
        raise AssertionError

    loaded = there_and_back(model, tmp_path)
    monkeypatch.setattr(labels, "place", place)
    loaded.predict(images[:2])


# Models of other versions


# Written by twofold 0.1.0.dev0, the first to write models (NumPy 2, Linux), so:
#
#     model = TSNMF(3, n_directions=(2, 2), n_neighbors=2, init=START, scale="global",
#                   random_state=0).fit(squares(range(12)))
#     save_model(model, VERSION_1, about={"images": "three squares"})
#
# It stands for all models that users have. Never make it again: where it can no longer
# be read, that is what must be mended.
VERSION_1 = Path(__file__).parent / "data/model-v1"

START = np.eye(3, dtype=np.float32)[np.arange(12) % 3]


def squares(numbers):
    """Samples of 4 x 5 whole pixels: one of three bright squares, and a weak ripple."""
    i, y, x = np.ix_(numbers, range(4), range(5))
    top, left = np.array([(0, 0), (0, 3), (2, 1)])[i % 3].transpose(3, 0, 1, 2)
    lit = (top <= y) & (y < top + 2) & (left <= x) & (x < left + 2)
    return (40 * lit + (3 * i + 5 * y + 7 * x) % 4).astype(np.float32)


def test_a_model_of_version_1_is_read():
    model, about = load_model(VERSION_1)
    assert about == {"images": "three squares"}
    assert model.missing_values is None
    given = {"n_clusters": 3, "n_directions": (2, 2), "scale": "global"}
    assert given.items() <= model.get_params().items()
    same(model.init, START)
    names = model.labels_[:3]
    assert set(names) == {0, 1, 2}
    same(model.labels_, np.tile(names, 4))
    new = np.arange(12, 42)
    same(model.predict(squares(new)), names[new % 3])
    again = model.inverse_transform(model.transform(squares(new)))
    np.testing.assert_allclose(again, squares(new), atol=4)  # more than the ripple
    X = squares(range(12))
    left = X - np.tensordot(model.coefficients_, model.components_, axes=1)
    error = np.linalg.norm(left.reshape(12, -1), axis=1)
    np.testing.assert_allclose(model.reconstruction_error_, error, rtol=1e-4)


def test_a_model_of_version_1_predicts_as_it_did():
    """By the nearest center, also of what lies between the squares."""
    model, _ = load_model(VERSION_1)
    assert model.assign_labels == "k-means"
    placed = model.transform(squares(range(12)))
    centers = [placed[model.labels_ == j].mean(axis=0) for j in range(3)]
    share = np.linspace(0, 1, 9)[:, None, None]
    between = share * squares([0]) + (1 - share) * squares([1, 2, 5]).mean(axis=0)
    nearest = cdist(model.transform(between), centers).argmin(axis=1)
    assert len(set(nearest)) > 1
    same(model.predict(between), nearest)


def test_the_model_of_version_1_was_not_made_again():
    known = "0a25a3102bd7ce7bd756019bf86fc41e3e31c99dd0df3e73908ab15ef2f5ea5c"
    assert json.loads((VERSION_1 / "model.json").read_text())["sha256"] == known


def test_parameters_that_came_later_are_at_their_defaults(model, images, tmp_path):
    save_model(model, tmp_path)
    edit_record(tmp_path, lambda record: record.update(parameters={"n_clusters": 3}))
    loaded, _ = load_model(tmp_path)
    assert_same_model(loaded, model, images[::-1])
    # But for labels, which were K-means' before there was a choice.
    assert loaded.get_params() == TSNMF(3, assign_labels="k-means").get_params()


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
    record = json.loads((tmp_path / "model.json").read_text())
    assert record["version"] == 3
    assert record["fit"]["reading"] == assign_labels


def test_how_labels_were_read_is_kept_whatever_is_set_after_the_fit(tmp_path):
    for before, after in (ASSIGNMENTS, ASSIGNMENTS[::-1]):
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
        ({"init": np.ones((2, 3))}, r"init must be .* of shape \(60, 3\), got .*2, 3"),
        ({"n_directions": ("a", 1)}, "n_directions must be"),
        ({"missing_values": True}, "missing_values must be a number or None, got True"),
    ],
)
def test_parameters_that_could_not_be_read_are_not_written(
    images, tmp_path, parameters, reason
):
    model = TSNMF(3, random_state=0).fit(images).set_params(**parameters)
    with pytest.raises(ValueError, match=f"^model: .*{reason}.*fit it again"):
        save_model(model, tmp_path)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("broken", ["savez", "fsync", "replace"])
def test_what_was_there_stays_whole_when_saving_fails(
    model, tmp_path, images, monkeypatch, broken
):
    def fail(*_, **__):
        raise OSError("disk full")

    save_model(model, tmp_path)
    other = TSNMF(2, random_state=0).fit(images)
    with monkeypatch.context() as patch:
        patch.setattr(np if broken == "savez" else os, broken, fail)
        with pytest.raises(OSError, match="disk full"):
            save_model(other, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["model.json", "model.npz"]
    assert_same_model(load_model(tmp_path)[0], model, images)


def test_a_disk_too_full_for_the_record_leaves_the_arrays_alone(
    model, tmp_path, images, monkeypatch
):
    def fsync(file):
        if os.fstat(file).st_size < 2**12:  # the arrays take more
            raise OSError("disk full")

    paths = save_model(model, tmp_path)
    before = [path.read_bytes() for path in paths]
    assert len(before[1]) < 2**12 < len(before[0])
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="disk full"):
        save_model(TSNMF(2, random_state=0).fit(images), tmp_path)
    assert [path.read_bytes() for path in paths] == before
    assert sorted(os.listdir(tmp_path)) == ["model.json", "model.npz"]


def test_the_record_comes_last(model, tmp_path, monkeypatch):
    moved = []
    replace = os.replace
    monkeypatch.setattr(
        os, "replace", lambda *paths: (moved.append(paths[1].name), replace(*paths))
    )
    save_model(model, tmp_path)
    assert moved == ["model.npz", "model.json"]
