"""Samples with missing entries, from an array file to a folder of results."""

import json
import os

import numpy as np
import problems
import pytest
from small_photos import FILES, run, table

from twofold import TSNMF
from twofold.app.report import near_duplicates
from twofold.app.results import typicality
from twofold.app.workflow import predict, rewrite_report

CLEAN = problems.images(48, 12, 10) + 6  # no pixel is 0
GONE = np.random.default_rng(0).random(CLEAN.shape) < 0.3
GONE[::4] = False
GONE[1::4, 3:8, 2:7] = True


def holed(marker=np.nan):
    return np.where(GONE, marker, CLEAN)


def fitted(marker=np.nan):
    return TSNMF(3, missing_values=marker, random_state=0).fit(holed(marker))


@pytest.fixture(scope="module", params=[np.nan, 0.0], ids=["nan", "zero"])
def done(request, tmp_path_factory):
    """The folder of results, and what stood for a missing pixel."""
    place = tmp_path_factory.mktemp("missing")
    np.save(place / "a.npy", holed(request.param))
    model = TSNMF(3, missing_values=request.param, random_state=0)
    run(place / "a.npy", place / "out", model)
    return place / "out", request.param


def summary_of(out):
    return json.loads((out / "report.json").read_text("utf-8"), parse_constant=int)


def test_the_completed_samples_are_written(done):
    out, marker = done
    assert set(os.listdir(out)) == FILES | {"completed.npy"}
    completed = np.load(out / "completed.npy")
    assert completed.dtype == np.float32
    expected = fitted(marker).impute(holed(marker)).astype(np.float32)
    np.testing.assert_array_equal(completed, expected)
    np.testing.assert_array_equal(completed[~GONE], CLEAN.astype(np.float32)[~GONE])


def test_what_is_said_of_them_is_what_the_python_api_says(done):
    out, marker = done
    rows = table(out / "assignments.csv")
    model = fitted(marker)
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    norms = np.linalg.norm(np.where(GONE, 0, CLEAN), axis=(1, 2))
    np.testing.assert_allclose(
        [float(row["reconstruction_error"]) for row in rows],
        model.reconstruction_error_ / norms,
        rtol=1e-4,
    )
    assert list(rows[0]) == [
        *("path", "cluster", "confidence", "reconstruction_error"),
        "nearest_representative",
    ]


def test_what_is_alike_is_so_of_the_completed_samples(done, tmp_path):
    """Typicality, thumbnails, the mean image: all as of a file that was complete."""
    out, marker = done
    found, model = summary_of(out), fitted(marker)
    images = model.impute(holed(marker))
    typical = typicality(images, model.labels_)
    for cluster in found["clusters"]:
        inside = typical[model.labels_ == cluster["number"]]
        assert cluster["tightness"] == pytest.approx(inside.mean(), abs=1e-4)
        assert (np.diff(typical[cluster["items"]]) <= 0).all()
    assert found["duplicate_groups"] == len(near_duplicates(images)) == 0
    np.save(tmp_path / "a.npy", images)
    run(tmp_path / "a.npy", tmp_path / "whole")
    whole = summary_of(tmp_path / "whole")
    assert found["sheets"] == whole["sheets"]
    assert found["projections"]["mean"] == whole["projections"]["mean"]


def test_holes_of_one_place_make_no_near_duplicates(tmp_path):
    """Which zeros, taken for pixels beside bright ones, would."""
    X = 20 + CLEAN
    X[:, 4:] = 0
    assert sum(map(len, near_duplicates(X))) == 48
    np.save(tmp_path / "a.npy", X)
    run(tmp_path / "a.npy", tmp_path / "out", TSNMF(3, missing_values=0))
    assert table(tmp_path / "out/duplicates.csv") == []


def test_new_samples_with_holes(done, tmp_path):
    out, marker = done
    new = holed(marker)[::-1][:20]
    np.save(tmp_path / "new.npy", new)
    np.savetxt(tmp_path / "new.csv", new.reshape(20, -1), delimiter=",", fmt="%.17g")
    model = fitted(marker)
    for name in ("new.npy", "new.csv"):
        _, found, nearest = predict(out, tmp_path / name)
        np.testing.assert_array_equal(found.clusters, model.predict(new))
        np.testing.assert_array_equal(found.coefficients, model.transform(new))
        assert np.isfinite(found.reconstruction_error).all()
        assert len(nearest) == 20


def test_new_samples_with_nothing_observed_or_of_another_mark(done, tmp_path):
    out, marker = done
    new = CLEAN[:5].copy()
    new[3] = marker
    np.save(tmp_path / "new.npy", new)
    with pytest.raises(ValueError, match=r"new.npy\[3\] must have an observed entry"):
        predict(out, tmp_path / "new.npy")
    new[3] = np.inf
    np.save(tmp_path / "new.npy", new)
    with pytest.raises(ValueError, match=r"120 infinite .*new.npy\[3\]; leave these"):
        predict(out, tmp_path / "new.npy")


def test_a_model_that_knows_of_no_missing_entries(tmp_path):
    np.save(tmp_path / "a.npy", CLEAN)
    np.save(tmp_path / "new.npy", holed())
    run(tmp_path / "a.npy", tmp_path / "out")
    assert set(os.listdir(tmp_path / "out")) == FILES
    with pytest.raises(ValueError, match=r"new.npy\[1\]; cluster with --missing nan"):
        predict(tmp_path / "out", tmp_path / "new.npy")


def test_samples_of_which_nothing_is_observed_are_named(tmp_path):
    X = holed()
    X[[17, 30, 31]] = np.nan
    np.save(tmp_path / "faces.npy", X)
    with pytest.raises(ValueError, match=r"faces.npy\[17\] and 2 others must have an"):
        run(tmp_path / "faces.npy", tmp_path / "out", TSNMF(3, missing_values=np.nan))
    assert os.listdir(tmp_path) == ["faces.npy"]


def test_nothing_is_missing_after_all(tmp_path):
    """All is as without the parameter, but for completed.npy."""
    np.save(tmp_path / "a.npy", CLEAN)
    run(tmp_path / "a.npy", tmp_path / "plain")
    model = TSNMF(3, missing_values=np.nan, random_state=0)
    run(tmp_path / "a.npy", tmp_path / "patient", model)
    np.testing.assert_array_equal(
        np.load(tmp_path / "patient/completed.npy"), CLEAN.astype(np.float32)
    )
    for name in ("assignments.csv", "duplicates.csv"):
        files = [
            (tmp_path / place / name).read_bytes() for place in ("plain", "patient")
        ]
        assert files[0] == files[1]
    plain, patient = (summary_of(tmp_path / place) for place in ("plain", "patient"))
    assert patient["parameters"].pop("missing_values") == "nan"
    assert plain["parameters"].pop("missing_values") is None
    assert patient == plain


def test_numbers_too_large_for_single_precision(tmp_path):
    np.save(tmp_path / "a.npy", 1e150 * holed())
    model = TSNMF(3, missing_values=np.nan, random_state=0)
    run(tmp_path / "a.npy", tmp_path / "out", model)
    completed = np.load(tmp_path / "out/completed.npy")
    np.testing.assert_array_equal(completed, model.impute(1e150 * holed()))


@pytest.mark.parametrize("shape", [(120,), (6, 10, 2), (8, 5, 3)])
def test_vectors_and_colours(tmp_path, shape):
    X = holed().reshape(48, *shape)
    np.save(tmp_path / "a.npy", X)
    model = TSNMF(3, missing_values=np.nan, random_state=0)
    run(tmp_path / "a.npy", tmp_path / "out", model)
    rows = table(tmp_path / "out/assignments.csv")
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    assert all(float(row["reconstruction_error"]) < 2 for row in rows)
    completed = np.load(tmp_path / "out/completed.npy")
    assert completed.shape == X.shape
    page = (tmp_path / "out/report.html").read_bytes()
    (tmp_path / "out/report.html").unlink()
    rewrite_report(tmp_path / "out")
    assert (tmp_path / "out/report.html").read_bytes() == page
