"""``twofold cluster --missing`` and ``twofold predict``, as a user runs them."""

import csv
import json

import numpy as np
import pytest
from PIL import Image
from runner import inside
from sklearn.datasets import load_digits
from small_photos import FILES
from small_photos import table as rows

from twofold import TSNMF, AutoTSNMF
from twofold.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def pixels():
    """0s, 1s and 4s of 16 x 12 pixels from 40 to 250, and black blocks for some."""
    digits = load_digits()
    chosen = np.concatenate(
        [np.flatnonzero(digits.target == d)[:20] for d in (0, 1, 4)]
    )
    small = (40 + 13 * digits.images[chosen]).astype(np.uint8)
    clean = np.stack([np.asarray(Image.fromarray(x).resize((12, 16))) for x in small])
    assert clean.min() > 0
    gone = np.zeros(clean.shape, dtype=bool)
    rng = np.random.default_rng(0)
    for i in range(0, 60, 2):
        top, left = rng.integers(0, 10), rng.integers(0, 7)
        gone[i, top : top + 6, left : left + 5] = True
    return clean, gone, digits.target[chosen]


def images_of(clean, gone):
    """As ``twofold.io`` reads such files."""
    return np.where(gone, 0, clean).astype(np.float32) / np.float32(255)


def search(marker):
    """The search that the command does."""
    return AutoTSNMF(3, estimator=TSNMF(missing_values=marker), random_state=0)


@pytest.fixture(scope="module")
def done(pixels, tmp_path_factory):
    """A folder with the files and their results, and what the run printed."""
    clean, gone, _ = pixels
    folder = tmp_path_factory.mktemp("holes")
    (folder / "photos").mkdir()
    for i, image in enumerate(np.where(gone, 0, clean)):
        Image.fromarray(image.astype(np.uint8)).save(folder / "photos" / f"{i:02}.png")
    run = inside("cluster", "photos", "-k", "3", "--missing", "0", folder=folder)
    assert run.returncode == 0, run.stderr
    return folder, run


@pytest.fixture(scope="module")
def known(pixels):
    """What the library finds in them."""
    clean, gone, _ = pixels
    return search(0).fit(images_of(clean, gone))


def test_black_blocks_are_no_pixels(done, pixels, known):
    folder, run = done
    clean, _, target = pixels
    results = folder / "photos-clusters"
    assert {path.name for path in results.iterdir()} == FILES | {
        "completed.npy",
        "search.csv",
    }
    said = "30 samples with missing entries; completed.npy has them filled in"
    assert run.stdout.splitlines()[1] == said
    labels = [int(row["cluster"]) for row in rows(results / "assignments.csv")]
    plain = TSNMF(3, random_state=0).fit(clean).labels_
    assert clustering_accuracy(plain, labels) >= 0.95
    assert clustering_accuracy(target, labels) >= 0.95
    assert labels == known.labels_.tolist()


def test_completed_pixels_are_nearer_to_the_truth_than_their_means(done, pixels):
    clean, gone, _ = pixels
    completed = 255 * np.load(done[0] / "photos-clusters/completed.npy")
    mean = np.ma.array(clean, mask=gone).mean(axis=0).filled()
    by_mean = np.abs(np.broadcast_to(mean, clean.shape) - clean)[gone]
    error = np.abs(completed - clean)
    assert np.sqrt((error[gone] ** 2).mean()) < 0.8 * np.sqrt((by_mean**2).mean())
    assert error[~gone].max() < 1e-4


def test_the_report_shows_them(done):
    page = (done[0] / "photos-clusters/report.html").read_text(encoding="utf-8")
    assert "<b>30</b> with missing pixels" in page
    assert "30 of 60 images have missing pixels: 7.8% of all" in page


def test_predict_takes_the_mark_from_the_model(done, pixels, known):
    folder, _ = done
    clean, gone, _ = pixels
    said = inside("predict", folder / "photos-clusters", "photos", folder=folder)
    assert said.returncode == 0, said.stderr
    images = images_of(clean, gone)
    placed = [int(row["cluster"]) for row in csv.DictReader(said.stdout.splitlines())]
    assert placed == known.predict(images).tolist()


def test_nan_in_arrays_and_empty_cells(pixels, tmp_path, here):
    clean, gone, _ = pixels
    X = np.where(gone, np.nan, clean)
    np.save(tmp_path / "a.npy", X)
    lines = [",".join("" if np.isnan(x) else f"{x:g}" for x in row.flat) for row in X]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    model = search(np.nan).fit(X)
    shape = ("--sample-shape", "16x12")
    for file, options in (("a.npy", ()), ("a.csv", shape)):
        run = here("cluster", file, "-k", 3, "--missing", "NaN", "--json", *options)
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout.splitlines()[-1])["missing"] == 30
        found = rows(tmp_path / "a-clusters/assignments.csv")
        assert [int(row["cluster"]) for row in found] == model.labels_.tolist()
        said = here("predict", "a-clusters", file)
        placed = [
            int(row["cluster"]) for row in csv.DictReader(said.stdout.splitlines())
        ]
        assert placed == model.predict(X).tolist()
        (tmp_path / "a-clusters").rename(tmp_path / f"{file}-done")


def test_a_mark_that_nothing_has(pixels, tmp_path, here):
    np.save(tmp_path / "a.npy", pixels[0])
    run = here("cluster", "a.npy", "-k", 3, "--missing", "-1")
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[1] == (
        "0 samples with missing entries; no entry has the value of --missing"
    )


def test_predict_says_how_the_model_should_have_been_made(pixels, tmp_path, here):
    clean, gone, _ = pixels
    np.save(tmp_path / "a.npy", clean)
    np.save(tmp_path / "new.npy", np.where(gone, np.nan, clean))
    assert here("cluster", "a.npy", "-k", 3, "-q").returncode == 0
    failed = here("predict", "a-clusters", "new.npy")
    assert failed.returncode == 1
    assert failed.stderr.count("\n") == 1
    assert "the first in new.npy[0]; cluster with --missing nan" in failed.stderr


def test_a_black_image_is_named_by_its_file(tmp_path, here):
    (tmp_path / "in").mkdir()
    for i in range(4):
        grey = np.full((6, 6), 60 * i, dtype=np.uint8) + np.arange(6, dtype=np.uint8)
        Image.fromarray(grey if i != 2 else 0 * grey).save(tmp_path / f"in/{i}.png")
    failed = here("cluster", "in", "-k", 2, "--missing", "0")
    assert failed.returncode == 1
    assert failed.stderr.startswith("Error: in/2.png must have an observed entry")
    assert failed.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
