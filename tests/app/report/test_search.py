"""What a report says of how the settings and the number of clusters were chosen."""

import copy
import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from browsing import DESKTOP, PHONE, complaints, page_of, written

from twofold import AutoTSNMF
from twofold.app.collection import Collection
from twofold.app.report import near_duplicates, summarize
from twofold.app.report.sections.search import describe_search
from twofold.app.results import assign_trained, typicality

SECTION = re.compile(r'(?s)<section aria-labelledby="search">.*?</section>')
HOSTILE = "\"'><img src=x onerror=alert(1)></td></table><script>alert(1)</script>"


@pytest.fixture(scope="module")
def auto(images):
    return AutoTSNMF(range(2, 6), random_state=0).fit(images)


@pytest.fixture(scope="module")
def text(auto, images):
    """The summary of a search, as JSON."""
    names = [f"a.npy[{i}]" for i in range(len(images))]
    collection = Collection(title="a", images=images, names=names)
    model = auto.best_estimator_
    found = assign_trained(model, images)
    typical, groups = typicality(images, found.clusters), near_duplicates(images)
    parts = collection, model, found, typical, groups
    text = msgspec.json.encode(summarize(*parts, Path("out"), auto)).decode()
    assert "search" not in msgspec.to_builtins(summarize(*parts, Path("out")))
    return text


@pytest.fixture
def searched(text):
    """The summary, which a test may spoil."""
    return json.loads(text)


def section_of(summary):
    return SECTION.search(page_of(summary))[0]


def words(html):
    """What is written in a part of a page."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def cells(section):
    """The table of trials: a list for each row."""
    rows = re.findall(r"(?s)<tr>(.*?)</tr>", section.replace("<wbr>", ""))
    return [re.findall(r"(?s)<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


# What it says


def test_the_best_looks_and_the_fit(auto, searched):
    columns = auto.search_results_
    rows = [
        dict(zip(columns, values, strict=True))
        for values in zip(*columns.values(), strict=True)
    ]
    mine = [row for row in rows if row["n_clusters"] == auto.n_clusters_]
    previews = [row for row in mine if row["stage"] == "preview"]
    told = searched["search"]
    assert told["tried"] == len(previews)
    assert 10 < len(previews) < len(rows)
    by_score = sorted((row["score"] for row in previews), reverse=True)
    shown = [trial["score"] for trial in told["previews"]]
    assert shown == pytest.approx(by_score[:10], abs=1e-4)
    for trial in told["previews"]:
        assert any(
            all(row[name] == trial[name] for name in trial if name != "score")
            and row["score"] == pytest.approx(trial["score"], abs=1e-4)
            for row in previews
        )
    [fit] = told["fits"]
    best = auto.best_estimator_
    assert (fit["graph"], fit["n_directions"]) == (best.graph, best.n_directions)
    assert fit["energy_weight"] == best.energy_weight
    assert fit["score"] == pytest.approx(auto.best_score_, abs=1e-4)
    assert told["out_of_time"] is False
    assert "seconds" not in json.dumps(told)


def test_the_curve_of_the_numbers(auto, searched):
    curve, told = auto.cluster_numbers_, searched["search"]["numbers"]
    assert told["numbers"] == [2, 3, 4, 5]
    assert told["scores"] == pytest.approx(curve.scores)
    assert told["chosen"] == auto.n_clusters_ == 3
    assert told.get("confidence") is None
    assert tuple(told["likely"]) == curve.likely


def test_one_number_of_clusters_has_no_curve(images, searched):
    auto = AutoTSNMF(3, max_time=0, random_state=0).fit(images)
    alone = msgspec.to_builtins(describe_search(auto, Collection("x", images, [])))
    assert alone["numbers"] is None
    assert alone["out_of_time"] is True
    assert alone["tried"] == len(alone["previews"]) == 1
    searched["search"] = alone
    section = section_of(searched)
    assert "1 candidate was previewed, until the time was up, and" in words(section)
    assert "<svg" not in section
    assert "How many clusters" not in section
    assert "how sure that is" not in page_of(searched)


# The page


def test_the_table(searched):
    section, told = section_of(searched), searched["search"]
    assert f"{told['tried']} candidates were previewed" in section
    assert "the modularity of its clusters beyond that of a graph" in section
    header, *rows = cells(section)
    assert header == ["", "channels", "graph", "directions", "energy weight", "score"]
    assert [row[0] for row in rows] == [*(f"Preview {i}" for i in range(1, 11)), "Fit"]
    for row, trial in zip(rows, [*told["previews"], *told["fits"]], strict=True):
        assert row[1] == trial["channels"] == "pixels"
        assert row[2:4] == [trial["graph"], str(trial["n_directions"])]
        assert float(row[4]) == trial["energy_weight"]
        assert row[5] == f"{trial['score']:.3f}"
    assert "The best previews, and what was fitted" in section
    assert section.count('scope="col"') == 5
    assert section.count('scope="row"') == 11


def test_a_file_of_old_has_pixels(searched):
    for trial in searched["search"]["previews"] + searched["search"]["fits"]:
        trial["graph"] = "heat"
        del trial["channels"]
    assert {row[1] for row in cells(section_of(searched))[1:]} == {"pixels"}


def test_of_several_fits_the_best_is_the_one_that_was_kept(searched):
    told = searched["search"]
    told["fits"] = [told["fits"][0] | {"score": score} for score in (0.5, 0.4)]
    names = [row[0] for row in cells(section_of(searched))]
    assert names[-2:] == ["Fit, kept", "Fit"]


def test_its_place_and_its_links(searched, parsed):
    page = page_of(searched)
    links = [e.attrs.get("href") for e in parsed(page) if e.tag == "a"]
    after = links.index("#map")
    assert links[after : after + 3] == ["#map", "#tree", "#search"]
    assert links.count("#search") == 2  # one beside the number of clusters
    headings = [e.attrs.get("id") for e in parsed(page) if e.tag == "h2"]
    after = headings.index("map")
    assert headings[after : after + 3] == ["map", "tree", "search"]


def test_it_is_there_only_after_a_search(summary):
    assert "search" not in summary
    for plain in (summary, summary | {"search": None}):
        page = page_of(plain)
        assert SECTION.search(page) is None
        assert "#search" not in page


def test_graphs_that_could_not_be_compared(searched):
    told = searched["search"]
    told |= {"tried": 0, "previews": [], "numbers": None}
    unknown = dict.fromkeys(("score", "n_directions", "energy_weight"))
    told["fits"] = [told["fits"][0] | unknown]
    section = section_of(searched)
    assert "there was nothing to compare, and the defaults were fitted" in section
    assert "<table" not in section
    told["previews"] = told["fits"]
    assert cells(section_of(searched))[1][3:] == ["default", "default", "unknown"]


# The chart


def test_the_chart_shows_the_chosen_and_the_likely_numbers(searched, parsed):
    numbers = [2, 3, 4, 6, 9, 14, 60]
    searched["search"]["numbers"] = {
        "numbers": numbers,
        "scores": [0.1, 0.3, 0.45, 0.5, 0.48, 0.4, -0.1],
        "chosen": 6,
        "likely": [4, 9],
    }
    section = section_of(searched)
    elements = parsed(section)
    points = [e.attrs for e in elements if e.tag == "circle"]
    across = [float(point["cx"]) for point in points]
    assert np.allclose(np.diff(across) / np.diff(numbers), np.ptp(across) / 58, atol=1)
    heights = [float(point["cy"]) for point in points]
    assert np.argsort(heights).tolist() == [3, 4, 2, 5, 1, 0, 6]  # y grows downwards
    [line] = [e.attrs for e in elements if e.attrs.get("class") == "chosen"]
    assert line["x1"] == line["x2"] == points[3]["cx"]
    [band] = [e.attrs for e in elements if e.attrs.get("class") == "likely"]
    left, right = (float(points[i]["cx"]) for i in (2, 4))
    assert float(band["x"]) < left < right < float(band["x"]) + float(band["width"])
    [chart] = [e.attrs for e in elements if e.tag == "svg"]
    assert chart["role"] == "img"
    assert chart["aria-label"] == (
        "Score by number of clusters, from 2 to 60: 6 chosen, likely from 4 to 9"
    )


@pytest.mark.parametrize(
    ("likely", "unsure"),
    [((3, 4), False), ((2, 4), False), ((2, 5), True), ((3, 5), False)],
)
def test_it_says_how_sure_the_number_is(searched, likely, unsure):
    """Half as many again as the smallest number, or two more, are no wide range."""
    searched["search"]["numbers"] |= {"likely": likely}
    said = words(section_of(searched))
    low, high = likely
    assert f"; likely are {low} to {high}, the range of those that score" in said
    unclear = "the images do not say clearly how many clusters there are" in said
    assert unclear == unsure


def test_a_file_of_old_may_have_a_confidence_in_the_number(searched):
    plain = section_of(searched)
    searched["search"]["numbers"]["confidence"] = 0.62
    assert section_of(searched) == plain


def test_a_single_likely_number(searched):
    searched["search"]["numbers"]["likely"] = [3, 3]
    assert "; no other of them is likely." in words(section_of(searched))


# What a file may hold


def test_what_it_says_is_escaped(searched, parsed):
    def tags_of(page):
        # A name may be broken after an underscore.
        return [element.tag for element in parsed(page) if element.tag != "wbr"]

    tags = tags_of(page_of(searched))
    for trial in searched["search"]["previews"] + searched["search"]["fits"]:
        trial["graph"] = trial["channels"] = HOSTILE
    page = page_of(searched)
    assert tags_of(page) == tags
    assert "<script>alert" not in page


def places(value, path=()):
    """The way to every value inside."""
    yield path
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in inside:
            yield from places(inner, (*path, key))


@pytest.mark.parametrize("odd", [HOSTILE, None, -1, 1e300, 2**53, True, [], {}])
def test_anything_in_any_place_is_refused_or_harmless(searched, parsed, odd):
    scripts = sum(e.tag == "script" for e in parsed(page_of(searched)))
    for path in list(places(searched["search"]))[1:]:
        spoilt = copy.deepcopy(searched)
        inside = spoilt["search"]
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = odd
        try:
            page = page_of(spoilt)
        except ValueError:
            continue
        assert sum(e.tag == "script" for e in parsed(page)) == scripts
        assert not any(n.startswith("on") for e in parsed(page) for n in e.attrs)


@pytest.mark.parametrize(
    ("where", "key", "value", "message"),
    [
        ((), "tried", "many", "got `str`"),
        ((), "out_of_time", 1, "got `int`"),
        ((), "more", 1, "unknown field `more`"),
        ((), "previews", None, "got `null` - at .*search.previews"),
        (("previews", 0), "graph", 3, "got `int`"),
        (("previews", 0), "score", float("nan"), "malformed"),
        (("previews", 0), "score", True, "got `bool`"),
        (("fits", 0), "n_directions", 1.5, "got `float`"),
        (("numbers",), "numbers", [], "do not rise"),
        (("numbers",), "numbers", [2, 3, 3, 5], "do not rise"),
        (("numbers",), "numbers", [5, 4, 3, 2], "do not rise"),
        (("numbers",), "scores", [0.1], "do not rise, each with a score"),
        (("numbers",), "scores", [0.1, 0.2, 0.3, float("inf")], "malformed"),
        (("numbers",), "chosen", 7, "none of those tried"),
        (("numbers",), "likely", [3, 9], "none of those tried"),
        (("numbers",), "likely", [4, 3], "no range"),
        (("numbers",), "likely", [3], "`array` of length 2"),
        (("numbers",), "confidence", "high", "got `str`"),
    ],
)
def test_what_cannot_be_is_refused(searched, where, key, value, message):
    inside = searched["search"]
    for step in where:
        inside = inside[step]
    inside[key] = value
    with pytest.raises(ValueError, match=message):
        page_of(searched)


@pytest.mark.parametrize("value", [0, [], {}, "x", {"tried": 1}])
def test_another_thing_in_its_place_is_refused(searched, value):
    searched["search"] = value
    with pytest.raises(ValueError, match="search"):
        page_of(searched)


# In a browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_has_no_complaints(opened, axe, searched, tmp_path, scheme, viewport):
    file = written(searched, tmp_path)
    page = opened(file, color_scheme=scheme, viewport=viewport)
    page.locator("#search").scroll_into_view_if_needed()
    assert complaints(axe, page) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == viewport["width"]


def test_the_table_fits_on_a_phone(opened, searched, tmp_path):
    for trial in searched["search"]["previews"]:
        trial["channels"] = "fine_gradients"  # the longest name
    page = opened(written(searched, tmp_path), viewport=PHONE)
    widths = page.eval_on_selector(
        "section[aria-labelledby=search] .scroll",
        "found => [found.scrollWidth, found.clientWidth]",
    )
    assert widths[0] <= widths[1]
