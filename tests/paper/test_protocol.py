"""Which fits a protocol is made of."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
from real_data import folder, load_or_skip

from twofold import datasets
from twofold.paper import Protocol, data_at_hand
from twofold.paper.data import _default_rows, load_data, load_subset
from twofold.paper.methods import METHODS, PAPER_METHODS, Method
from twofold.paper.protocol import all_jobs, rows

TINY = Protocol(data=("tiny:faces",), subsets=3)
DIGITS = Protocol(data=("digits",))


def fits(jobs):
    return sum(len(job.grid_points) for job in jobs)


def test_ten_subsets_of_each_n_and_one_of_all_classes():
    jobs = [job for job in all_jobs(DIGITS) if job.method == "kmeans"]
    counts = Counter(job.n_clusters for job in jobs)
    assert counts == dict.fromkeys(range(2, 10), 10) | {10: 1}
    assert {job.subset for job in jobs if job.n_clusters == 4} == set(range(10))


def test_every_method_runs_its_whole_grid_on_every_subset():
    for name, method in METHODS.items():
        own = [job for job in all_jobs(DIGITS) if job.method == name]
        of_subset = [j for j in own if (j.n_clusters, j.subset) == (3, 7)]
        grid_points = [
            json.loads(text) for job in of_subset for text in job.grid_points
        ]
        possible = [s for s in method.grid_points() if s.get("n_directions", 0) <= 8]
        assert len(grid_points) == len(possible)
        assert all(grid_point in grid_points for grid_point in possible)


def test_all_weights_of_an_r_are_one_job():
    jobs = [job for job in all_jobs(DIGITS) if job.method == "ts-nmf"]
    sizes = Counter(len(job.grid_points) for job in jobs if job.n_clusters == 3)
    assert sizes == {49: 10 * 4}  # no nine directions of 8 x 8 pixels
    for job in jobs:
        assert len({json.loads(text)["n_directions"] for text in job.grid_points}) == 1


def test_the_studies_add_directions_up_to_the_side_and_a_traced_fit(monkeypatch):
    last = [job for job in all_jobs(DIGITS) if job.n_clusters == 10]
    directions = {
        name: {
            json.loads(t)["n_directions"]
            for j in last
            if j.method == name
            for t in j.grid_points
        }
        for name in ("2dpca", "ts-nmf")
    }
    assert directions == {"2dpca": {1, 3, 5, 7}, "ts-nmf": {1, 3, 5, 7}}
    assert [job.method for job in last if job.traced] == ["ts-nmf"]
    # The digits are 8 x 8, these images 12 x 10 and 17 x 15.
    jobs = [j for j in all_jobs(replace(TINY, methods=("2dpca",))) if j.n_clusters == 4]
    found = [json.loads(job.grid_points[0])["n_directions"] for job in jobs]
    assert sorted(found) == [1, 3, 5, 7, 9, 11]
    wide = replace(tiny.faces, load=lambda: tiny.load(height=17, width=15))
    monkeypatch.setattr(tiny, "faces", wide)
    load_data.cache_clear()
    jobs = all_jobs(replace(TINY, methods=("2dpca",), subsets=1, clusters=(4,)))
    load_data.cache_clear()
    found = [json.loads(job.grid_points[0])["n_directions"] for job in jobs]
    assert found == list(range(1, 18, 2))


def test_quick_is_far_smaller_and_its_fits_are_part_of_the_whole():
    quick = all_jobs(replace(DIGITS, quick=True, subsets=2))
    whole = all_jobs(DIGITS)
    assert fits(quick) < fits(whole) / 20
    assert {job.n_clusters for job in quick} == {3, 6}
    keys = {key for job in whole for key in job.keys}
    assert keys.issuperset(k for job in quick if not job.traced for k in job.keys)


def test_what_determines_a_fit_changes_its_key(monkeypatch):
    job = all_jobs(TINY)[0]
    others = [
        replace(job, n_clusters=4),
        replace(job, subset=job.subset + 1),
        replace(job, seed=1),
        replace(job, method="pca"),
        replace(job, max_iter=7),
        replace(job, grid_points=('{"n_init":3}',)),
        replace(job, data="digits"),
        replace(job, traced=True),
    ]
    assert len({key for one in [job, *others] for key in one.keys}) == len(others) + 1
    assert replace(job).keys == job.keys
    monkeypatch.setattr("twofold.__version__", "99")
    assert replace(job).keys != job.keys


def test_the_key_knows_the_pixels(monkeypatch):
    job = replace(all_jobs(TINY)[0])
    before = job.keys
    changed = tiny.load()
    changed.images[0, 0, 0] += 1e-6
    monkeypatch.setattr(tiny, "faces", replace(tiny.faces, load=lambda: changed))
    load_data.cache_clear()
    after = replace(job).keys
    damaged = replace(tiny.faces, load=tiny.load, removed=0.2)
    monkeypatch.setattr(tiny, "faces", damaged)
    load_data.cache_clear()
    with_missing = replace(job).keys
    load_data.cache_clear()
    assert len({before, after, with_missing}) == 3


def test_the_key_knows_the_source_of_a_users_method(monkeypatch):
    job = replace(all_jobs(replace(TINY, methods=("tiny:slow",)))[0])
    before = job.keys
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"# changed")
    assert replace(job).keys != before


def test_subsets_are_the_same_for_all_methods_and_differ_among_themselves():
    drawn = [load_subset("digits", 4, subset, 0)[1] for subset in range(6)]
    assert all(len(np.unique(target)) == 4 for target in drawn)
    assert len({tuple(np.unique(target)) for target in drawn}) > 3
    for job in all_jobs(DIGITS):
        assert job.seed == 0


def test_removed_entries_are_those_of_the_corruption_of_the_whole_set(monkeypatch):
    load_or_skip("orl")
    monkeypatch.setenv("TWOFOLD_DATA", str(folder()))
    clean, damaged = load_data("orl", 3).images, load_data("orl-60", 3).images
    expected = datasets.remove_entries(clean, 0.6, random_state=3)
    np.testing.assert_array_equal(damaged, expected)
    assert np.mean(damaged == 0) == pytest.approx(0.6, abs=0.01)


def test_rows_of_a_users_data_set(monkeypatch):
    assert rows(TINY, "tiny:faces") == (2, 3, 4)
    assert rows(TINY, "tiny:load") == (2, 3, 4)  # a function: all from 2 on
    assert min(_default_rows(11)) == 2
    assert rows(replace(TINY, clusters=(4, 2)), "tiny:faces") == (2, 4)
    with pytest.raises(ValueError, match=r"--clusters must be at most 4.*got 9"):
        rows(replace(TINY, clusters=(9,)), "tiny:faces")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("nothing", "must be one of eyaleb, .*got 'nothing'"),
        ("tiny:nothing", "tiny:nothing cannot be imported"),
        ("no_such_module:x", "cannot be imported"),
        ("tiny:FOLDER", "cannot be imported"),
        ("tiny:slow", "must be a twofold.paper.DataSet or a function"),
    ],
)
def test_data_that_is_none(data, message):
    with pytest.raises(ValueError, match=message):
        all_jobs(replace(TINY, data=(data,)))


def test_a_method_that_is_none():
    with pytest.raises(
        ValueError, match=r"must be a twofold\.methods\.Method, got DataSet"
    ):
        all_jobs(replace(TINY, methods=("tiny:faces",)))
    with pytest.raises(ValueError, match="must be one of kmeans"):
        all_jobs(replace(TINY, methods=("k-means",)))


def test_digits_stand_in_where_no_data_is(monkeypatch, tmp_path):
    monkeypatch.setenv("TWOFOLD_DATA", str(tmp_path))
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(tmp_path))
    here, missing = data_at_hand(quick=True)
    assert here == ("digits",)
    assert missing == ("yale", "jaffe", "orl-40")


def test_methods_know_what_they_are():
    assert [n for n, m in PAPER_METHODS.items() if not m.iterative] == [
        "kmeans",
        "pca",
        "2dpca",
        "sc",
    ]
    assert Method("Mine", lambda n_clusters: None).grid_points() == [{}]
