"""A search for the settings, and all that is written of it."""

import json
import os
import shutil

import numpy as np
import problems
import pytest
from small_photos import FILES, make_images, run, snapshot, table

from twofold import TSNMF, AutoTSNMF
from twofold.app.workflow import cluster, predict, read, rewrite_report
from twofold.estimators import load_model
from twofold.progress import listening

SEARCHED = FILES | {"search.csv"}


def search(numbers=3, **options):
    return AutoTSNMF(numbers, random_state=0, **options)


def summary_of(out):
    return json.loads((out / "report.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def found(photos, tmp_path_factory):
    """The results for ``photos``, and the search that made them."""
    out = tmp_path_factory.mktemp("searched") / "out"
    _, collection, model = run(photos, out, search(range(2, 5)))
    return out, collection, model


def test_all_files_and_nothing_else(found, done):
    assert set(os.listdir(found[0])) == SEARCHED
    assert "search.csv" not in os.listdir(done[0])


def test_what_is_written_is_of_the_best_model(found):
    out, collection, model = found
    best = model.best_estimator_
    rows = table(out / "assignments.csv")
    assert [int(row["cluster"]) for row in rows] == best.labels_.tolist()
    loaded, _ = load_model(out)
    np.testing.assert_equal(loaded.get_params(), best.get_params())
    new = collection.images[::-1]
    np.testing.assert_array_equal(loaded.transform(new), best.transform(new))
    _, placed, _ = predict(out, collection.paths)
    np.testing.assert_array_equal(placed.clusters, best.predict(collection.images))
    assert summary_of(out)["parameters"]["graph"] == best.graph


def test_the_table_is_that_of_the_search_without_its_times(found):
    out, _, model = found
    columns = dict(model.search_results_)
    del columns["seconds"]
    rows = table(out / "search.csv")
    assert list(rows[0]) == list(columns)
    assert len(rows) == len(columns["stage"])
    for name, known in columns.items():
        for row, value in zip(rows, known, strict=True):
            if value is None:
                assert row[name] == ""
            elif isinstance(value, float):
                assert float(row[name]) == pytest.approx(value, rel=1e-5)
            else:
                assert row[name] == str(value)


def test_the_report_knows_of_it_and_is_made_anew(found, done):
    out, _, model = found
    told = summary_of(out)["search"]
    assert told["numbers"]["numbers"] == model.cluster_numbers_.numbers == [2, 3, 4]
    assert "search" not in summary_of(done[0])
    page = out / "report.html"
    before = page.read_bytes()
    assert b"How the settings were chosen" in before
    rewrite_report(out)
    assert page.read_bytes() == before


def test_the_same_seed_gives_the_same_bytes(photos, found):
    again = found[0].parent / "again"
    run(photos, again, search(range(2, 5)))
    for name in SEARCHED:
        assert (again / name).read_bytes() == (found[0] / name).read_bytes()
    shutil.rmtree(again)


def test_a_later_run_replaces_it(photos, found, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(found[0], out)
    run(photos, out, force=True)
    assert set(os.listdir(out)) == FILES


def test_missing_entries_are_those_of_the_estimator(tmp_path):
    X = problems.images(30) + 6
    X[::3, 2, 1:4] = 0
    np.save(tmp_path / "a.npy", X)
    marked = search(estimator=TSNMF(missing_values=0))
    steps = []
    with listening(steps.append):
        run(tmp_path / "a.npy", tmp_path / "out", marked)
    assert set(os.listdir(tmp_path / "out")) == SEARCHED | {"completed.npy"}
    completed = np.load(tmp_path / "out/completed.npy")
    expected = marked.best_estimator_.impute(X).astype(np.float32)
    np.testing.assert_array_equal(completed, expected)
    assert steps[-1].done == steps[-1].total == 7


# Steps


def test_the_steps(photos, tmp_path):
    steps, model = [], search(estimator=TSNMF(max_iter=50))
    collection = read(photos)
    with listening(steps.append):
        cluster(collection, model, tmp_path / "out", sort="link")
    stages = [step.stage for step in steps]
    looks = model.search_results_["stage"].count("preview")
    best = model.best_estimator_
    assert stages == [
        *["searching"] * (1 + looks),
        *["fitting"] * best.n_iter_,
        *["writing"] * 8,
    ]
    searching = steps[: 1 + looks]
    assert [step.done for step in searching] == list(range(1 + looks))
    assert all(step.done <= step.total for step in searching)
    fitting = [step for step in steps if step.stage == "fitting"]
    assert [step.done for step in fitting] == list(range(1, 1 + best.n_iter_))
    assert {step.total for step in fitting} == {50}
    told = [step.facts["objective"] for step in fitting]
    np.testing.assert_allclose(told, best.objective_history_)
    writing = steps[-8:]
    assert [step.done for step in writing] == list(range(8))
    assert {step.total for step in writing} == {7}
    assert [step.facts["file"] for step in writing[:-1]] == [
        *("assignments.csv", "duplicates.csv", "model.safetensors", "search.csv"),
        *("clusters", "report.json", "report.html"),
    ]


@pytest.mark.parametrize("earlier", [False, True])
def test_stopping_at_any_step_leaves_all_as_it_was(done, tmp_path, earlier):
    parent = tmp_path / "results"
    parent.mkdir()
    collection, out = read(make_images(tmp_path / "photos", n=9)), parent / "out"
    if earlier:
        shutil.copytree(done[0], out)
    before = snapshot(out) if earlier else None
    few = {"max_fits": 2, "estimator": TSNMF(max_iter=3, tol=0.5)}
    steps = []
    with listening(steps.append):
        cluster(collection, search(**few), tmp_path / "x")
    assert [step.stage for step in steps].count("searching") == 3
    for at in range(1, len(steps) + 1):
        seen = []

        def stop(step, seen=seen, at=at):
            seen.append(step)
            if len(seen) == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), listening(stop):
            cluster(collection, search(**few), out, force=earlier)
        assert os.listdir(parent) == (["out"] if earlier else [])
        assert (snapshot(out) if earlier else None) == before
