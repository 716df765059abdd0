"""New samples for a folder of results, and its page made anew."""

import json
import os
from pathlib import Path

import numpy as np
import problems
import pytest
from model_forging import edit_record
from PIL import Image
from small_photos import FILES, make_images, run, snapshot, table

from twofold import TSNMF
from twofold.app.collection import Reading
from twofold.app.workflow import predict, rewrite_report
from twofold.io import read_images

# New samples


def test_new_images_are_placed_as_the_model_says(done, tmp_path):
    out, _, model = done
    new = make_images(tmp_path / "new", seed=0, n=36)
    images = read_images(new, (7, 6), color=False, progress=False)
    for path in (out, out / "model.safetensors"):
        collection, found, nearest = predict(path, new)
        assert collection.paths == images.paths
        np.testing.assert_array_equal(found.clusters, model.predict(images.images))
        np.testing.assert_array_equal(
            found.coefficients, model.transform(images.images)
        )
        assert [Path(name).name for name, _ in collection.skipped] == ["broken.png"]
        known = {row["path"] for row in table(out / "assignments.csv")}
        assert set(nearest) <= known
        assert len(set(nearest)) == 3


def test_images_of_another_size_and_in_colour_are_read_as_the_others(done, tmp_path):
    out, _, model = done
    pixels = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "1.png")
    _, found, _ = predict(out, tmp_path / "1.png")
    grey = read_images(tmp_path / "1.png", (7, 6), progress=False).images
    np.testing.assert_array_equal(found.coefficients, model.transform(grey))


def test_how_images_are_fitted_is_remembered(photos, tmp_path):
    reading = Reading(size=(6, 3), color=True, fit="crop")
    _, _, model = run(photos, tmp_path / "out", reading=reading)
    assert model.sample_shape_ == (6, 3, 3)
    collection, found, _ = predict(tmp_path / "out", photos)
    images = read_images(photos, (6, 3), color=True, fit="crop", progress=False).images
    np.testing.assert_array_equal(collection.images, images)
    np.testing.assert_array_equal(found.clusters, model.predict(images))


def test_new_samples_from_arrays(tmp_path):
    X = problems.images(40)
    rows = X.transpose(0, 2, 1).reshape(40, -1)  # columns first, as MATLAB does
    np.savez(tmp_path / "a.npz", fea=rows[:30], gnd=np.arange(30))
    np.savez(tmp_path / "new.npz", fea=rows[30:], other=X[30:])
    reading = Reading(key="fea", sample_shape=(7, 6), order="F")
    run(tmp_path / "a.npz", tmp_path / "out", reading=reading)
    expected = TSNMF(3, random_state=0).fit(X[:30]).predict(X[30:])
    for key in (None, "fea", "other"):
        collection, found, _ = predict(tmp_path / "out", tmp_path / "new.npz", key=key)
        np.testing.assert_array_equal(collection.images, X[30:])
        np.testing.assert_array_equal(found.clusters, expected)
    with pytest.raises(ValueError, match="key='none' is not in"):
        predict(tmp_path / "out", tmp_path / "new.npz", key="none")


def test_new_vectors(tmp_path, photos):
    X = problems.images(40).reshape(40, -1)
    np.save(tmp_path / "a.npy", X[:30])
    np.savetxt(tmp_path / "new.csv", X[30:], delimiter=",")
    _, _, model = run(tmp_path / "a.npy", tmp_path / "out")
    _, found, _ = predict(tmp_path / "out", tmp_path / "new.csv")
    np.testing.assert_array_equal(found.clusters, model.predict(X[30:]))
    with pytest.raises(ValueError, match="takes vectors of 42 entries, not images"):
        predict(tmp_path / "out", photos)


@pytest.mark.parametrize(
    "shape", [(4, 6, 7), (4, 7, 7), (4, 41), (4, 7, 6, 3), (4, 21, 2), (7, 6), (42,)]
)
def test_samples_of_another_shape_are_refused(done, tmp_path, shape):
    np.save(tmp_path / "a.npy", np.ones(shape))
    with pytest.raises(ValueError, match="must"):
        predict(done[0], tmp_path / "a.npy")


def test_sources_and_models_that_are_none(done, tmp_path, photos):
    with pytest.raises(FileNotFoundError, match="expected a folder"):
        predict(done[0], tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"digits must be 7 x 6 .*, got 8 x 8"):
        predict(done[0], "digits")
    with pytest.raises(FileNotFoundError, match=r"model.safetensors: there is no such"):
        predict(tmp_path, photos)
    with pytest.raises(FileNotFoundError, match="nothing: there is no such file"):
        predict(tmp_path / "nothing", photos)


@pytest.mark.parametrize(
    ("field", "value"), [("fit", "zoom"), ("rows", [0, 0, 0]), ("title", 3)]
)
def test_a_model_that_was_tampered_with(results, photos, field, value):
    edit_record(results, lambda record: record["about"].update({field: value}))
    with pytest.raises(ValueError, match=r"fit must be one of|says nothing of its ima"):
        predict(results, photos)


# The page again


def test_the_page_is_made_anew_byte_for_byte(results):
    page = (results / "report.html").read_bytes()
    (results / "report.html").unlink()
    assert rewrite_report(results) == results / "report.html"
    assert (results / "report.html").read_bytes() == page
    (results / "report.html").write_text("spoiled")
    rewrite_report(results)
    assert (results / "report.html").read_bytes() == page
    assert set(os.listdir(results)) == FILES


def changed(**fields):
    return lambda summary: json.dumps(summary | fields).encode()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda summary: b"",
        lambda summary: b"{",
        lambda summary: b"null",
        lambda summary: b"[]",
        lambda summary: b"\xff\xfe\xfd",
        lambda summary: b"[" * 100_000,
        lambda summary: json.dumps(summary).encode()[:-10],
        changed(format="another"),
        changed(version=99),
        changed(items=None),
        changed(items=[]),
        changed(clusters=[{}]),
        changed(title="\ud800"),
        changed(convergence={"objective": [float("nan")], "max_iter": 1}),
        changed(convergence={"objective": [], "max_iter": 1}),
    ],
)
def test_a_broken_summary_is_refused_and_the_page_stays(results, spoil):
    summary = json.loads((results / "report.json").read_text())
    (results / "report.json").write_bytes(spoil(summary))
    before = snapshot(results)
    with pytest.raises(ValueError, match=r"report\.json: "):
        rewrite_report(results)
    after = snapshot(results)
    assert {**after, results: None} == {**before, results: None}


def test_folders_without_a_summary(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match=r"has no report.json; name a fold"):
            rewrite_report(folder)
    assert os.listdir(tmp_path) == []
