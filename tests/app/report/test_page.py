"""The page without a browser: complete, self-contained, and of a bearable size."""

import base64
import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from browsing import page_of
from PIL import Image

from twofold.app.collection import Collection
from twofold.app.report import Report, render, summarize
from twofold.app.report.summary import SECTIONS
from twofold.app.results import Assignments
from twofold.estimators.tsnmf import TSNMF

ALWAYS = [
    *("clusters", "outliers", "duplicates", "map", "convergence", "projections"),
    "scores",
]


def text_of(page):
    """What is written, without tags, styles and scripts."""
    body = re.sub(r"(?s)<(style|script).*?</\1>", "", page)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", body))


def test_it_has_its_sections_in_the_promised_order(summary, parsed):
    headings = [e for e in parsed(page_of(summary)) if e.tag in ("h1", "h2")]
    assert [e.attrs["id"] for e in headings[1:-1]] == ALWAYS
    summary["scores"] = None
    headings = [e for e in parsed(page_of(summary)) if e.tag == "h2"]
    assert [e.attrs["id"] for e in headings[:-1]] == ALWAYS[:-1]


def test_sections_have_a_field_and_a_template_each():
    fields = {field.name for field in msgspec.structs.fields(Report)}
    assert {name for name, section in SECTIONS.items() if section.build} <= fields
    folder = files("twofold.app.report.sections")
    suffix = ".html.j2"
    templates = [f.name for f in folder.iterdir() if f.name.endswith(suffix)]
    assert {name.removesuffix(suffix) for name in templates} == set(SECTIONS)


def test_it_begins_with_what_there_is_and_what_was_skipped(summary):
    text = text_of(page_of(summary))
    counts = re.search(r"(\d+) images (\d+) clusters (\d+) files skipped", text)
    assert counts.groups() == ("60", "3", "3")
    assert re.search(r"broken 2 *y *z *too large 1 *x", text)  # the usual reason first


def test_one_of_a_kind_is_written_so(summary):
    summary["skipped"] = [["only", "broken"]]
    assert "1 file skipped" in text_of(page_of(summary))


def test_many_skipped_files_are_counted(summary):
    summary["skipped"] = [[f"file-{i}", "broken"] for i in range(250)]
    text = text_of(page_of(summary))
    assert len(re.findall(r"file-\d+", text)) + int(
        re.search(r"and (\d+) more", text)[1]
    ) == len(summary["skipped"])


def test_nothing_is_loaded(report, summary, parsed):
    for page in (page_of(summary), report.page.read_text(encoding="utf-8")):
        for element in parsed(page):
            for name in ("src", "href", "srcset", "data", "action", "poster"):
                value = element.attrs.get(name, "#")
                assert value.startswith(("data:image/", "#")), element
        style = re.search(r"(?s)<style>(.*?)</style>", page)[1]
        assert "@import" not in style
        assert re.findall(r"url\((?!\"data:image/)", style) == []


def test_its_policy_allows_its_own_script_alone(summary, parsed):
    elements = parsed(page_of(summary))
    (policy,) = [
        e.attrs["content"]
        for e in elements
        if e.attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = [e for e in elements if e.tag == "script"]
    assert [e.attrs.get("type") for e in scripts] == ["application/json", None]
    digest = hashlib.sha256(scripts[1].text.encode()).digest()
    assert rules["script-src"] == f"'sha256-{base64.b64encode(digest).decode()}'"
    assert rules["default-src"] == "'none'"
    assert not re.search(r"https?:|\*", policy)


def test_every_image_is_a_button_in_its_gallery(summary, parsed):
    tiles = [
        int(e.attrs["data-i"])
        for e in parsed(page_of(summary))
        if e.attrs.get("class") == "tile"
    ]
    expected = [i for cluster in summary["clusters"] for i in cluster["items"]]
    expected += summary["outliers"]
    expected += [i for group in summary["duplicates"] for i in group]
    assert tiles[: len(expected)] == expected  # other sections may follow


def test_names_are_kept_in_attributes_and_data(report, parsed):
    page = report.page.read_bytes().decode()
    elements = parsed(page)
    items = report.summary["items"]
    tiles = [e for e in elements if e.attrs.get("class") == "tile"]
    for tile in tiles:
        name = items[int(tile.attrs["data-i"])]["name"]
        assert tile.attrs["aria-label"] == name
    (data,) = [e.text for e in elements if e.attrs.get("id") == "data"]
    assert json.loads(data) == items
    assert "\r" not in page


def test_every_text_is_escaped(summary, parsed):
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
    clean = [e.tag for e in parsed(page_of(summary))]
    summary["title"] = summary["twofold"] = hostile
    summary["skipped"] = [[hostile, hostile], ["x", hostile], ["y", hostile]]
    summary["parameters"] = {hostile: hostile, "b": True, "n": None}
    summary["scores"]["confusion"]["classes"] = [hostile] * 3
    for item in summary["items"]:
        item["name"] = item["class"] = hostile
    tags = [e.tag for e in parsed(page_of(summary))]
    assert tags.count("script") == clean.count("script") == 2
    assert tags.count("img") == clean.count("img")


def test_points_of_the_map_are_where_the_items_are(summary, parsed):
    elements = parsed(page_of(summary))
    points = [e.attrs for e in elements if re.match(r"k\d", e.attrs.get("class", ""))]
    points = [attrs for attrs in points if "cx" in attrs]
    assert len(points) == 60
    for point, item in zip(points, summary["items"], strict=True):
        assert float(point["cx"]) == pytest.approx(100 * item["x"], abs=0.01)
        assert float(point["cy"]) == pytest.approx(100 * (1 - item["y"]), abs=0.01)
        assert point["class"] == f"k{item['cluster']}"


def test_scores_and_the_table_are_written_out(summary):
    summary["scores"]["values"] = {
        "accuracy": 0.123,
        "nmi": 0.4567,
        "purity": 1,
        "ari": -0.05,
    }
    summary["scores"]["confusion"] = {
        "classes": ["cats", "dogs"],
        "clusters": [1, 0],
        "counts": [[17, 3], [0, 21]],
    }
    text = text_of(page_of(summary))
    for name, value in [
        ("Accuracy", "12.3"),
        ("NMI", "45.7"),
        ("Purity", "100.0"),
        ("Adjusted Rand index", "-5.0"),
    ]:
        assert re.search(rf"{name} ?{value}", text)
    page = page_of(summary)
    rows = re.findall(r"(?s)<tr>(.*?)</tr>", page)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    assert [[re.sub("<.*?>", "", c) for c in row] for row in cells[1:]] == [
        ["cats", "17", "3"],
        ["dogs", "", "21"],
    ]
    summary["scores"]["confusion"] = None
    assert "too large to show" in text_of(page_of(summary))


def test_without_duplicates_it_says_so(summary):
    summary.update(duplicates=[], duplicate_groups=0, duplicate_images=0)
    assert "no two images correlate by 99% or more" in text_of(page_of(summary))


def noisy_photos(n, side, seed=0):
    """Smooth colours and much noise, which no compression likes."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 255, size=(n, 6, 6, 3), dtype=np.uint8)
    noise = rng.normal(0, 30, size=(64, side, side, 3)).astype(np.int16)
    found = np.empty((n, side, side, 3), dtype=np.uint8)
    for i, picture in enumerate(found):
        smooth = np.asarray(Image.fromarray(small[i]).resize((side, side)))
        picture[:] = np.clip(smooth + noise[i % 64], 0, 255)
    return found


def test_five_thousand_noisy_photos_stay_under_15_megabytes(monkeypatch):
    n, k = 5000, 100
    thumbnails = noisy_photos(n, 96)
    images = thumbnails[:, ::6, ::6].astype(np.float32) / 255
    rng = np.random.default_rng(0)
    coefficients = rng.uniform(size=(n, k))
    clusters = np.arange(n) % k
    ones = np.ones(n) / 3
    model = TSNMF(k)
    model.left_projection_ = model.right_projection_ = np.eye(16)[:, :5]
    model.objective_history_ = np.linspace(2, 1, 50)
    nothing = {"mapping": None, "alignment": None}
    model.sample_shape_ = images.shape[1:]
    model.state_ = SimpleNamespace(
        **nothing,
        assessment=None,
        aligned=lambda stack: stack,
        projected=lambda stack: (stack.reshape(len(stack), -1),),
    )
    centroids = rng.uniform(size=(k, 64, 64, 3))
    monkeypatch.setattr(TSNMF, "inverse_transform", lambda self, codes: centroids)
    monkeypatch.setattr(
        "twofold.app.report.items.layout",
        lambda rows: rng.uniform(size=(len(rows), 2)),
    )
    paths = [
        Path(f"/somewhere/with/Pictures/2024/holiday/IMG_{i:05}.jpeg") for i in range(n)
    ]
    collection = Collection(
        title="photos",
        images=images,
        names=[str(path) for path in paths],
        paths=paths,
        target=clusters,
        target_names=[f"class {i}" for i in range(k)],
        thumbnails=thumbnails,
        thumbnail_sizes=np.full((n, 2), 96),
    )
    found = Assignments(coefficients, clusters, ones, ones, ones > 1)
    report = summarize(collection, model, found, ones, [], Path("out"))
    page = render(report).encode()
    assert len(report.items) == n
    assert page.count(b'class="tile"') >= n
    assert len(page) < 15_000_000
