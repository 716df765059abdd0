"""What a report says and shows of missing pixels."""

import dataclasses
import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from browsing import DESKTOP, PHONE, clear, complaints, find, page_of, written

from twofold import TSNMF
from twofold.app.collection import Collection
from twofold.app.report import near_duplicates, read_report, summarize
from twofold.app.report import summary as summary_module
from twofold.app.results import assign_trained, filled_in, typicality

MAGENTA = (255, 0, 200)
SECTION = re.compile(r'(?s)<section aria-labelledby="missing">.*?</section>')


def with_holes(images, step=3):
    """NaN in the first i % 29 entries of image i, but for every ``step``-th image."""
    X = images.astype(float)
    for i, row in enumerate(X.reshape(len(X), -1)):
        if i % step:
            row[: 1 + i % 29] = np.nan
    return X


def completed(X):
    """A collection of X, completed, and what else ``summarize`` takes."""
    model = TSNMF(3, missing_values=np.nan, random_state=0).fit(X)
    images, missing = filled_in(model, X)
    names = [f"a.npy[{i}]" for i in range(len(X))]
    collection = Collection(title="a", images=images, names=names, missing=missing)
    found = assign_trained(model, images, missing)
    return collection, model, found, typicality(images, found.clusters)


def summary_of(collection, model, found, typical):
    groups = near_duplicates(collection.images)
    report = summarize(collection, model, found, typical, groups, Path("out"))
    text = msgspec.json.encode(report)
    assert read_report(text) == report
    return json.loads(text)


@pytest.fixture(scope="module")
def holed(images):
    return with_holes(images)


@pytest.fixture(scope="module")
def parts(holed):
    return completed(holed)


@pytest.fixture(scope="module")
def text(parts):
    return json.dumps(summary_of(*parts))


@pytest.fixture
def incomplete(text):
    """The summary, which a test may spoil."""
    return json.loads(text)


# What it says


def test_shares_are_those_of_the_samples(incomplete, holed):
    shares = np.isnan(holed).mean(axis=(1, 2))
    found = incomplete["missing"]
    assert found["images"] == (shares > 0).sum() == 40
    assert found["share"] == pytest.approx(shares.mean(), abs=1e-4)
    assert found["least"] == pytest.approx(shares[shares > 0].min(), abs=1e-4)
    assert found["most"] == pytest.approx(shares.max(), abs=1e-4)


def test_an_even_choice_the_most_missing_first(incomplete, holed):
    shares = np.isnan(holed).mean(axis=(1, 2))
    pairs = incomplete["missing"]["pairs"]
    shown = [shares[pair["item"]] for pair in pairs]
    assert [pair["share"] for pair in pairs] == pytest.approx(shown, abs=1e-4)
    assert len({pair["item"] for pair in pairs}) == 12
    assert shown[0] == shares.max()
    assert shown[-1] == shares[shares > 0].min()
    ranks = np.sort(shares[shares > 0])[::-1]
    for share, place in zip(shown, np.linspace(0, 39, 12).astype(int), strict=True):
        assert share == ranks[place]


def test_before_has_holes_and_after_has_none(incomplete, holed, parts, pixels_of):
    images = parts[0].images
    low, high = np.quantile(images, [0.001, 0.999])
    for pair in incomplete["missing"]["pairs"]:
        gone = np.isnan(holed[pair["item"]])
        before, after = (pixels_of(pair[name]) for name in ("before", "after"))
        assert before.shape == after.shape == (7, 6, 3)
        np.testing.assert_array_equal((before == MAGENTA).all(axis=2), gone)
        np.testing.assert_array_equal(before[~gone], after[~gone])
        assert (np.ptp(after.astype(int), axis=2) == 0).all()  # grey
        unit = np.clip((images[pair["item"]] - low) / (high - low), 0, 1)
        assert np.abs(after[..., 0] - 255 * unit).max() <= 1


def test_few_incomplete_images_are_all_shown(images):
    found = summary_of(*completed(with_holes(images, step=2)[1:8]))["missing"]
    assert found["images"] == len(found["pairs"]) == 4
    assert [pair["item"] for pair in found["pairs"]] == [6, 4, 2, 0]


def test_colours_and_large_images(pixels_of):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(6, 200, 20, 3))
    X[2, :100, :, 1] = np.nan
    [pair] = summary_of(*completed(X))["missing"]["pairs"]
    before = pixels_of(pair["before"])
    assert before.shape == (128, 13, 3)
    assert (before[:60] == MAGENTA).all()
    assert pair["share"] == pytest.approx(1 / 6, abs=1e-4)


def test_vectors_have_no_pictures(images):
    found = summary_of(*completed(with_holes(images).reshape(60, -1)))
    assert found["missing"]["images"] == 40
    assert found["missing"]["pairs"] == []
    section = SECTION.search(page_of(found))[0]
    assert "Missing entries</h2>" in section
    assert "40 of 60 images have missing entries" in section
    assert "<img" not in section


def test_pairs_are_among_the_images_that_are_shown(parts, monkeypatch):
    monkeypatch.setattr(summary_module, "MOST_SHOWN", 30)
    found = summary_of(*parts)
    assert len(found["items"]) <= 30
    whole = [pair["share"] for pair in found["missing"]["pairs"]]
    names = [found["items"][p["item"]]["name"] for p in found["missing"]["pairs"]]
    shares = parts[0].missing.mean(axis=(1, 2))
    known = [shares[parts[0].names.index(name)] for name in names]
    assert whole == pytest.approx(known, abs=1e-4)
    assert whole[0] == pytest.approx(shares.max(), abs=1e-4)


def test_the_parameter_is_shown(incomplete):
    assert incomplete["parameters"]["missing_values"] == "nan"


# The page


def test_the_section_and_its_link_and_fact(incomplete, holed, parsed):
    page = page_of(incomplete)
    assert "<b>40</b> with missing pixels" in page
    section = SECTION.search(page)[0]
    share = 100 * np.isnan(holed).mean()
    assert f"40 of 60 images have missing pixels: {share:.1f}% of all" in section
    assert "from 2.4% to 69.0% of an image that has any" in section
    assert "an even choice of 12" in section
    links = [e.attrs.get("href") for e in parsed(page) if e.tag == "a"]
    assert links.index("#duplicates") + 1 == links.index("#missing")
    pictures = [e.attrs for e in parsed(section) if e.tag == "img"]
    assert len(pictures) == 24
    for before, after in zip(pictures[::2], pictures[1::2], strict=True):
        assert before["alt"].endswith(" before, missing pixels in magenta")
        assert after["alt"].endswith(" after, completed")


def test_one_incomplete_image(images):
    X = images.copy()
    X[7, 3, 3:5] = np.nan
    section = SECTION.search(page_of(summary_of(*completed(X))))[0]
    assert "1 of 60 images has missing pixels: 0.1% of all, and 4.8% of an" in section
    assert "even choice" not in section


def test_it_is_there_only_where_something_is_missing(summary, incomplete):
    assert "missing" not in summary
    for complete in (summary, summary | {"missing": None}):
        page = page_of(complete)
        assert SECTION.search(page) is None
        assert "missing pixels" not in page
        assert "#missing" not in page
    assert SECTION.search(page_of(incomplete))


def test_a_report_of_an_earlier_version_is_read(parts, text):
    """Its summary has no word on missing pixels, and is else the same."""
    collection = dataclasses.replace(parts[0], missing=None)
    earlier = summary_of(collection, *parts[1:])
    known = json.loads(text)
    del known["missing"]
    assert earlier == known
    assert page_of(earlier).startswith("<!doctype html>")


def test_names_are_escaped(incomplete, parsed):
    tags = [element.tag for element in parsed(page_of(incomplete))]
    for item in incomplete["items"]:
        item["name"] = "\"'><img src=x onerror=alert(1)><script>alert(1)</script>"
    assert [element.tag for element in parsed(page_of(incomplete))] == tags


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("item", 60, "names images that it does not have"),
        ("item", -1, "`int` >= 0"),
        ("item", "0", "got `str`"),
        ("share", None, "got `null`"),
        ("share", float("nan"), "malformed"),
        ("before", 'data:image/png;base64,A"><script>', "matching regex"),
        ("after", "https://example.org/x.png", "matching regex"),
        ("more", 1, "unknown field `more`"),
    ],
)
def test_what_cannot_be_is_refused(incomplete, key, value, message):
    incomplete["missing"]["pairs"][0][key] = value
    with pytest.raises(ValueError, match=message):
        page_of(incomplete)


@pytest.mark.parametrize("value", [0, [], {}, "x", {"images": 1}])
def test_another_thing_in_its_place_is_refused(incomplete, value):
    incomplete["missing"] = value
    with pytest.raises(ValueError, match="missing"):
        page_of(incomplete)


# In a browser


@pytest.fixture
def file(incomplete, tmp_path):
    return written(incomplete, tmp_path)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_has_no_complaints(opened, axe, file, scheme, viewport):
    page = opened(file, color_scheme=scheme, viewport=viewport)
    page.locator("#missing").scroll_into_view_if_needed()
    assert complaints(axe, page) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == viewport["width"]


def test_the_search_narrows_the_pairs(opened, file, incomplete):
    page = opened(file)
    shown = [pair["item"] for pair in incomplete["missing"]["pairs"]]
    pairs = page.locator(".pairs > li")
    assert pairs.count() == 12
    find(page, f"[{shown[3]}]", 1)
    assert page.locator(".pairs > li:visible").count() == 1
    assert page.is_visible(f'.pairs > li[data-i="{shown[3]}"]')
    clear(page)
    none = next(i for i in range(60) if i not in shown)
    find(page, f"[{none}]", 1)
    assert page.locator(".pairs > li:visible").count() == 0
    assert page.is_visible("section[aria-labelledby=missing] .no-match")
    clear(page)
    assert page.locator(".pairs > li:visible").count() == 12
    assert page.is_hidden("section[aria-labelledby=missing] .no-match")
