"""Clusters of features, with pictures of the files that they belong to."""

import json
from dataclasses import replace

import numpy as np
import problems
import pytest
from small_photos import make_images, run, snapshot, table

from twofold import TSNMF, AutoTSNMF
from twofold.app.collection import Reading, read_collection
from twofold.app.report import near_duplicates
from twofold.app.results import typicality
from twofold.app.workflow import cluster, predict, read
from twofold.estimators import load_model
from twofold.io import read_images

N = 24


def own_features(n=N, seed=3):
    """Vectors in three groups that have nothing to do with those of the pictures."""
    rng = np.random.RandomState(seed)
    means = np.random.RandomState(0).normal(size=(3, 12))
    return means[np.arange(n) % 3] + 0.1 * rng.normal(size=(n, 12))


@pytest.fixture(scope="module")
def clustered(photos, tmp_path_factory):
    """Results, which no test may write to, with the features and the model."""
    folder = tmp_path_factory.mktemp("features")
    collection = replace(read(photos), features=own_features())
    model = TSNMF(3, random_state=0)
    cluster(collection, model, folder / "out", sort="copy")
    return folder / "out", collection, model


def test_the_clusters_are_those_of_the_features(clustered):
    out, _, model = clustered
    expected = TSNMF(3, random_state=0).fit(own_features())
    rows = table(out / "assignments.csv")
    found = np.array([int(row["cluster"]) for row in rows])
    np.testing.assert_array_equal(found, expected.labels_)
    assert len({tuple(found[i::3]) for i in range(3)}) == 3
    np.testing.assert_array_equal(model.components_, expected.components_)
    errors = [float(row["reconstruction_error"]) for row in rows]
    norms = np.linalg.norm(own_features(), axis=1)
    relative = expected.reconstruction_error_ / norms
    np.testing.assert_allclose(errors, relative, rtol=1e-4)


def test_what_is_told_of_distances_is_of_the_features(clustered):
    out, collection, model = clustered
    report = json.loads((out / "report.json").read_text())
    typical = typicality(own_features(), model.labels_)
    names = [item["name"] for item in report["items"]]
    assert [c["tightness"] for c in report["clusters"]] == [
        round(float(typical[model.labels_ == j].mean()), 4) for j in range(3)
    ]
    worst = np.argsort(typical, kind="stable")[: len(typical) // 10]
    expected = [i for i in worst.tolist() if typical[i] < 0.99]
    assert report["outliers"] == expected
    groups = near_duplicates(own_features())
    lines = table(out / "duplicates.csv")
    assert len(lines) == sum(map(len, groups))
    assert groups != near_duplicates(collection.images)
    assert len(names) == N


def test_what_is_shown_are_the_files(clustered, photos, tmp_path):
    out, collection, model = clustered
    report = json.loads((out / "report.json").read_text())
    # The thumbnails of a report on the same files by their pixels.
    run(photos, tmp_path / "pixels")
    pixels = json.loads((tmp_path / "pixels" / "report.json").read_text())
    assert report["sheets"] == pixels["sheets"]
    assert report["shape"] == [7, 6]
    assert report["features"] == [12]
    # Each file is in the folder of its cluster.
    for line, path, label in zip(
        table(out / "sorted.csv"), collection.paths, model.labels_, strict=True
    ):
        assert line["file"].startswith(f"clusters/{label}/")
        assert (out / line["file"]).read_bytes() == path.read_bytes()


def test_a_page_says_that_features_were_compared(clustered, photos, tmp_path):
    page = (clustered[0] / "report.html").read_text()
    assert "by <b>12</b> features of each" in page
    assert "The picture beside its number is the mean of its images" in page
    assert "their pixels correlate" not in page
    run(photos, tmp_path / "pixels")
    assert "features" not in (tmp_path / "pixels" / "report.html").read_text()


@pytest.mark.parametrize("shape", [(9, 10), (8, 9, 3)])
def test_matrices_are_compared_as_they_are(photos, tmp_path, shape):
    rng = np.random.RandomState(0)
    features = rng.normal(size=(3, *shape))[np.arange(N) % 3]
    features = features + 0.1 * rng.normal(size=features.shape)
    collection = replace(read(photos), features=features)
    model = TSNMF(3, random_state=0)
    cluster(collection, model, tmp_path / "out")
    assert model.channels_ == "pixels"  # and not gradients, as of images
    expected = TSNMF(3, channels="pixels", random_state=0).fit(features)
    np.testing.assert_array_equal(model.coefficients_, expected.coefficients_)


def test_a_search_takes_features_as_they_are(photos, tmp_path):
    features = np.random.RandomState(0).normal(size=(3, 9, 10))[np.arange(N) % 3]
    features += 0.2 * np.random.RandomState(1).normal(size=features.shape)
    collection = replace(read(photos), features=features)
    model = AutoTSNMF(range(2, 5), random_state=0)
    cluster(collection, model, tmp_path / "out")
    assert set(model.search_results_["channels"]) == {"pixels"}
    expected = AutoTSNMF(range(2, 5), channels="pixels", random_state=0).fit(features)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.n_clusters_ == 3


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TSNMF(3, missing_values=np.nan), "missing_values must be left"),
        (TSNMF(3, align=True), "align must be left"),
        (TSNMF(3, channels="gradients"), "channels must be left .* got 'gradients'"),
        (AutoTSNMF(3, estimator=TSNMF(align="shifts")), "align must be left"),
        (AutoTSNMF(3, channels=["gradients"]), "channels must be left"),
    ],
)
def test_models_for_pixels_are_refused(photos, tmp_path, model, message):
    collection = replace(read(photos), features=own_features())
    with pytest.raises(ValueError, match=message):
        cluster(collection, model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (own_features(N - 1), r"features must be .* of the 24 samples, got shape \(23"),
        (np.zeros(N), r"features must be a row .*, got shape \(24,\)"),
        (
            np.full((N, 3), np.nan),
            "features of photos must be finite, got 72 NaN.*; le",
        ),
    ],
)
def test_features_that_are_none(photos, tmp_path, features, message):
    collection = replace(read(photos), features=features)
    with pytest.raises(ValueError, match=message):
        cluster(collection, TSNMF(3), tmp_path / "out")


# Files of features


def test_rows_in_order_or_by_name(photos, tmp_path):
    listed = read_images(photos, progress=False).files
    paths = [str(path) for path in listed]
    rows = own_features(len(paths))  # broken.png has one
    np.save(tmp_path / "f.npy", rows)
    order = np.random.RandomState(0).permutation(len(paths))
    names = np.array([paths[i].removeprefix(f"{photos}/") for i in order])
    np.savez(tmp_path / "f.npz", e=rows[order], other=rows[order, :3], name=names)
    kept = [i for i, path in enumerate(listed) if path.name != "broken.png"]
    collection = read_collection(photos, features=tmp_path / "f.npy")
    np.testing.assert_array_equal(collection.features, rows[kept])
    named = read_collection(photos, Reading(key="e"), features=tmp_path / "f.npz")
    np.testing.assert_array_equal(named.features, rows[kept])
    assert named.names == collection.names


def test_features_of_an_array_file(tmp_path):
    np.savez(tmp_path / "a.npz", X=problems.images(N), Y=problems.images(N))
    np.save(tmp_path / "f.npy", own_features())
    options = {"reading": Reading(key="X"), "features": tmp_path / "f.npy"}
    collection = read_collection(tmp_path / "a.npz", **options)
    np.testing.assert_array_equal(collection.images, problems.images(N))
    np.testing.assert_array_equal(collection.samples, own_features())


# New samples


def test_new_features_are_placed_as_the_model_says(clustered, tmp_path):
    out, _, model = clustered
    new = make_images(tmp_path / "new", seed=1, n=30)
    paths = [path.name for path in read_images(new, progress=False).paths]
    rows = own_features(30, seed=5)
    np.savez(tmp_path / "f.npz", filename=np.array(paths[::-1]), e=rows[::-1])
    before = snapshot(out)
    collection, found, nearest = predict(out, new, features=tmp_path / "f.npz")
    np.testing.assert_array_equal(found.clusters, model.predict(rows))
    np.testing.assert_array_equal(found.coefficients, model.transform(rows))
    assert collection.images.shape[1:] == (7, 6)
    assert set(nearest) <= {row["path"] for row in table(out / "assignments.csv")}
    assert snapshot(out) == before


def test_the_key_of_features_is_remembered(photos, tmp_path):
    two = {"a": own_features(), "b": own_features(seed=9)}
    np.savez(tmp_path / "f.npz", **two)
    collection = read(photos, Reading(key="a"), features=tmp_path / "f.npz")
    cluster(collection, TSNMF(3, random_state=0), tmp_path / "out")
    options = {"features": tmp_path / "f.npz"}
    _, found, _ = predict(tmp_path / "out", photos, **options)
    _, other, _ = predict(tmp_path / "out", photos, key="b", **options)
    model, _ = load_model(tmp_path / "out")
    for assignments, name in ((found, "a"), (other, "b")):
        expected = model.transform(two[name])
        np.testing.assert_array_equal(assignments.coefficients, expected)


def test_a_model_of_features_needs_features_and_no_other_does(
    clustered, done, photos, tmp_path
):
    np.save(tmp_path / "f.npy", own_features()[:, :5])
    with pytest.raises(
        ValueError, match=r"features must be given .* features of 12 an"
    ):
        predict(clustered[0], photos)
    with pytest.raises(ValueError, match=r"features must be left out for the model in"):
        predict(done[0], photos, features=tmp_path / "f.npy")
    with pytest.raises(ValueError, match=r"features in .*f\.npy must be 12 .*, got 5"):
        predict(clustered[0], photos, features=tmp_path / "f.npy")
