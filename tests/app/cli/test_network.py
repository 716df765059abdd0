"""``twofold cluster`` and ``predict`` by the features of a network."""

import json

import numpy as np
import problems
import pytest
from network_problems import (
    marked_photos,
    need_lite0,
    pooling_file,
    seen_classes,
    stand_in,
)
from small_photos import odd_photos, table

from twofold.app.cli.network import INSTALL
from twofold.channels.network import NetworkError, features, sources
from twofold.metrics import clustering_accuracy

NOTHING = "the samples do not look as if they had any clusters: do not trust these"


@pytest.fixture
def classes(tmp_path, monkeypatch):
    """Classes of the photos in a folder "marked" that only a network sees."""
    monkeypatch.setattr("pooch.os_cache", lambda name: str(tmp_path / "cache"))
    return marked_photos(tmp_path / "marked", 40)


@pytest.fixture
def calls(monkeypatch):
    """The sizes of the batches of a network that sees the classes."""
    seen = []

    def run(batch, device):
        seen.append(len(batch))
        return seen_classes(batch, device)

    stand_in(monkeypatch, run)
    monkeypatch.setattr(sources, "is_installed", lambda: True)
    return seen


def ended(run):
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_the_network_is_tried_without_options(here, classes, calls, tmp_path):
    end = ended(here("cluster", "marked", "-k", "3", "--json"))
    assert end["network"] == "efficientnet-lite0"
    assert end["chosen"]["channels"] == "network"
    assert end["compared"]["network"] > end["compared"]["images"]
    assert end["found"]
    rows = table(tmp_path / "marked-clusters/assignments.csv")
    labels = [int(row["cluster"]) for row in rows]
    assert clustering_accuracy(classes, labels) == 1
    predicted = here("predict", "marked-clusters", "marked")
    assert predicted.returncode == 0, predicted.stderr
    found = [int(line.split(",")[1]) for line in predicted.stdout.splitlines()[1:]]
    assert found == labels


def test_a_second_run_takes_features_from_the_cache(here, classes, calls):
    told = here("cluster", "marked", "-k", "3")
    assert "compared by their features, of efficientnet-lite0, 4 x 4 x 4" in told.stdout
    assert "tried: images, edge information " in told.stdout
    assert sum(calls) == 40
    again = here("cluster", "marked", "-k", "3", "--force")
    assert again.stdout == told.stdout
    assert sum(calls) == 40


@pytest.mark.parametrize("given", [(), ("--graph", "heat")], ids=["search", "settings"])
def test_the_network_is_asked_for(here, classes, calls, given):
    end = ended(
        here("cluster", "marked", "-k", "3", "--channels", "network", *given, "--json")
    )
    assert end["network"] == "efficientnet-lite0"
    assert "compared" not in end
    assert end["features"] == [4, 4, 4]


@pytest.mark.parametrize(
    "given",
    [("--channels", "pixels"), ("--graph", "heat"), ("--align", "shifts")],
    ids=lambda given: given[0],
)
def test_the_network_is_not_tried_with_what_is_for_pixels(here, classes, calls, given):
    end = ended(here("cluster", "marked", "-k", "3", *given, "--json"))
    assert "network" not in end
    assert not calls


def test_arrays_are_not_tried(here, classes, calls, tmp_path):
    np.save(tmp_path / "a.npy", problems.images(30, 16, 16))
    assert "compared" not in ended(here("cluster", "a.npy", "-k", "3", "--json"))
    assert not calls


@pytest.mark.parametrize("given", [("-k", "3"), ("-k", "2-4"), ()], ids=str)
def test_what_to_install_is_told_where_nothing_is_found(
    here, classes, monkeypatch, given
):
    monkeypatch.setattr(sources, "is_installed", lambda: False)
    run = here("cluster", "marked", *given)
    assert run.returncode == 0
    assert f"Warning: {NOTHING}; for ordinary photos try {INSTALL}\n" in run.stderr


def test_a_network_is_named_where_other_channels_were_asked_for(
    here, classes, monkeypatch
):
    monkeypatch.setattr(sources, "is_installed", lambda: True)
    for options, told in (
        (("--channels", "pixels"), True),
        (("--align", "shifts"), False),
        (("--channels", "auto", "--graph", "heat"), True),
    ):
        run = here("cluster", "marked", "-k", "3", "--force", *options)
        assert ("for ordinary photos try --channels network" in run.stderr) is told


def test_nothing_is_told_of_installing_where_it_would_not_help(
    here, classes, monkeypatch, tmp_path
):
    monkeypatch.setattr(sources, "is_installed", lambda: False)
    noise = np.random.default_rng(0).uniform(size=(40, 16, 16))
    np.save(tmp_path / "noise.npy", noise)
    for run in (
        here("cluster", "noise.npy", "-k", "3"),
        here("cluster", "marked", "-k", "3", "--channels", "pixels"),
    ):
        assert f"Warning: {NOTHING}\n" in run.stderr
        assert "pip" not in run.stderr


@pytest.mark.parametrize("name", ["resnet50", "", "nonsense:x"])
def test_a_name_that_is_none_is_wrong_usage(here, classes, name):
    failed = here("cluster", "marked", "-k", "3", "--network", name)
    assert failed.returncode == 2
    assert "for --network: network must be 'efficientnet-lite0'" in failed.stderr


def test_a_network_that_fails_by_itself_leaves_the_images(
    here, classes, calls, monkeypatch
):
    def broken(name):
        raise NetworkError("it is broken; reinstall it")

    monkeypatch.setattr(features, "open_network", broken)
    run = here("cluster", "marked", "-k", "3", "--json")
    end = ended(run)
    assert "network" not in end
    assert "Warning: no network was tried: it is broken; reinstall it\n" in run.stderr
    asked = here("cluster", "marked", "-k", "3", "--channels", "network", "--force")
    assert asked.returncode == 1
    assert asked.stderr == "Error: it is broken; reinstall it\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--channels", "network", "--align", "shifts"), "for --align: is for images"),
        (("--channels", "network", "--missing", "0"), "for --missing: is for images"),
        (("--network", "x.onnx", "--channels", "pixels"), "for --network: is for --ch"),
        (("--network", "x.onnx"), "there is none at 'x.onnx'"),
        (("--network", "other"), "network must be 'efficientnet-lite0', 'torchvision:"),
        (("--features", "f.npy", "--channels", "network"), "for --channels: is for im"),
        (("--features", "f.npy", "--network", "x.onnx"), "for --network: is for image"),
    ],
    ids=str,
)
def test_options_that_exclude_each_other(here, classes, tmp_path, given, said):
    np.save(tmp_path / "f.npy", np.ones((40, 2)))
    failed = here("cluster", "marked", "-k", "3", *given)
    assert failed.returncode in (1, 2)
    assert said in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert not (tmp_path / "marked-clusters").exists()


@pytest.mark.torch
def test_photos_of_any_colours_depth_and_shape(here, tmp_path, monkeypatch):
    need_lite0()
    monkeypatch.setattr("pooch.os_cache", lambda name: str(tmp_path / "cache"))
    (tmp_path / "odd").mkdir()
    odd_photos(tmp_path / "odd")
    told = ("-k", "3", "--channels", "network", "--json")
    end = ended(here("cluster", "odd", *told))
    assert (end["images"], end["skipped"]) == (21, 0)
    assert end["features"] == [7, 7, 512]
    predicted = here("predict", "odd-clusters", "odd/moving.gif")
    assert predicted.returncode == 0, predicted.stderr
    assert len(predicted.stdout.splitlines()) == 1 + 7


@pytest.mark.torch
def test_a_network_in_a_file_of_ones_own(here, classes, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs onnxruntime, by make torch")
    pooling_file(tmp_path / "own.onnx")
    given = ("--network", "own.onnx")
    end = ended(here("cluster", "marked", "-k", "3", *given, "--json"))
    assert end["network"] == "own.onnx"
    assert end["features"] == [4, 4, 3]
    alone = here("predict", "marked-clusters", "marked")
    assert alone.returncode == 1
    assert "--network must be given" in alone.stderr
    predicted = here("predict", "marked-clusters", "marked", *given)
    assert predicted.returncode == 0, predicted.stderr
    pooling_file(tmp_path / "own.onnx", kind="vector")
    other = here("predict", "marked-clusters", "marked", *given)
    assert other.returncode == 1
    assert "must have the weights" in other.stderr
