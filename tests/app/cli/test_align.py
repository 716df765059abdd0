"""``twofold cluster --align`` and ``twofold predict``, as a user runs them."""

import json

import numpy as np
import pytest
from browsing import page_of
from runner import inside
from scipy import ndimage
from sklearn.metrics import adjusted_rand_score
from small_photos import table as rows

from twofold import TSNMF
from twofold.app.results import typicality
from twofold.estimators import load_model


def shifted(seed, n=60, size=18):
    """Images of a disc, a frame and a bar, shifted by up to 4 pixels; their kinds."""
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    box = np.maximum(np.abs(y), np.abs(x))
    drawn = [np.hypot(y, x) < 4, np.abs(box - 4) < 1, (np.abs(x) < 2) & (box < 5)]
    smooth = [ndimage.gaussian_filter(1.0 * one, 0.6) for one in drawn]
    rng, kinds = np.random.default_rng(seed), np.arange(n) % 3
    shifts = rng.integers(-4, 5, size=(n, 2))
    images = [
        np.roll(smooth[kind], shift, axis=(0, 1))
        for kind, shift in zip(kinds, shifts, strict=True)
    ]
    return np.array(images) + 0.05 * rng.random((n, size, size)), kinds


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder with shifted images, the results for them, and what was printed."""
    folder = tmp_path_factory.mktemp("shifted")
    np.save(folder / "old.npy", shifted(0)[0])
    np.save(folder / "new.npy", shifted(1)[0])
    given = "-k", "3", "--align", "shifts", "--channels", "pixels", "--json"
    run = inside("cluster", "old.npy", *given, folder=folder)
    assert run.returncode == 0, run.stderr
    return folder, json.loads(run.stdout.splitlines()[-1])


def column(file, name):
    return [row[name] for row in rows(file)]


def test_the_clusters_and_predictions_are_those_of_aligned_images(done):
    folder, _ = done
    results = folder / "old-clusters"
    labels = column(results / "assignments.csv", "cluster")
    assert adjusted_rand_score(shifted(0)[1], labels) > 0.9
    run = inside(
        "predict", "old-clusters", "new.npy", "--out", "new.csv", folder=folder
    )
    assert run.returncode == 0, run.stderr
    predicted = column(folder / "new.csv", "cluster")
    assert adjusted_rand_score(shifted(1)[1], predicted) > 0.9


def test_errors_and_typicality_are_those_of_aligned_images(done):
    folder, _ = done
    results = folder / "old-clusters"
    model = load_model(results)[0]
    images, _ = shifted(0)
    moved = model.state_.alignment.apply(images[:, None])[1][:, 0]
    norms = np.linalg.norm(moved, axis=(1, 2))
    errors = np.array(
        column(results / "assignments.csv", "reconstruction_error"), float
    )
    np.testing.assert_allclose(errors, model.reconstruction_error_ / norms, atol=1e-4)
    summary = json.loads((results / "report.json").read_bytes())
    typical = typicality(moved, model.labels_)
    for cluster in summary["clusters"]:
        mean = typical[model.labels_ == cluster["number"]].mean()
        assert cluster["tightness"] == pytest.approx(mean, abs=1e-4)


def test_what_is_said_of_it(done):
    folder, facts = done
    alignment = load_model(folder / "old-clusters")[0].state_.alignment
    gain = {"before": alignment.before, "after": alignment.after}
    assert facts["aligned"] == {"moves": "shifts", **gain}
    summary = json.loads((folder / "old-clusters" / "report.json").read_bytes())
    assert summary["aligned"] == "shifts"
    assert summary["parameters"]["align"] == "shifts"
    note = "The images were aligned before they were compared"
    assert note in page_of(summary)
    del summary["aligned"]  # as in older files
    assert note not in page_of(summary)


def test_without_it_nothing_is_said(here, tmp_path):
    np.save(tmp_path / "old.npy", shifted(0)[0])
    given = "-k", "3", "--tol", "0.5", "--channels", "pixels"
    run = here("cluster", "old.npy", *given, "--json")
    assert "aligned" not in json.loads(run.stdout.splitlines()[-1])
    assert "aligned" not in json.loads(
        (tmp_path / "old-clusters" / "report.json").read_bytes()
    )
    run = here("cluster", "old.npy", *given, "--align", "all", "--force")
    assert "\naligned: correlation with their mean 0." in "\n" + run.stderr + run.stdout


@pytest.mark.parametrize(("text", "value"), [("shifts", "shifts"), ("all", True)])
def test_it_leaves_the_search_in(here, tmp_path, monkeypatch, text, value):
    found = []

    def keep(collection, model, *_, **__):
        found.append(model)
        raise ValueError("caught")

    monkeypatch.setattr("twofold.app.workflow.cluster", keep)
    np.save(tmp_path / "old.npy", shifted(0)[0])
    here("cluster", "old.npy", "--align", text)
    here("cluster", "old.npy", "-k", "3", "--tol", "0.1", "--align", text)
    here("cluster", "old.npy")
    search, model, without = found
    assert search.estimator.get_params() == TSNMF(align=value).get_params()
    known = TSNMF(3, align=value, tol=0.1, random_state=0)
    assert model.get_params() == known.get_params()
    assert without.estimator.align is False


@pytest.mark.parametrize(
    ("shape", "arguments", "code", "message"),
    [
        ((9, 9), ("--align", "turns"), 2, "--align"),
        ((9, 9), ("--align", ""), 2, "--align"),
        (
            (9, 7),
            ("--align", "all"),
            1,
            "--align needs images of at least 8 x 8 pixels, got samples of 9 x 7; "
            "leave it out",
        ),
        ((64,), ("-k", "3", "--tol", "0", "--align", "shifts"), 1, "samples of 64; "),
    ],
)
def test_errors_are_one_line(here, tmp_path, shape, arguments, code, message):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).random((20, *shape)))
    failed = here("cluster", "a.npy", *arguments)
    assert failed.returncode == code
    assert failed.stderr.startswith("Error: ")
    assert message in failed.stderr
    assert failed.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]
