"""Files of models with missing entries: saved and loaded again, and hostile ones."""

import shutil

import numpy as np
import problems
import pytest
from model_forging import (
    assert_same_model,
    edit_arrays,
    edit_record,
    read_record,
    refused,
    same,
)
from safetensors.numpy import load_file

from twofold import TSNMF
from twofold.estimators import load_model, save_model

COLOUR = np.moveaxis(problems.stack((24, 3, 5, 6)), 1, -1)


def there_and_back(model, folder):
    save_model(model, folder)
    return load_model(folder)[0]


def with_holes(X, marker=np.nan):
    """X with one in five of its entries missing, and some rows."""
    X = X.copy()
    X.reshape(-1)[::5] = marker
    X[::7, :2] = marker
    return X


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (problems.images(), {"missing_values": np.nan}),
        (problems.images().astype(np.float32), {"missing_values": np.nan}),
        (COLOUR, {"missing_values": np.nan, "energy_weight": 0.3}),
        (problems.images().reshape(60, -1), {"missing_values": np.nan}),
        (problems.images(n=9, h=80, w=3), {"missing_values": np.nan}),
        (problems.images(), {"missing_values": 0, "scale": "global"}),
        (problems.images(), {"missing_values": -99.5}),
        (problems.images(), {"missing_values": np.inf}),
        (problems.images(), {"missing_values": -np.inf}),
        (problems.images(), {"missing_values": np.float32(np.nan)}),
    ],
)
def test_a_completion_comes_back_as_it_was(tmp_path, X, options):
    X = with_holes(X, options["missing_values"])
    model = TSNMF(3, random_state=5, **options).fit(X)
    loaded = there_and_back(model, tmp_path)
    new = X[::-1][: len(X) // 2]
    assert_same_model(loaded, model, new)
    same(loaded.impute(new), model.impute(new))
    marker = loaded.get_params()["missing_values"]
    np.testing.assert_equal(marker, options["missing_values"])


def test_a_completion_by_a_mask_alone(images, tmp_path):
    mask = np.isnan(with_holes(images))
    model = TSNMF(3, energy_weight=0.2, random_state=0).fit(images, mask=mask)
    model.set_params(energy_weight=7.0)  # after the fit, and of no effect on it
    loaded = there_and_back(model, tmp_path)
    same(loaded.impute(images, mask=mask), model.impute(images, mask=mask))
    same(loaded.transform(images, mask=mask), model.transform(images, mask=mask))
    same(loaded.predict(images, mask=mask), model.predict(images, mask=mask))


@pytest.mark.torch
def test_a_completion_of_tensors(images, tmp_path):
    torch = pytest.importorskip("torch")
    X = with_holes(images)
    model = TSNMF(3, missing_values=np.nan, random_state=0).fit(torch.asarray(X))
    loaded = there_and_back(model, tmp_path)
    np.testing.assert_allclose(loaded.impute(X), model.impute(torch.asarray(X)).numpy())


def test_a_completion_is_written_if_there_is_one(images, tmp_path):
    path = save_model(TSNMF(3).fit(images), tmp_path)
    assert not any(name.startswith("completion") for name in load_file(path))
    assert read_record(tmp_path)["parameters"]["missing_values"] is None
    model = TSNMF(3, missing_values=np.nan)
    save_model(model.fit(with_holes(images)), tmp_path)
    assert load_file(path)["completion.gain"].shape == (1, 7, 6)
    assert read_record(tmp_path)["parameters"]["missing_values"] == "nan"


# Hostile files


@pytest.fixture(scope="module")
def saved(images, tmp_path_factory):
    """A folder with the files of a model, which no test may write to."""
    model = TSNMF(3, missing_values=np.nan, random_state=0).fit(with_holes(images))
    return save_model(model, tmp_path_factory.mktemp("saved")).parent


@pytest.fixture
def copy(saved, tmp_path):
    """The like to be spoiled."""
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    return tmp_path


MEAN = np.ones((1, 7, 6))
GAIN = np.full((1, 7, 6), 0.5)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("mean", MEAN[0], r"completion.mean must be .* of shape \(1, 7, 6\), got"),
        ("mean", np.nan * MEAN, "completion.mean must hold finite .* got nan"),
        ("mean", -np.inf * MEAN, "completion.mean must hold finite .* got -inf"),
        ("mean", MEAN.astype("f4"), r"completion.mean must be float64 .* got float32"),
        ("left", np.eye(6), r"completion.left must be .* of shape \(7, 6\), got"),
        ("left", np.eye(7)[:, :5], r"completion.gain must be .* of shape \(1, 5, 6\)"),
        ("right", np.eye(7), r"completion.right must be .* shape \(6, 7\), got"),
        ("left", np.nan * np.eye(7), "completion.left must hold finite .* got nan"),
        ("gain", GAIN[:, :3], r"completion.gain must be .* shape \(1, 7, 6\), got"),
        ("gain", 14 * GAIN, "completion.gain must hold .* from 0 to 1, got 7.0"),
        ("gain", -GAIN, "completion.gain must hold .* from 0 to 1, got -0.5"),
        ("gain", np.nan * GAIN, "completion.gain must hold finite .* got nan"),
        ("gain", None, r"nothing else, got \['completion.gain'\] missing or in sur"),
    ],
)
def test_completions_with_a_right_digest(copy, name, array, reason):
    edit_arrays(copy, **{f"completion.{name}": array})
    refused(copy, reason)


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        (-1.0, "Expected `float` >= 0.0"),
        (np.nan, "Expected `float` >= 0.0"),
        (np.inf, "Expected `float` <= 1.7"),
    ],
)
def test_an_energy_weight_that_no_fit_has(copy, weight, reason):
    weights = {"energy_weight": weight, "graph_weight": 1.0}
    edit_record(copy, lambda record: record["fit"].update(weights=weights))
    refused(copy, reason)


def test_one_array_of_a_completion_alone(model, tmp_path):
    save_model(model, tmp_path)
    edit_arrays(tmp_path, **{"completion.gain": GAIN})
    refused(tmp_path, "nothing else, got .*completion.left.* missing or in surplus")
