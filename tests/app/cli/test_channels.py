"""``twofold cluster --channels``: alone it narrows the search."""

import importlib
import json
from types import SimpleNamespace

import numpy as np
import problems
import pytest
from network_problems import need_lite0, photos
from small_photos import table

from twofold import TSNMF, AutoTSNMF
from twofold.app import workflow


@pytest.fixture
def large(tmp_path):
    """A file large.npy of 30 smooth images that have gradients."""
    X = np.cumsum(np.cumsum(problems.images(30, 12, 10), axis=1), axis=2)
    np.save(tmp_path / "large.npy", X)
    return X


@pytest.fixture
def asked(here, large, monkeypatch):
    """A function from arguments to the model that they ask for, which is not fitted."""
    found = SimpleNamespace(model=None)

    def keep(collection, model, *args, **kwargs):
        found.model = model
        raise ValueError("caught")

    monkeypatch.setattr(workflow, "cluster", keep)

    def model_for(*arguments):
        assert here(*arguments).stderr == "Error: caught\n"
        return found.model

    return model_for


def test_channels_alone_narrow_the_search(asked):
    for name in ("pixels", "gradients", "fine_gradients"):
        model = asked("cluster", "large.npy", "-k", "2-3", "--channels", name)
        assert isinstance(model, AutoTSNMF)
        assert model.channels == [name]
        assert model.estimator.get_params() == TSNMF().get_params()
    for given in ((), ("--channels", "auto")):
        model = asked("cluster", "large.npy", *given)
        assert isinstance(model, AutoTSNMF)
        assert model.channels == "auto"


@pytest.mark.parametrize("name", ["auto", "pixels", "gradients", "fine_gradients"])
def test_channels_beside_a_setting_are_those_of_the_model(asked, name):
    given = ("--graph", "heat", "--channels", name)
    model = asked("cluster", "large.npy", "-k", "3", *given)
    assert isinstance(model, TSNMF)
    known = TSNMF(3, channels=name, graph="heat", random_state=0)
    assert model.get_params() == known.get_params()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("--channels", "edges"),
            2,
            "for --channels: expected one of auto, pixels, gradients, fine_gradients, "
            "network, got edges",
        ),
        (("--channels", ""), 2, "network, got nothing"),
        (("-k", "3", "--tol", "0", "--channels", "x"), 2, "for --channels: expected"),
        (
            ("--channels", "gradients"),
            1,
            "--channels gradients needs images of at least 8 x 8 pixels, got samples "
            "of 7 x 6; take pixels or auto",
        ),
        (("-k", "3", "--tol", "0", "--channels", "fine_gradients"), 1, "of 7 x 6; "),
    ],
)
def test_errors_are_one_line_and_a_code(here, tmp_path, arguments, code, message):
    np.save(tmp_path / "a.npy", problems.images(30))
    failed = here("cluster", "a.npy", *arguments)
    assert failed.returncode == code
    assert failed.stderr.startswith("Error: ")
    assert message in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_channels_that_were_asked_for(here, large, tmp_path):
    given = ("-k", "3", "--channels", "gradients")
    run = here("cluster", "large.npy", *given, "--json")
    assert run.returncode == 0, run.stderr
    end = json.loads(run.stdout.splitlines()[-1])
    assert end["chosen"]["channels"] == "gradients"
    rows = table(tmp_path / "large-clusters/search.csv")
    assert {row["channels"] for row in rows} == {"gradients"}
    search = AutoTSNMF(3, channels=["gradients"], random_state=0).fit(large)
    rows = table(tmp_path / "large-clusters/assignments.csv")
    assert [int(row["cluster"]) for row in rows] == search.labels_.tolist()
    predicted = here("predict", "large-clusters", "large.npy")
    assert predicted.returncode == 0, predicted.stderr


@pytest.mark.torch
def test_features_of_a_network(here, tmp_path, monkeypatch):
    need_lite0()
    monkeypatch.setattr("pooch.os_cache", lambda name: str(tmp_path / "cache"))
    np.save(tmp_path / "photos.npy", photos(20))
    run = here("cluster", "photos.npy", "-k", "2", "--channels", "network", "--json")
    assert run.returncode == 0, run.stderr
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert events[-1]["chosen"]["channels"] == "network"
    assert events[-1]["features"] == [7, 7, 512]
    assert any(event["event"] == "features" for event in events)
    report = (tmp_path / "photos-clusters/report.html").read_text(encoding="utf-8")
    assert "the features that a trained network, efficientnet-lite0, finds" in report
    predicted = here("predict", "photos-clusters", "photos.npy")
    assert predicted.returncode == 0, predicted.stderr


def test_a_network_that_is_not_here_is_told_in_a_line(here, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    np.save(tmp_path / "photos.npy", photos(20))
    failed = here("cluster", "photos.npy", "-k", "2", "--channels", "network")
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    assert "pip install 'twofold[photos]'" in failed.stderr


def test_channels_of_vectors(here, tmp_path):
    np.save(tmp_path / "flat.npy", problems.images(30).reshape(30, -1))
    failed = here("cluster", "flat.npy", "-k", "3", "--channels", "gradients")
    assert failed.returncode == 1
    assert "got samples of 42; take pixels or auto" in failed.stderr
