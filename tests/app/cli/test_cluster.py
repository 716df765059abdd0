"""``twofold cluster`` and ``twofold demo``, as a user runs them."""

import csv
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from runner import begin, environment, inside, twofold
from sklearn.datasets import load_digits
from small_photos import FILES
from small_photos import table as rows

from twofold import AutoTSNMF, io
from twofold.app import workflow
from twofold.estimators import load_model

NAMES = ("<script>alert(1)<", "a b", "line\nbreak", "数字", "=1+1", "'\"")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder ``photos`` with 0s, 1s and 4s in folders, and three broken files."""
    folder = tmp_path_factory.mktemp("place")
    digits = load_digits()
    for digit in (0, 1, 4):
        inside = folder / "photos" / str(digit)
        inside.mkdir(parents=True)
        for i, image in enumerate(digits.images[digits.target == digit][:20]):
            name = NAMES[i] if i < len(NAMES) else str(i)
            pixels = Image.fromarray((255 / 16 * image).astype(np.uint8))
            pixels.resize((16, 12)).save(inside / f"{name}.png")
    (folder / "photos" / "empty.png").touch()
    (folder / "photos" / "notes.txt").write_text("no image")
    (folder / "photos" / "broken.jpg").write_text("no image")
    return folder


@pytest.fixture(scope="module")
def done(place):
    """What a run on it printed; its results are in photos-clusters."""
    run = twofold("cluster", "photos", "-k", "3", "--labels", "folders", folder=place)
    assert run.returncode == 0, run.stderr
    return run


@pytest.fixture(scope="module")
def known(place):
    """What the library finds in it."""
    images = io.read_images(place / "photos", color=None).images
    return AutoTSNMF(3, random_state=0).fit(images)


def state(folder):
    """Names, times and contents of all below a folder."""
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def test_the_last_line_is_the_path_of_the_report(place, done):
    *_, last = done.stdout.splitlines()
    label, _, path = last.partition(": ")
    assert label == "Report"
    assert (place / path).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "\x1b[" not in done.stdout + done.stderr
    assert done.stderr == ""


def test_every_file_is_there_and_right(place, done, known):
    results = place / "photos-clusters"
    assert {path.name for path in results.iterdir()} == FILES | {"search.csv"}
    found = rows(results / "assignments.csv")
    images = io.read_images(place / "photos", color=None)
    assert [Path(row["path"]).name for row in found] == [p.name for p in images.paths]
    model = known.best_estimator_
    assert [int(row["cluster"]) for row in found] == model.labels_.tolist()
    norms = np.linalg.norm(images.images, axis=(1, 2))
    np.testing.assert_allclose(
        [float(row["reconstruction_error"]) for row in found],
        model.reconstruction_error_ / norms,
        rtol=1e-4,
    )
    names = {row["path"] for row in found}
    assert all(row["nearest_representative"] in names for row in found)
    assert {row["path"]: row["reason"] for row in rows(results / "skipped.csv")} == {
        "photos/broken.jpg": "not an image of a known format",
        "photos/empty.png": "the file is empty",
        "photos/notes.txt": "not an image of a known format",
    }
    saved, _ = load_model(results)
    assert np.array_equal(saved.labels_, model.labels_)


def test_predict_agrees_with_the_python_api(place, done, known, here, tmp_path):
    digits = load_digits()
    new = digits.images[np.isin(digits.target, (0, 1, 4))][100:130]
    (tmp_path / "new").mkdir()
    for i, image in enumerate(new):
        pixels = Image.fromarray((255 / 16 * image).astype(np.uint8))
        pixels.resize((16, 12)).save(tmp_path / "new" / f"{i:02}.png")
    said = here("predict", place / "photos-clusters", "new")
    assert said.returncode == 0, said.stderr
    found = list(csv.DictReader(said.stdout.splitlines(True)))
    images = io.read_images(tmp_path / "new", size=(12, 16)).images
    assert [int(row["cluster"]) for row in found] == known.predict(images).tolist()
    assert [row["path"] for row in found] == [f"new/{i:02}.png" for i in range(30)]


def test_predict_to_a_file_and_as_json(place, done, here, tmp_path):
    model, source = place / "photos-clusters", place / "photos"
    table = tmp_path / "table.csv"
    said = here("predict", model, source, "--out", table)
    assert said.returncode == 0
    assert said.stdout == ""
    assert said.stderr.count("Skipped: ") == 3
    lines = here("predict", model, source, "--json").stdout
    objects = [json.loads(line) for line in lines.splitlines()]
    for row, found in zip(rows(table), objects, strict=True):
        assert row == {key: str(value) for key, value in found.items()}
    again = here("predict", model, source, "--out", table)
    assert again.returncode == 1
    assert "--force" in again.stderr
    forced = here("predict", model, source, "--out", table, "--force")
    assert forced.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_sorted_copies_and_links(place, here, tmp_path):
    before = state(place / "photos")
    for how in ("copy", "link"):
        run = here(
            *("cluster", place / "photos", "-k", "3", "--sort", how, "--out", how)
        )
        assert run.returncode == 0, run.stderr
        found = rows(tmp_path / how / "assignments.csv")
        placed = [p for p in (tmp_path / how / "clusters").rglob("*") if p.is_file()]
        assert len(placed) == len(found) == 60
        assert all(path.is_symlink() == (how == "link") for path in placed)
        contents = sorted((p.parent.name, p.read_bytes()) for p in placed)
        assert contents == sorted(
            (row["cluster"], Path(row["path"]).read_bytes()) for row in found
        )
    assert state(place / "photos") == before


def test_nothing_is_replaced_without_force(place, here, tmp_path):
    run = (
        *("cluster", place / "photos", "-k", "3", "--graph", "auto"),
        *("--out", "out", "--quiet"),
    )
    assert here(*run).stdout == "out/report.html\n"
    before = state(tmp_path)
    refused = here(*run)
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    assert state(tmp_path) == before
    forced = here(*run, "--force", "--seed", "1")
    assert forced.returncode == 0, forced.stderr
    assert load_model(tmp_path / "out")[0].random_state == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_json_lines_tell_every_stage(place, here, tmp_path):
    run = here("cluster", place / "photos", "-k", "3", "--json")
    events = [json.loads(line) for line in run.stdout.splitlines()]
    stages = list(dict.fromkeys(event["event"] for event in events))
    assert stages == ["reading", "searching", "fitting", "writing", "done"]
    assert {"event": "reading", "done": 63, "total": 63} in events
    model, _ = load_model(tmp_path / "photos-clusters")
    told = [event["objective"] for event in events if "objective" in event]
    assert told == pytest.approx(model.objective_history_.tolist())
    assert events[-1]["report"] == "photos-clusters/report.html"
    assert (events[-1]["images"], events[-1]["skipped"]) == (60, 3)


def test_a_terminal_sees_bars(place, tmp_path):
    leader, follower = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "twofold", "cluster", place / "photos", "-k", "3"],
        cwd=tmp_path,
        env=environment(TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=follower,
        text=True,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            shown += os.read(leader, 4096)
        except OSError:  # the terminal is gone with the process
            break
    os.close(leader)
    assert shown.endswith(b"\x1b[2K")  # the bar is gone
    assert run.communicate()[0].splitlines()[-1].startswith("Report: ")
    assert run.returncode == 0
    for text in (
        *(b"Reading", b"63 of 63 images", b"Searching", b"2 candidates"),
        *(b"iteration 2, objective", b"s left"),
    ):
        assert text in shown
    assert b"report.html" in shown


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("reading", signal.SIGINT),
        ("searching", signal.SIGINT),
        ("searching", signal.SIGKILL),
        ("fitting", signal.SIGINT),
        ("fitting", signal.SIGKILL),
        ("writing", signal.SIGTERM),
        ("writing", signal.SIGKILL),
    ],
)
def test_a_run_that_is_stopped_leaves_nothing_that_looks_finished(
    place, tmp_path, stage, number
):
    fits = {"fitting": "-k 3 --tol 0 --max-iter 500", "writing": "-k 3 --tol 0.1"}
    asked = fits.get(stage, "-k 2-15").split()  # a search is long enough to stop it
    run = begin(
        *("cluster", place / "photos", "--json", "--out", "out", *asked),
        folder=tmp_path,
    )
    for line in run.stdout:
        if json.loads(line)["event"] == stage:
            run.send_signal(number)
            break
    said = run.communicate(timeout=60)[1]
    if number == signal.SIGKILL:
        assert run.returncode == -signal.SIGKILL
        assert all(path.name.startswith(".") for path in tmp_path.iterdir())
    else:
        assert run.returncode == 130, said
        assert said == "Stopped: nothing was written\n"
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["cluster", "-k", "3"], 2, "Missing argument 'INPUT'; see"),
        (["cluster", "photos", "-k", "0"], 2, "--clusters"),
        (["cluster", "photos", "-k", "x"], 2, "--clusters"),
        (["cluster", "photos", "-k", "3", "--size", "0"], 2, "such as 64 or 48x64"),
        (["cluster", "photos", "-k", "3", "--size", "9x9x9"], 2, "such as 64 or 48x64"),
        (["cluster", "photos", "-k", "3", "--key", "a"], 2, "is for array files"),
        (["cluster", "digits", "-k", "3", "--size", "9"], 2, "is for image files"),
        (["cluster", "digits", "-k", "3", "--sort", "copy"], 2, "is for image files"),
        (["cluster", "nowhere", "-k", "3"], 1, "nowhere: expected a folder"),
        (["cluster", "empty", "-k", "3"], 1, "empty: expected image files, got"),
        (["cluster", "digits", "-k", "3", "--frames", "first"], 2, "is for image f"),
        (["cluster", "photos", "-k", "3", "--frames", "2"], 2, "--frames"),
        (["cluster", "broken", "-k", "3"], 1, "none of them is one"),
        (
            ["cluster", "photos", "-k", "99"],
            1,
            "-k 99 must be at most 60, the number of samples",
        ),
        (["cluster", "photos", "-k", "3", "--out", "photos"], 1, "not hold the input"),
        (["cluster", "photos", "-k", "3", "--out", "broken"], 1, "not empty"),
        (["cluster", "photos/*/*", "-k", "3", "--out", "photos/o"], 1, "outside of"),
        (["cluster", "photos", "file", "-k", "3"], 1, "each must be an image file"),
        (["cluster", "photos", "-k", "3", "--out", "file/x"], 1, "cannot be written"),
        (["cluster", "photos", "-k", "3", "-q", "--json"], 2, "choose one of"),
        (["cluster", "photos/0", "-k", "3", "--labels", "folders"], 1, "one folder"),
        (["cluster", "photos", "-k", "3", "--size", "99999"], 2, "up to 10000"),
        (["predict", "photos", "photos", "--out", "no/a.csv"], 1, "no folder no"),
        (["predict", "x", "nan.npy", "--out", "nan.npy", "--force"], 1, "not be in"),
        (["cluster", "photos", "-k", "3", "--out", "photos/out"], 1, "outside of"),
        (["cluster", "photos", "-k", "3", "--out", "file"], 1, "file is a file"),
        (["cluster", "photos", "-k", "3", "--labels", "gnd"], 1, "'folders'"),
        (["cluster", "nan.npy", "-k", "2"], 1, "must be finite, got 1 NaN"),
        (
            ["cluster", "nan.npy", "-k", "2"],
            1,
            "nan.npy[0]; cluster with --missing nan",
        ),
        (["cluster", "nan.npy", "-k", "2", "--missing", "7"], 1, "--missing nan"),
        (["cluster", "nan.npy", "-k", "2", "--missing", "x"], 2, "--missing"),
        (["cluster", "hole.npy", "-k", "2", "--missing", "nan"], 1, "hole.npy[1] must"),
        (
            ["cluster", "inf.npy", "-k", "2", "--missing", "nan"],
            1,
            "1 infinite entries",
        ),
        (["cluster", "text.npy", "-k", "2"], 1, "cannot be read as .npy"),
        (
            ["predict", "photos", "photos"],
            1,
            "model.safetensors: there is no such file",
        ),
        (["predict", "file", "photos"], 1, "file: must be a whole twofold model"),
        (["report", "photos"], 1, "photos has no report.json"),
        (["nonsense"], 2, "No such command 'nonsense'; see twofold --help"),
    ],
)
def test_errors_are_one_line_and_a_code(
    place, tmp_path, here, arguments, code, message
):
    (tmp_path / "photos").symlink_to(place / "photos")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.png").write_text("nothing")
    (tmp_path / "file").write_text("a file")
    (tmp_path / "text.npy").write_text("no array")
    np.save(tmp_path / "nan.npy", np.array([[1.0, np.nan], [2, 3], [4, 5]]))
    np.save(tmp_path / "hole.npy", np.array([[1.0, 2], [np.nan] * 2, [4, 5]]))
    np.save(tmp_path / "inf.npy", np.array([[1.0, np.nan], [2, np.inf], [4, 5]]))
    before = state(tmp_path), state(place / "photos")
    failed = here(*arguments)
    assert failed.returncode == code
    assert failed.stderr.startswith("Error: ")
    assert failed.stderr.count("\n") == 1
    assert message in failed.stderr
    assert failed.stdout == ""
    assert (state(tmp_path), state(place / "photos")) == before


def test_an_array_file_with_labels(here, tmp_path):
    digits = load_digits(n_class=3)
    data, target = digits.data[:90], digits.target[:90]
    np.savez(tmp_path / "flat.npz", rows=data, digit=target)
    run = here(
        *("cluster", "flat.npz", "-k", "3", "--key", "rows", "--labels", "digit"),
        *("--sample-shape", "8x8"),
    )
    assert run.returncode == 0, run.stderr
    found = rows(tmp_path / "flat-clusters" / "assignments.csv")
    assert found[7]["path"] == "flat.npz[7]"
    model = AutoTSNMF(3, random_state=0).fit(digits.images[:90])
    assert [int(row["cluster"]) for row in found] == model.labels_.tolist()
    np.savez(tmp_path / "new.npz", rows=data[:9])
    said = here("predict", "flat-clusters", "new.npz").stdout
    placed = [int(row["cluster"]) for row in csv.DictReader(said.splitlines())]
    assert placed == model.predict(digits.images[:9]).tolist()


def test_the_demo_scores_the_digits(here, tmp_path, monkeypatch):
    cluster = workflow.cluster

    def search_less(collection, model, *args, **options):
        return cluster(collection, model.set_params(max_fits=2), *args, **options)

    monkeypatch.setattr(workflow, "cluster", search_less)
    run = here("demo")
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "Report: digits-clusters/report.html"
    summary = json.loads((tmp_path / "digits-clusters" / "report.json").read_text())
    assert summary["images"] == 1797
    assert summary["scores"]["values"]["accuracy"] > 0.8


def test_a_report_is_made_anew(place, done):
    page = place / "photos-clusters" / "report.html"
    before = page.read_bytes()
    page.write_text("spoiled")
    run = inside("report", "photos-clusters", folder=place)
    assert run.stdout == "Report: photos-clusters/report.html\n"
    assert page.read_bytes() == before


def test_what_the_shell_expands_is_taken_too(place, here, tmp_path):
    files = sorted((place / "photos" / "4").iterdir())
    run = here("cluster", *files, "-k", "2", "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1])["images"] == 20
    assert [path.name for path in tmp_path.iterdir()] == ["4-clusters"]


def test_debug_is_taken_anywhere(here):
    with pytest.raises(FileNotFoundError, match="expected a folder"):
        here("cluster", "nowhere", "-k", "3", "--debug")


def test_names_that_the_output_cannot_show(place, here, tmp_path):
    (tmp_path / "写真").symlink_to(place / "photos")
    asked = ["cluster", "写真", "-k", "3", "--tol", "0.1", "--out", "写真-clusters"]
    run = here(*asked, encoding="cp1252")
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1].startswith("Report: ")
