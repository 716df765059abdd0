"""The hierarchy of the clusters in a report: its data and picture, and forgeries."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from browsing import DESKTOP, PHONE, complaints, page_of, written
from scipy.cluster.hierarchy import dendrogram

from twofold import AutoTSNMF
from twofold.app.collection import Collection
from twofold.app.report import summarize
from twofold.app.report.sections.tree import Tree, build_tree
from twofold.app.results import assign_trained, typicality
from twofold.core.planted import merged_labels

SECTION = re.compile(r'(?s)<section aria-labelledby="tree">.*?</section>')
HOSTILE = "\"'><img src=x onerror=alert(1)><script>alert(1)</script>"


@pytest.fixture(scope="module")
def auto(images):
    options = {"channels": "pixels", "max_time": 0, "random_state": 0}
    return AutoTSNMF(4, **options).fit(images)


@pytest.fixture(scope="module")
def text(auto, images):
    """The summary of a search for four clusters, as JSON."""
    names = [f"a.npy[{i}]" for i in range(len(images))]
    collection = Collection(title="a", images=images, names=names)
    model = auto.best_estimator_
    found = assign_trained(model, images)
    parts = collection, model, found, typicality(images, found.clusters), []
    return msgspec.json.encode(summarize(*parts, Path("out"), auto)).decode()


@pytest.fixture
def searched(text):
    """The summary, which a test may spoil."""
    return json.loads(text)


def section_of(summary):
    return SECTION.search(page_of(summary))[0]


def words(html):
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def random_tree(k, seed):
    """Return a tree of random merges at rising distances."""
    rng, names, children = np.random.default_rng(seed), list(range(k)), []
    while len(names) > 1:
        pair = tuple(sorted(rng.choice(names, 2, replace=False).tolist()))
        names = [name for name in names if name not in pair] + [k + len(children)]
        children.append(pair)
    return Tree(children, np.sort(rng.uniform(size=k - 1)).tolist())


# What it is


def test_it_is_that_of_the_search(auto, searched):
    told = searched["tree"]
    assert told["children"] == auto.children_.tolist()
    assert told["distances"] == pytest.approx(auto.distances_, abs=1e-6)


@pytest.mark.parametrize(("k", "shown"), [(1, False), (2, False), (3, True)])
def test_few_clusters_need_none(k, shown):
    tree = random_tree(k, 0) if k > 1 else SimpleNamespace(children=[], distances=[])
    search = SimpleNamespace(
        children_=np.array(tree.children).reshape(-1, 2),
        distances_=np.array(tree.distances),
    )
    found = build_tree(SimpleNamespace(search=search))
    assert (found is not None) is shown
    assert build_tree(SimpleNamespace(search=None)) is None


@pytest.mark.parametrize(("k", "seed"), [(3, 0), (7, 1), (40, 2)])
def test_it_is_drawn_as_scipy_draws_it(k, seed):
    """But for the side of each branch: the same merges, joined at the same places."""
    tree = random_tree(k, seed)
    sizes = [len(members) for members in tree.members()]
    linked = np.column_stack([tree.children, tree.distances, sizes[k:]])
    drawn = dendrogram(linked, no_plot=True, count_sort=False, distance_sort=False)
    assert [cluster for cluster, _ in tree.leaves()] == drawn["leaves"]
    y = dict(tree.leaves())
    assert np.diff(list(y.values())).tolist() == [20] * (k - 1)
    width, height = tree.size
    assert 0 < min(y.values()) < max(y.values()) < height
    # SciPy puts the leaves at 5, 15, 25, ..., and merges at their distance.
    known = sorted(
        (round(max(d), 9), (i[0] - 5) / 10, (i[3] - 5) / 10)
        for i, d in zip(drawn["icoord"], drawn["dcoord"], strict=True)
    )
    branches, top = tree.branches(), min(y.values())
    found = sorted(
        (distance, *((at - top) / 20 for at in branch.at))
        for branch, distance in zip(branches, tree.distances, strict=True)
    )
    np.testing.assert_allclose(found, known, atol=1e-6)
    joined = np.array([branch.joined for branch in branches])
    lengths = joined - min(min(branch.begins) for branch in branches)
    expected = np.array(tree.distances) / tree.distances[-1]
    np.testing.assert_allclose(lengths / lengths[-1], expected, atol=2e-4)
    assert joined.max() <= width
    assert all(branch.joined >= max(branch.begins) for branch in branches)


@pytest.mark.parametrize("seed", range(3))
def test_the_steps_are_those_of_the_cuts(seed):
    tree = random_tree(9, seed)
    groups = {frozenset([i]) for i in range(9)}
    for left, one, other in tree.steps():
        groups -= {frozenset(one), frozenset(other)}
        groups.add(frozenset(one + other))
        assert len(groups) == left
        cut = merged_labels(np.arange(9), np.array(tree.children), left)
        by_label = {frozenset(np.flatnonzero(cut == label)) for label in set(cut)}
        assert by_label == groups


def test_merges_that_lose_nothing_are_drawn():
    tree = Tree([(0, 1), (2, 3)], [0.0, 0.0])
    assert len({branch.joined for branch in tree.branches()}) == 1


# The page


def test_the_section(searched, auto):
    section = section_of(searched)
    told = words(section)
    order = [int(c) for c in re.findall(r">Cluster (\d)</text>", section)]
    assert sorted(order) == [0, 1, 2, 3]
    links = re.findall(r'href="#cluster-(\d)"', section)
    assert [int(link) for link in links] == order
    assert section.count("<polyline") == 3
    first, second = auto.children_[0].tolist()
    assert f"{first} with {second}: 3 clusters left" in told
    assert told.endswith(": 1 cluster left")
    ys = [float(y) for y in re.findall(r'<text x="88" y="([\d.]+)"', section)]
    assert ys == sorted(ys)


def test_its_links_lead_to_the_clusters(searched, parsed):
    page = page_of(searched)
    ids = {e.attrs.get("id") for e in parsed(page)}
    for link in re.findall(r'href="#(cluster-\d)"', section_of(searched)):
        assert link in ids


def test_it_is_there_only_after_a_search(summary):
    assert "tree" not in summary
    for plain in (summary, summary | {"tree": None}):
        page = page_of(plain)
        assert SECTION.search(page) is None
        assert "#tree" not in page


# What a file may hold

RISING = [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("children", "distances", "message"),
    [
        ([[0, 1], [1, 4], [2, 5]], RISING, "does not merge each one once"),
        ([[0, 0], [1, 4], [2, 5]], RISING, "does not merge each one once"),
        ([[0, 1], [2, 5], [3, 4]], RISING, "does not merge each one once"),
        ([[0, 4], [1, 2], [3, 5]], RISING, "does not merge each one once"),
        ([[0, 1], [2, 4], [3, 6]], RISING, "does not merge each one once"),
        ([[0, 1], [2, 4], [3, 9]], RISING, "does not merge each one once"),
        ([[0, 1], [2, 3], [4, 5]], [0.1, 0.3, 0.2], "no ascending distances"),
        ([[0, 1], [2, 3], [4, 5]], [0.1, 0.2], "no ascending distances"),
        ([[0, 1], [2, 3], [4, 5]], [*RISING, 0.4], "no ascending distances"),
        ([[0, 1], [2, 3], [4, 5]], [-0.1, 0.2, 0.3], "distances below 0"),
        ([[0, 1], [2, 3], [4, 5]], [0.1, 0.2, float("inf")], "malformed"),
        ([[0, 1], [2, 3], [4, 5]], [0.1, 0.2, "far"], "got `str`"),
        ([[0, 1], [2, 3], [4, -5]], RISING, "`int` >= 0"),
        ([[0, 1, 2], [2, 3], [4, 5]], RISING, "of length 2"),
        ([[0, 1], [2, 3]], [0.1, 0.2], "hierarchy is not of its clusters"),
        (
            [[0, 1], [2, 3], [4, 5], [6, 7]],
            [0.1, 0.2, 0.3, 0.4],
            "does not merge each|hierarchy is not of its clusters",
        ),
        ([], [], "its hierarchy"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(searched, children, distances, message):
    searched["tree"] = {"children": children, "distances": distances}
    with pytest.raises(ValueError, match=message) as caught:
        page_of(searched)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [0, [], {}, "x", {"children": []}, HOSTILE])
def test_another_thing_in_its_place_is_refused(searched, value):
    searched["tree"] = value
    with pytest.raises(ValueError, match="tree"):
        page_of(searched)


@pytest.mark.parametrize("odd", [HOSTILE, None, -1, 1e300, 2**53, True, [], {}])
def test_anything_in_any_place_is_refused_or_harmless(searched, parsed, odd):
    scripts = sum(e.tag == "script" for e in parsed(page_of(searched)))
    for name in ("children", "distances"):
        for i in range(3):
            spoilt = json.loads(json.dumps(searched))
            spoilt["tree"][name][i] = odd
            try:
                page = page_of(spoilt)
            except ValueError:
                continue
            assert sum(e.tag == "script" for e in parsed(page)) == scripts
            assert "Infinity" not in page
            assert "nan" not in SECTION.search(page)[0]


# In a browser


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_has_no_complaints(opened, axe, searched, tmp_path, viewport):
    page = opened(written(searched, tmp_path), viewport=viewport)
    page.locator("#tree").scroll_into_view_if_needed()
    assert complaints(axe, page) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == viewport["width"]
