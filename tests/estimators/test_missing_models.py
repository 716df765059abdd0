"""Models of samples with missing entries in files, there and back, and hostile ones."""

import json
import shutil
from pathlib import Path

import numpy as np
import problems
import pytest
from model_pairs import (
    assert_same_model,
    edit_record,
    members,
    npy,
    refused,
    same,
    write_npz,
    zipped,
)

from twofold import TSNMF
from twofold.estimators.model_files import load_model, save_model

COLOUR = np.moveaxis(problems.stack((24, 3, 5, 6)), 1, -1)
VERSION_1 = Path(__file__).parent / "data/model-v1"


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


def test_a_completion_is_written_where_there_is_one(images, tmp_path):
    save_model(TSNMF(3).fit(images), tmp_path)
    record = json.loads((tmp_path / "model.json").read_text())
    assert record["fit"]["completion"] is None
    model = TSNMF(3, missing_values=np.nan)
    save_model(model.fit(with_holes(images)), tmp_path)
    record = json.loads((tmp_path / "model.json").read_text(), parse_constant=fail)
    assert record["fit"]["completion"] == [7, 6]
    assert record["parameters"]["missing_values"] == "nan"


def fail(constant):
    raise AssertionError(f"{constant} is no JSON")


# Hostile files


@pytest.fixture(scope="module")
def saved(images, tmp_path_factory):
    """A folder with the files of a model, which no test may write to."""
    model = TSNMF(3, missing_values=np.nan, random_state=0).fit(with_holes(images))
    return save_model(model, tmp_path_factory.mktemp("saved"))[0].parent


@pytest.fixture
def copy(saved, tmp_path):
    """The like to be spoiled."""
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    return tmp_path


MEAN = np.ones((1, 7, 6))
GAIN = np.full((1, 7, 6), 0.5)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("mean", npy(MEAN[0]), r"completion_mean must be .* of shape \(1, 7, 6\), got"),
        ("mean", npy(np.nan * MEAN), "completion_mean must hold finite .* got nan"),
        ("mean", npy(-np.inf * MEAN), "completion_mean must hold finite .* got -inf"),
        ("mean", npy(MEAN.astype(object)), r"completion_mean must be .* got \|O"),
        ("left", npy(np.eye(6)), r"completion_left must be .* of shape \(7, 7\), got"),
        ("right", npy(np.eye(7)), r"completion_right must be .* shape \(6, 6\), got"),
        (
            "left",
            npy(np.nan * np.eye(7)),
            "completion_left must hold finite .* got nan",
        ),
        (
            "gain",
            npy(GAIN[:, :3]),
            r"completion_gain must be .* shape \(1, 7, 6\), got",
        ),
        ("gain", npy(14 * GAIN), "completion_gain must hold .* from 0 to 1, got 7.0"),
        ("gain", npy(-GAIN), "completion_gain must hold .* from 0 to 1, got -0.5"),
        ("gain", npy(np.nan * GAIN), "completion_gain must hold finite .* got nan"),
        ("gain", b"", "completion_gain must be a plain .npy array"),
    ],
)
def test_completions_with_a_right_digest(copy, name, data, reason):
    changed = members(copy) | {f"completion_{name}.npy": data}
    write_npz(copy, zipped(changed.items()))
    refused(copy, "model.npz", reason)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_an_energy_weight_that_no_fit_has(copy, weight):
    changed = members(copy) | {"energy_weight.npy": npy(np.array(weight))}
    write_npz(copy, zipped(changed.items()))
    refused(copy, "model.npz", "energy_weight must hold finite numbers from 0")


def test_a_completion_of_other_sizes_than_the_record_says(copy):
    edit_record(copy, lambda record: record["fit"].update(completion=[6, 6]))
    refused(copy, "model.npz", r"completion_left must be .*\(7, 6\), got .*\(7, 7")


def test_a_completion_that_the_record_does_not_speak_of(copy):
    edit_record(copy, lambda record: record["fit"].pop("completion"))
    refused(copy, "model.npz", "nothing else, got .*completion_gain.npy")


def test_a_record_that_speaks_of_a_completion_in_vain(model, tmp_path):
    copy = save_model(model, tmp_path)[0].parent
    edit_record(copy, lambda record: record["fit"].update(completion=[7, 6]))
    refused(copy, "model.npz", "once and nothing else, got .*completion_gain.npy")
