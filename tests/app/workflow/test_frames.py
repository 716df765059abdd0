"""Files with several frames, from reading to the report and to predictions."""

import json
import re

import numpy as np
import problems
import pytest
import tifffile
from PIL import Image
from runner import inside
from small_photos import run, table

from twofold import TSNMF
from twofold.app.collection import Reading
from twofold.app.workflow import predict


def pixels(n, seed=0):
    return (
        np.rint(25 * problems.images(n, seed=seed) + 128).clip(0, 255).astype(np.uint8)
    )


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """Twenty pages in one file, the first of them twice, and four files of one."""
    folder = tmp_path_factory.mktemp("input") / "scans"
    folder.mkdir()
    pages = [Image.fromarray(image) for image in pixels(24)]
    stack = [*pages[:20], pages[0]]
    stack[0].save(folder / "scan.tif", save_all=True, append_images=stack[1:])
    for i in range(20, 24):
        pages[i].save(folder / f"{i}.png")
    return folder


@pytest.fixture(scope="module")
def done(scans, tmp_path_factory):
    out = tmp_path_factory.mktemp("results") / "out"
    run(scans, out, sort="copy")
    return out


def names_of(scans):
    files = [str(scans / f"{i}.png") for i in range(20, 24)]
    return [*files, *(f"{scans}/scan.tif[{k}]" for k in range(21))]


def test_tables_name_the_frames(scans, done):
    rows = table(done / "assignments.csv")
    assert [row["path"] for row in rows] == names_of(scans)
    duplicates = [row["path"] for row in table(done / "duplicates.csv")]
    assert {f"{scans}/scan.tif[0]", f"{scans}/scan.tif[20]"} <= set(duplicates)
    assert {row["nearest_representative"] for row in rows} <= set(names_of(scans))


def test_a_file_is_in_the_folder_of_each_cluster_that_has_a_frame_of_it(scans, done):
    clusters = {r["path"]: int(r["cluster"]) for r in table(done / "assignments.csv")}
    rows = table(done / "sorted.csv")
    assert [row["path"] for row in rows] == names_of(scans)
    for row in rows:
        name = re.sub(r"\[\d+\]$", "", row["path"].rpartition("/")[2])
        assert row["file"] == f"clusters/{clusters[row['path']]}/{name}"
        assert (done / row["file"]).read_bytes() == (scans / name).read_bytes()
    found = [path for path in (done / "clusters").rglob("*") if path.is_file()]
    assert len(found) == len({row["file"] for row in rows})
    assert len({row["file"] for row in rows if "scan" in row["file"]}) == 3


def test_the_report_names_frames_and_shows_their_thumbnails(scans, done):
    """A link would show the whole file, or its first frame."""
    items = json.loads((done / "report.json").read_text())["items"]
    assert sorted(item["name"] for item in items) == sorted(names_of(scans))
    for item in items:
        assert (item["link"] is None) == item["name"].endswith("]")


def test_new_frames_are_placed_and_named(scans, done):
    collection, assignments, nearest = predict(done, scans / "scan.tif")
    assert collection.names == names_of(scans)[4:]
    assert assignments.clusters[0] == assignments.clusters[20]
    assert set(nearest) <= set(names_of(scans))


def test_the_first_frame_alone_is_remembered(scans, tmp_path):
    model = TSNMF(2, random_state=0)
    run(scans, tmp_path / "out", model, reading=Reading(frames="first"), sort="link")
    first = [str(scans / f"{i}.png") for i in range(20, 24)] + [f"{scans}/scan.tif"]
    rows = table(tmp_path / "out/assignments.csv")
    assert [row["path"] for row in rows] == first
    items = json.loads((tmp_path / "out/report.json").read_text())["items"]
    assert all(item["link"] for item in items)
    collection, *_ = predict(tmp_path / "out", scans)
    assert collection.names == first


def test_the_command_takes_all_frames_or_the_first(scans, tmp_path):
    options = ("-k", "2", "--graph", "heat")
    ran = inside("cluster", scans, *options, "--out", "all", folder=tmp_path)
    assert ran.stdout.startswith("25 samples of ")
    one = ("--frames", "first", "--out", "one")
    ran = inside("cluster", scans, *options, *one, folder=tmp_path)
    assert ran.stdout.startswith("5 samples of ")
    told = inside("predict", "all", scans / "scan.tif", folder=tmp_path).stdout
    assert [line.split(",")[0] for line in told.splitlines()[1:]] == [
        f"{scans}/scan.tif[{k}]" for k in range(21)
    ]


def test_stacks_of_many_channels_are_clustered(tmp_path):
    stack = np.stack([pixels(12, seed) for seed in range(4)], axis=1)
    (tmp_path / "in").mkdir()
    path = tmp_path / "in/cells.tif"
    tifffile.imwrite(path, stack, imagej=True, metadata={"axes": "TCYX"})
    _, collection, model = run(tmp_path / "in", tmp_path / "out")
    assert collection.images.shape == (12, *stack.shape[2:], 4)
    assert model.sample_shape_ == collection.images.shape[1:]
    placed, *_ = predict(tmp_path / "out", path)
    np.testing.assert_array_equal(placed.images, collection.images)
    assert "cells.tif[11]" in (tmp_path / "out/report.html").read_text()


def test_new_images_of_other_channels_are_refused(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (9, 7, 6, 5), np.uint8)
    options = {"photometric": "minisblack", "planarconfig": "contig"}
    tifffile.imwrite(tmp_path / "five.tif", noise[0], **options)
    (tmp_path / "in").mkdir()
    for i, image in enumerate(noise[..., :3]):
        Image.fromarray(image).save(tmp_path / f"in/{i}.png")
    run(tmp_path / "in", tmp_path / "out", TSNMF(2, random_state=0))
    with pytest.raises(
        ValueError, match=r"five.tif must be 7 x 6 x 3 .* got 7 x 6 x 5"
    ):
        predict(tmp_path / "out", tmp_path / "five.tif")
