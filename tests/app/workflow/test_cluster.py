"""From images to a folder of results, and all that may go wrong on the way."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import problems
import pytest
from PIL import Image
from small_photos import FILES, ODD, make_images, run, snapshot, table

from twofold import TSNMF
from twofold.app.workflow import cluster, predict, read, rewrite_report
from twofold.estimators import load_model
from twofold.estimators.assessment import assess
from twofold.progress import listening

# What is written


def test_all_files_and_nothing_else(done):
    assert set(os.listdir(done[0])) == FILES
    assert os.listdir(done[0].parent) == ["out"]


def test_the_table_agrees_with_the_model(done):
    out, collection, model = done
    rows = table(out / "assignments.csv")
    assert [row["path"] for row in rows] == [str(path) for path in collection.paths]
    assert {Path(row["path"]).name for row in rows} >= set(ODD.values())
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    norms = np.linalg.norm(collection.images, axis=(1, 2))
    np.testing.assert_allclose(
        [float(row["reconstruction_error"]) for row in rows],
        model.reconstruction_error_ / norms,
        rtol=1e-4,
    )
    np.testing.assert_allclose(
        [float(row["confidence"]) for row in rows],
        assess(TSNMF(3, random_state=0).fit(collection.images)).confidence,
        rtol=1e-4,
    )
    named = {row["nearest_representative"] for row in rows}
    clusters = [int(row["cluster"]) for row in rows if row["path"] in named]
    assert sorted(clusters) == [0, 1, 2]  # one of each


def test_what_could_not_be_read_is_listed(done):
    [row] = table(done[0] / "skipped.csv")
    assert Path(row["path"]).name == "broken.png"
    assert row["reason"]


def test_the_model_is_the_one_that_was_fitted(done):
    out, collection, model = done
    loaded, about = load_model(out)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    new = collection.images[::-1]
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))
    assert about["title"] == "photos"
    assert b"pickle" not in (out / "model.safetensors").read_bytes()


def test_the_report_has_every_image(done):
    out, _, model = done
    summary = json.loads((out / "report.json").read_text("utf-8"))
    assert summary["images"] == len(summary["items"]) == 24
    assert [item["cluster"] for item in summary["items"]] == model.labels_.tolist()
    assert [c["size"] for c in summary["clusters"]] == np.bincount(
        model.labels_
    ).tolist()
    page = (out / "report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")


def test_known_classes_are_scored(tmp_path):
    X, y = problems.images(30), problems.groups(30)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    run(tmp_path / "a.npz", tmp_path / "out", labels="y")
    scores = json.loads((tmp_path / "out/report.json").read_text())["scores"]
    assert scores["values"]["accuracy"] == 1.0
    assert (
        np.array(scores["confusion"]["counts"]).tolist()
        == np.diag([10, 10, 10]).tolist()
    )


@pytest.mark.parametrize(
    "X",
    [
        problems.images(30).astype(np.float32),
        problems.images(30).reshape(30, -1),
        problems.images(30) > 0,
        1e150 * problems.images(30),
        (1e6 + problems.images(30)),
        np.moveaxis(problems.stack((24, 3, 5, 6)), 1, -1),
        np.moveaxis(problems.stack((24, 2, 5, 6)), 1, -1),
    ],
    ids=lambda X: f"{X.dtype} {X.shape[1:]} {X.ravel()[0]:.0e}",
)
def test_arrays_of_every_kind(tmp_path, X):
    np.save(tmp_path / "a.npy", X)
    _, _, model = run(tmp_path / "a.npy", tmp_path / "out")
    rows = table(tmp_path / "out/assignments.csv")
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    assert rows[7]["path"] == f"{tmp_path / 'a.npy'}[7]"
    _, found, _ = predict(tmp_path / "out", tmp_path / "a.npy")
    np.testing.assert_array_equal(found.clusters, model.predict(X))


def test_fewer_clusters_than_were_asked_for(tmp_path):
    np.save(tmp_path / "a.npy", np.repeat(problems.images(2), 6, axis=0))
    with pytest.warns(UserWarning, match="found 2 of n_clusters=3"):
        run(tmp_path / "a.npy", tmp_path / "out")
    rows = table(tmp_path / "out/assignments.csv")
    assert len({row["nearest_representative"] for row in rows}) == 2
    _, found, nearest = predict(tmp_path / "out", tmp_path / "a.npy")
    assert found.clusters.tolist() == [int(row["cluster"]) for row in rows]
    assert nearest == [row["nearest_representative"] for row in rows]


def test_the_confidence_of_a_single_image(tmp_path):
    Image.fromarray(np.eye(6, dtype=np.uint8)).save(tmp_path / "1.png")
    run(tmp_path / "1.png", tmp_path / "out", TSNMF(1, random_state=0))
    [row] = table(tmp_path / "out/assignments.csv")
    assert float(row["confidence"]) == 1


def test_a_single_image(tmp_path):
    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(6, 8)).save(
        tmp_path / "1.png"
    )
    run(tmp_path / "1.png", tmp_path / "out", TSNMF(1, random_state=0))
    [row] = table(tmp_path / "out/assignments.csv")
    assert row["nearest_representative"] == row["path"] == str(tmp_path / "1.png")


# The same again


def contents(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def test_the_same_seed_gives_the_same_bytes(photos, done, tmp_path):
    out = done[0].parent / "again"
    run(photos, out)
    assert contents(out) == contents(done[0])
    run(photos, out, force=True)
    assert contents(out) == contents(done[0])
    shutil.rmtree(out)


ANOTHER = """
import os, signal, sys
from pathlib import Path
from twofold import TSNMF
from twofold.app.workflow import cluster, read
from twofold.progress import listening
def listener(step):
    if step.facts.get("file") == sys.argv[3]:
        os.kill(os.getpid(), signal.SIGKILL)
with listening(listener):
    model = TSNMF(3, random_state=0)
    cluster(read(sys.argv[1]), model, Path(sys.argv[2]), force=True)
"""


def in_another_process(photos, out, killed_at="never"):
    command = [sys.executable, "-c", ANOTHER, str(photos), str(out), killed_at]
    environment = os.environ | {"PYTHONHASHSEED": "5"}
    return subprocess.run(command, env=environment, check=False).returncode


def test_another_process_gives_the_same_bytes(photos, done):
    out = done[0].parent / "other"
    assert in_another_process(photos, out) == 0
    assert contents(out) == contents(done[0])
    shutil.rmtree(out)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_kill_in_the_middle_leaves_the_earlier_result(photos, results):
    before = snapshot(results)
    assert in_another_process(photos, results, "report.html") == -signal.SIGKILL
    assert snapshot(results) == before
    [left] = [name for name in os.listdir(results.parent) if name != "results"]
    assert left.startswith(".results.partial-")


# The input


@pytest.mark.parametrize("sort", ["copy", "link"])
def test_the_input_stays_as_it_is(tmp_path, sort):
    source = make_images(tmp_path / "photos")
    before = snapshot(source)
    _, collection, model = run(source, tmp_path / "out", sort=sort)
    assert set(os.listdir(tmp_path / "out")) == FILES | {"clusters", "sorted.csv"}
    for path, label in zip(collection.paths, model.labels_, strict=True):
        sorted_file = tmp_path / f"out/clusters/{label}" / path.name
        assert sorted_file.is_symlink() == (sort == "link")
        assert sorted_file.read_bytes() == path.read_bytes()
    run(source, tmp_path / "out", sort=sort, force=True)  # removes the earlier one
    predict(tmp_path / "out", source)
    rewrite_report(tmp_path / "out")
    assert snapshot(source) == before


def test_the_output_may_not_hold_the_input(tmp_path):
    source = make_images(tmp_path / "photos")
    out = tmp_path / "out"
    run(source, out, sort="link")
    again = read(out / "clusters/0")
    before = snapshot(tmp_path)
    with pytest.raises(ValueError, match="must not hold the input"):
        cluster(again, TSNMF(2, random_state=0), out, force=True)
    assert snapshot(tmp_path) == before


def test_sorting_needs_files(tmp_path):
    np.save(tmp_path / "a.npy", problems.images())
    with pytest.raises(ValueError, match="sort='copy' needs image files"):
        run(tmp_path / "a.npy", tmp_path / "out", sort="copy")
    assert os.listdir(tmp_path) == ["a.npy"]


def test_nothing_is_overwritten_without_force(photos, results):
    before = snapshot(results)
    with pytest.raises(FileExistsError, match="not empty"):
        run(photos, results)
    (results / "notes.txt").write_text("the user's")
    with pytest.raises(FileExistsError, match=r"has notes.txt"):
        run(photos, results, force=True)
    (results / "notes.txt").unlink()
    assert {**snapshot(results), results: None} == {**before, results: None}


# Steps, and what stops between them


def test_the_steps(photos, tmp_path):
    steps = []
    with listening(steps.append):
        collection = read(photos)
    assert [(s.stage, s.done, s.total) for s in steps] == [
        ("reading", i, 25) for i in range(26)
    ]
    steps.clear()
    model = TSNMF(3, random_state=0)
    with listening(steps.append):
        cluster(collection, model, tmp_path / "out", sort="link")
    fitting = [step for step in steps if step.stage == "fitting"]
    assert [step.done for step in fitting] == list(range(model.n_iter_ + 1))
    assert {step.total for step in fitting} == {model.max_iter}
    told = [step.facts["objective"] for step in fitting[1:]]
    np.testing.assert_allclose(told, model.objective_history_)
    writing = steps[len(fitting) :]
    assert [step.done for step in writing] == list(range(7))
    assert {step.total for step in writing} == {6}
    named = [step.facts["file"] for step in writing[:-1]]
    assert named == [
        "assignments.csv",
        "duplicates.csv",
        "model.safetensors",
        "clusters",
        "report.json",
        "report.html",
    ]


class Stopper:
    """A listener that raises at one of its steps."""

    def __init__(self, at, failure):
        self.at, self.failure, self.steps = at, failure, []

    def __call__(self, step):
        self.steps.append(step)
        if len(self.steps) == self.at:
            raise self.failure


@pytest.mark.parametrize(
    ("failure", "earlier"),
    [(KeyboardInterrupt, True), (RuntimeError, False), (KeyboardInterrupt, False)],
)
def test_stopping_at_any_step_leaves_all_as_it_was(done, tmp_path, failure, earlier):
    parent = tmp_path / "results"
    parent.mkdir()
    collection, out = read(make_images(tmp_path / "photos", n=9)), parent / "out"
    if earlier:
        shutil.copytree(done[0], out)
    everything, few = Stopper(0, failure), {"max_iter": 3, "tol": 0.5}
    with listening(everything):
        cluster(collection, TSNMF(3, random_state=0, **few), parent / "x")
    shutil.rmtree(parent / "x")
    before = snapshot(out) if earlier else None
    for at in range(1, len(everything.steps) + 1):
        stopper = Stopper(at, failure)
        model = TSNMF(3, random_state=0, **few)
        with pytest.raises(failure), listening(stopper):
            cluster(collection, model, out, force=earlier)
        assert len(stopper.steps) == at
        assert os.listdir(parent) == (["out"] if earlier else [])
        assert (snapshot(out) if earlier else None) == before


def test_stopping_while_reading(photos):
    for at in (1, 5):
        with (
            pytest.raises(KeyboardInterrupt),
            listening(Stopper(at, KeyboardInterrupt)),
        ):
            read(photos)


def test_what_appears_while_it_runs_is_not_overwritten(photos, tmp_path):
    out = tmp_path / "out"

    def intrude(step):
        if step.facts.get("file") == "report.html":
            out.mkdir(exist_ok=True)
            (out / "theirs.txt").write_text("theirs")

    for force in (False, True):
        with pytest.raises(FileExistsError), listening(intrude):
            run(photos, out, force=force)
        assert os.listdir(out) == ["theirs.txt"]
        assert os.listdir(tmp_path) == ["out"]
        shutil.rmtree(out)


def test_a_file_that_vanishes_before_it_is_sorted(tmp_path):
    source = make_images(tmp_path / "photos")
    collection = read(source)
    collection.paths[9].unlink()
    out = tmp_path / "out"
    with pytest.raises(OSError, match=r"could not be written: No such file .*photos"):
        cluster(collection, TSNMF(3, random_state=0), out, sort="copy")
    assert os.listdir(tmp_path) == ["photos"]


def test_samples_that_cannot_be_fitted(tmp_path):
    X = problems.images(10)
    X[3, 2, 1] = np.nan
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(
        ValueError, match=r"a.npy must be finite, got 1 NaN .*a.npy.3.; "
    ):
        run(tmp_path / "a.npy", tmp_path / "out")
    assert os.listdir(tmp_path) == ["a.npy"]
