"""The summary against the model, the images and plain sums."""

import dataclasses
import itertools
import json
import os
import urllib.parse
from pathlib import Path

import msgspec
import numpy as np
import pytest
from browsing import page_of

from twofold.app.collection import Collection
from twofold.app.report import near_duplicates, read_report, summarize
from twofold.app.report import summary as summary_module
from twofold.app.report.items import printable
from twofold.app.report.sections import duplicates as duplicates_module
from twofold.app.report.sections import outliers as outliers_module
from twofold.app.results import typicality
from twofold.metrics import score_all


def made(arrays, collection=None, folder=Path("out")):
    parts = arrays.model, arrays.found, arrays.typical
    collection = collection or arrays.collection
    groups = near_duplicates(collection.images)
    return values_of(summarize(collection, *parts, groups, folder))


def values_of(report):
    """The values of its JSON, which give the report back."""
    text = msgspec.json.encode(report)
    assert read_report(text) == report
    return json.loads(text)


def test_counts_and_names(summary, arrays):
    assert summary["images"] == len(summary["items"]) == 60
    assert summary["shape"] == [7, 6]
    assert summary["title"] == "a <b>"
    assert [item["name"] for item in summary["items"]] == arrays.collection.names
    assert summary["skipped"] == [["x", "too large"], ["y", "broken"], ["z", "broken"]]
    assert summary["parameters"]["n_clusters"] == 3
    assert summary["convergence"]["objective"] == pytest.approx(
        arrays.model.objective_history_.tolist()
    )


def test_every_image_is_in_its_cluster_the_most_typical_first(summary, arrays, images):
    labels = arrays.model.labels_
    for cluster in summary["clusters"]:
        inside = cluster["items"]
        assert sorted(inside) == np.flatnonzero(labels == cluster["number"]).tolist()
        assert cluster["size"] == len(inside)
        rows = images[inside].reshape(len(inside), -1)
        rows = rows - rows.mean(axis=1, keepdims=True)
        rows /= rows.std(axis=1, keepdims=True)
        alike = [np.corrcoef(row, rows.mean(axis=0))[0, 1] for row in rows]
        assert (np.diff(alike) <= 1e-6).all()
        assert cluster["tightness"] == pytest.approx(np.mean(alike), abs=1e-4)
    assert sum(len(c["items"]) for c in summary["clusters"]) == 60


def test_centroids_are_what_mean_coefficients_rebuild(
    summary, arrays, images, pixels_of
):
    model = arrays.model
    components = model.components_.reshape(3, -1)
    for cluster in summary["clusters"]:
        mean = model.coefficients_[model.labels_ == cluster["number"]].mean(axis=0)
        known = (mean @ components).reshape(7, 6)
        shown = pixels_of(cluster["centroid"])[..., 0]
        low, high = np.quantile(images, [0.001, 0.999])
        expected = 255 * np.clip((known - low) / (high - low), 0, 1)
        assert np.abs(shown - expected).max() <= 1
        assert np.corrcoef(shown.ravel(), known.ravel())[0, 1] > 0.999


def test_errors_are_what_is_not_rebuilt(summary, arrays, images):
    model = arrays.model
    norms = np.linalg.norm(images, axis=(1, 2))
    typical = np.sqrt((norms**2).mean())
    rebuilt = model.inverse_transform(model.coefficients_)  # of samples of that norm
    rest = images / norms[:, None, None] - rebuilt / typical
    errors = [item["error"] for item in summary["items"]]
    assert errors == pytest.approx(np.linalg.norm(rest, axis=(1, 2)), abs=1e-4)


def test_outliers_are_the_least_typical_of_all(summary, arrays, images):
    alike = np.empty(60)
    for cluster in range(3):
        inside = arrays.model.labels_ == cluster
        rows = images[inside].reshape(inside.sum(), -1)
        rows = rows - rows.mean(axis=1, keepdims=True)
        rows /= rows.std(axis=1, keepdims=True)
        alike[inside] = [np.corrcoef(row, rows.mean(axis=0))[0, 1] for row in rows]
    listed = summary["outliers"]
    assert len(listed) == len(set(listed)) == 6  # one in ten
    assert (np.diff(alike[listed]) >= -1e-6).all()
    rest = np.setdiff1d(np.arange(60), listed)
    assert alike[rest].min() >= alike[listed].max() - 1e-6


def test_confidence_and_places_are_parts_of_one(summary):
    for item in summary["items"]:
        assert 0 <= item["confidence"] <= 1
        assert 0 <= item["x"] <= 1
        assert 0 <= item["y"] <= 1


def test_the_confidence_of_a_cluster_is_the_mean_of_its_images(summary):
    for cluster in summary["clusters"]:
        each = [summary["items"][i]["confidence"] for i in cluster["items"]]
        assert cluster["confidence"] == pytest.approx(np.mean(each), abs=2e-4)
        assert f'confidence <span class="number">{cluster["confidence"]:.0%}' in (
            page_of(summary)
        )
        del cluster["confidence"]
    assert "· confidence" not in page_of(summary)  # of a file of old


@pytest.mark.parametrize(
    ("structure", "said"), [(None, False), (0.4, False), (0.39, True), (-0.2, True)]
)
def test_a_page_says_if_there_seem_to_be_no_clusters(summary, structure, said):
    assert summary["structure"] > 0.4
    summary["structure"] = structure
    page = page_of(summary)
    assert ("do not look as if they had any clusters" in page) is said
    assert (f"Their structure is {structure or 0:.2f};" in page) is said


def test_scores_are_those_of_the_labels(summary, arrays):
    known = score_all(arrays.collection.target, arrays.model.labels_)
    assert summary["scores"]["values"] == pytest.approx(known, abs=1e-4)
    table = summary["scores"]["confusion"]
    assert table["classes"] == ["one", "<two>", "three"]
    assert np.array(table["counts"]).sum() == 60
    assert [item["class"] for item in summary["items"][:4]] == [
        *("one", "<two>", "three", "one")
    ]


def test_without_classes_there_are_no_scores(arrays):
    plain = dataclasses.replace(arrays.collection, target=None, target_names=[])
    found = made(arrays, plain)
    assert found["scores"] is None
    assert {item["class"] for item in found["items"]} == {None}


def test_thumbnails_of_arrays_are_the_samples(summary, images, pixels_of):
    sheets = [pixels_of(uri) for uri in summary["sheets"]["images"]]
    for i, place in enumerate(summary["sheets"]["places"]):
        sheet, left, top, width, height = place
        assert (height, width) == (7, 6)
        shown = sheets[sheet][top : top + height, left : left + width, 0]
        assert np.corrcoef(shown.ravel(), images[i].ravel())[0, 1] > 0.999


def test_more_images_than_can_be_shown(arrays, monkeypatch):
    monkeypatch.setattr(summary_module, "MOST_SHOWN", 30)
    monkeypatch.setattr(outliers_module, "_MOST_OUTLIERS", 6)
    found = made(arrays)
    whole = [cluster["items"] for cluster in _whole(arrays, monkeypatch)["clusters"]]
    assert found["images"] == 60
    assert 24 <= len(found["items"]) <= 30
    place = {name: i for i, name in enumerate(arrays.collection.names)}
    for cluster, before in zip(found["clusters"], whole, strict=True):
        assert cluster["size"] == len(before)
        kept = [place[found["items"][i]["name"]] for i in cluster["items"]]
        order = [before.index(i) for i in kept]
        assert order == sorted(order)
        assert order[0] == 0  # the most typical one
        assert order[-1] == len(before) - 1
        assert max(np.diff(order)) <= 4  # an even choice
    listed = [place[found["items"][i]["name"]] for i in found["outliers"]]
    assert listed == np.argsort(arrays.typical)[:6].tolist()


def _whole(arrays, monkeypatch):
    monkeypatch.setattr(summary_module, "MOST_SHOWN", 5000)
    return made(arrays)


def test_duplicates_beyond_what_is_shown_are_counted(arrays, images, monkeypatch):
    copied = images.copy()
    for i in range(0, 12, 2):
        copied[i + 1] = copied[i]
    twins = dataclasses.replace(arrays.collection, images=copied)
    monkeypatch.setattr(duplicates_module, "MOST_GROUPS", 4)
    found = made(arrays, twins)
    assert found["duplicate_groups"] == 6
    assert found["duplicate_images"] == 12
    assert found["duplicates"] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_links_lead_from_the_page_to_the_files(report):
    base = (report.folder / "report.html").as_uri()
    for item, path in zip(
        report.summary["items"], report.collection.paths, strict=True
    ):
        address = urllib.parse.urlparse(urllib.parse.urljoin(base, item["link"]))
        assert address.scheme == "file"
        assert not address.query
        assert not address.fragment
        led = os.fsdecode(urllib.parse.unquote_to_bytes(address.path))
        assert os.path.samefile(led, path)


def test_files_on_another_drive_are_named_in_full(arrays, monkeypatch, tmp_path):
    def apart(*_):
        raise ValueError("path is on mount 'C:', start on mount 'D:'")

    files = [tmp_path / f"{i} ä.png" for i in range(60)]
    names = list(map(str, files))
    found = dataclasses.replace(arrays.collection, paths=files, names=names)
    monkeypatch.setattr(os.path, "relpath", apart)
    summary = made(arrays, found)
    assert summary["items"][7]["link"] == files[7].as_uri()
    monkeypatch.setattr(Path, "as_uri", lambda _: "file://server/share/x.png")
    summary = made(arrays, found)
    assert {item["link"] for item in summary["items"]} == {None}


def test_names_that_are_no_text_are_escaped():
    assert printable(os.fsdecode(b"caf\xe9 \xff")) == "caf\\xe9 \\xff"
    for text in ("ordinary", "שלום", "\u202e", "a\nb", "\U0001f98a"):
        assert printable(text) == text


def test_reasons_are_text_too(arrays):
    named = os.fsdecode(b"cannot read \xff.png")
    found = dataclasses.replace(arrays.collection, skipped=[(named, named)])
    summary = made(arrays, found)
    assert summary["skipped"] == [["cannot read \\xff.png"] * 2]


def test_the_report_of_files(report, photos):
    summary = report.summary
    names = {os.fsencode(path) for path in photos.rglob("*.png")} - {
        os.fsencode(photos / "broken <b>.png")
    }
    shown = {printable(os.fsdecode(name)) for name in names}
    assert {item["name"] for item in summary["items"]} == shown
    assert len(summary["items"]) == len(names) == 79
    assert len(summary["skipped"]) == 3
    for item in summary["items"]:
        assert item["class"] == Path(item["name"]).parent.name
    assert summary["scores"]["values"]["accuracy"] == 1
    groups = [
        {Path(summary["items"][i]["name"]).name for i in group}
        for group in summary["duplicates"]
    ]
    assert len(groups) == 3
    for i in range(3):
        assert any(f"copy {i}.png" in group and len(group) == 2 for group in groups)


def test_thumbnails_of_files_are_the_files(report, pixels_of):
    (sheet,) = [pixels_of(uri) for uri in report.summary["sheets"]["images"]]
    collection = report.collection
    for i, (_, left, top, width, height) in enumerate(
        report.summary["sheets"]["places"]
    ):
        assert (height, width) == tuple(collection.thumbnail_sizes[i])
        shown = sheet[top : top + height, left : left + width, 0]
        pixels = collection.images[i]
        if shown.shape == pixels.shape:
            assert np.corrcoef(shown.ravel(), pixels.ravel())[0, 1] > 0.99


def test_vectors_and_colours_have_reports_too(arrays):
    rng = np.random.default_rng(0)
    for shape in ((60, 5, 4, 3), (60, 11)):
        images = rng.uniform(size=shape)
        images[::3] += 1
        found = _fitted(images)
        assert found["shape"] == list(shape[1:])


def _fitted(images):
    from twofold import TSNMF
    from twofold.app.results import assign_trained

    model = TSNMF(2, random_state=0, tol=0.1).fit(images)
    found = assign_trained(model, images)
    names = [str(i) for i in range(len(images))]
    collection = Collection(title="t", images=images, names=names)
    typical = typicality(images, found.clusters)
    groups = near_duplicates(collection.images)
    return values_of(summarize(collection, model, found, typical, groups, Path("out")))


def test_duplicate_groups_are_apart(report):
    listed = list(itertools.chain(*report.summary["duplicates"]))
    assert len(listed) == len(set(listed)) == report.summary["duplicate_images"]
