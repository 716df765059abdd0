"""Other ways to cluster in a report: what is told, shown and refused."""

import copy
import json
import re
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from browsing import DESKTOP, PHONE, complaints, find, page_of, written

from twofold.app.report import near_duplicates, summarize
from twofold.app.report.clustering import Clustering
from twofold.app.report.sections.alternatives import (
    build_alternatives,
    select_alternatives,
)
from twofold.app.results import typical_orders
from twofold.channels import OrientedGradients
from twofold.estimators.search.alternatives import Alternative

SECTION = re.compile(r'(?s)<section aria-labelledby="alternatives">.*?</section>')
HOSTILE = "\"'><img src=x onerror=alert(1)><script>alert(1)</script>"


def alternative(labels, channels="gradients", **parameters):
    known = {
        **{"channels": channels, "graph": "heat", "n_neighbors": 5},
        **{"n_directions": 4, "energy_weight": 1.0},
    }
    return Alternative(known | parameters, 0.31234567, 0.123456, labels)


OTHER = np.repeat([4, 0, 1, 2, 3, 5], [30, 12, 8, 5, 3, 2])
"""Six clusters of 60 samples."""


def searched_for(*ways):
    """As much of a search as a report needs."""
    return SimpleNamespace(
        alternatives_=list(ways),
        search_results_={"n_clusters": []},
        n_clusters_=3,
        cluster_numbers_=None,
        children_=np.array([[0, 1], [2, 3]]),
        distances_=np.array([0.25, 0.5]),
        out_of_time_=False,
    )


@pytest.fixture(scope="module")
def clustering(arrays):
    """The clustering of ``arrays`` after a search."""
    found, typical = arrays.found, arrays.typical

    def made(*ways, shown=None, collection=arrays.collection):
        orders = typical_orders(found.clusters, typical)
        shown = np.arange(60) if shown is None else np.array(shown)
        parts = arrays.model, found, typical, orders, [], shown
        return Clustering(collection, *parts, searched_for(*ways))

    return made


def test_what_is_told_of_a_way(clustering, arrays):
    [way] = build_alternatives(clustering(alternative(OTHER, "fine_gradients")))
    assert (way.channels, way.graph) == ("fine_gradients", "heat")
    assert (way.score, way.agreement) == (0.3123, 0.1235)
    assert [strip.size for strip in way.clusters] == [30, 12, 8, 5]  # the largest
    for strip, cluster in zip(way.clusters, (4, 0, 1, 2), strict=True):
        assert len(strip.items) == len(set(strip.items)) == 5
        assert set(OTHER[strip.items]) == {cluster}
        # All three clusters of the report are among the first three images.
        if len(set(arrays.found.clusters[cluster == OTHER])) == 3:
            assert len(set(arrays.found.clusters[strip.items[:3]])) == 3
    assert len(set(arrays.found.clusters[OTHER == 4])) == 3


def test_the_first_image_is_the_most_typical_of_its_cluster(clustering, images):
    [way] = build_alternatives(clustering(alternative(OTHER)))
    rows = images.reshape(60, -1)
    for strip, cluster in zip(way.clusters, (4, 0, 1, 2), strict=True):
        members = np.flatnonzero(cluster == OTHER)
        scores = [(r - r.mean()) / r.std() for r in rows[members]]
        mean = np.mean(scores, axis=0)
        correlation = [np.corrcoef(rows[i], mean)[0, 1] for i in members]
        assert strip.items[0] == members[np.argmax(correlation)]


def test_samples_that_were_not_previewed_are_not_shown(clustering):
    labels = np.where(np.arange(60) % 2, OTHER, -1)
    [way] = build_alternatives(clustering(alternative(labels)))
    assert sum(strip.size for strip in way.clusters) <= 30
    assert all(i % 2 for strip in way.clusters for i in strip.items)


def test_a_transformer_is_named_by_its_class(clustering):
    [way] = build_alternatives(clustering(alternative(OTHER, OrientedGradients(6))))
    assert way.channels == "OrientedGradients"


def test_there_may_be_none(clustering, arrays):
    assert build_alternatives(clustering()) is None
    assert select_alternatives(arrays.collection, None, arrays.found.clusters) == set()


def test_images_of_a_way_are_shown_however_many_there_are(arrays, monkeypatch):
    monkeypatch.setattr("twofold.app.report.summary.MOST_SHOWN", 8)
    collection, clusters = arrays.collection, arrays.found.clusters
    search = searched_for(alternative(OTHER))
    wanted = select_alternatives(collection, search, clusters)
    assert len(wanted) == 20
    parts = collection, arrays.model, arrays.found, arrays.typical, []
    report = summarize(*parts, Path("out"), search)
    shown = {
        report.items[i].name
        for w in report.alternatives
        for s in w.clusters
        for i in s.items
    }
    assert shown == {collection.names[i] for i in wanted}


# The page


@pytest.fixture(scope="module")
def text(arrays):
    """The summary of a report with two other ways, as JSON."""
    collection = arrays.collection
    second = alternative(np.arange(60) % 2, "pixels", graph="subspace_knn")
    search = searched_for(alternative(OTHER), second)
    groups = near_duplicates(collection.images)
    parts = collection, arrays.model, arrays.found, arrays.typical, groups
    return msgspec.json.encode(summarize(*parts, Path("out"), search)).decode()


@pytest.fixture
def told(text):
    """The summary, which a test may spoil."""
    return json.loads(text)


def section_of(summary):
    return SECTION.search(page_of(summary))[0]


def words(html):
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_the_section(told, parsed):
    section = section_of(told)
    said = words(section)
    assert "These are 2 other ways to cluster" in said
    assert "By gradients, graph heat Score 0.312" in said
    assert "agreement with the clusters above 0.12" in said
    assert (
        "-k 3 --channels pixels --graph subspace_knn --neighbors 5 --directions 4 "
        "--energy-weight 1"
    ) in said
    assert "--align" not in said
    assert "5 of 30 images" in said
    tiles = [int(e.attrs["data-i"]) for e in parsed(section) if "data-i" in e.attrs]
    strips = [s for way in told["alternatives"] for s in way["clusters"]]
    assert tiles == [i for strip in strips for i in strip["items"]]
    told["alternatives"].pop()
    assert "This is another way to cluster, which stands out" in words(section_of(told))


def test_the_options_align_images_that_were_aligned(told):
    told["aligned"] = "shifts"
    assert words(section_of(told)).count("--energy-weight 1 --align shifts") == 2


def test_the_options_compare_by_what_was_compared(told):
    told["features"] = [4, 4, 4]
    said = words(section_of(told))
    assert said.count("-k 3 --features FILE --graph") == 2
    told["network"] = "my nets/own.onnx"
    said = words(section_of(told))
    assert said.count("-k 3 --network &#39;my nets/own.onnx&#39; --graph") == 2
    assert "--channels" not in said


def test_its_place(told, parsed):
    headings = [e.attrs.get("id") for e in parsed(page_of(told)) if e.tag == "h2"]
    assert headings.index("search") + 1 == headings.index("alternatives")


def test_it_is_there_only_if_there_is_another_way(summary):
    assert "alternatives" not in summary
    for plain in (summary, summary | {"alternatives": None}):
        assert SECTION.search(page_of(plain)) is None
        assert "#alternatives" not in page_of(plain)


# What a file may hold


@pytest.mark.parametrize("name", ["channels", "graph"])
@pytest.mark.parametrize("value", [HOSTILE, "heat; rm -rf x", "$(x)", "", "-k", "a\n"])
def test_names_for_a_command_line_are_plain(told, name, value):
    told["alternatives"][0][name] = value
    with pytest.raises(ValueError, match="Expected `str` matching regex"):
        page_of(told)


def test_images_that_are_not_there_are_refused(told):
    told["alternatives"][1]["clusters"][0]["items"][0] = 60
    with pytest.raises(ValueError, match="it names images that it does not have"):
        page_of(told)


def places(value, path=()):
    """The way to every value inside."""
    yield path
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in inside:
            yield from places(inner, (*path, key))


@pytest.mark.parametrize("odd", [HOSTILE, None, -1, 1e300, 2**53, True, [], {}])
def test_anything_in_any_place_is_refused_or_harmless(told, parsed, odd):
    scripts = sum(e.tag == "script" for e in parsed(page_of(told)))
    del told["alternatives"][1]
    for path in list(places(told["alternatives"]))[1:]:
        spoilt = copy.deepcopy(told)
        inside = spoilt["alternatives"]
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = odd
        try:
            page = page_of(spoilt)
        except ValueError:
            continue
        assert sum(e.tag == "script" for e in parsed(page)) == scripts
        assert not any(n.startswith("on") for e in parsed(page) for n in e.attrs)


# In a browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_has_no_complaints(opened, axe, told, tmp_path, scheme, viewport):
    file = written(told, tmp_path)
    page = opened(file, color_scheme=scheme, viewport=viewport)
    page.locator("#alternatives").scroll_into_view_if_needed()
    assert complaints(axe, page) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == viewport["width"]


def test_find_hides_strips_without_a_match(opened, told, tmp_path):
    page = opened(written(told, tmp_path))
    strips = [s["items"] for way in told["alternatives"] for s in way["clusters"]]
    wanted = strips[0][0]
    find(page, told["items"][wanted]["name"], 1)
    section = page.locator("section[aria-labelledby=alternatives]")
    shown = sum(wanted in strip for strip in strips)
    assert section.locator(".strip:visible").count() == shown < len(strips)
    find(page, "no such name", 0)
    assert section.locator(".strip:visible").count() == 0
    assert section.locator(".no-match").is_visible()
