"""The page for everybody: by keyboard, in light and dark, on a phone, to axe-core."""

import numpy as np
import pytest
from browsing import (
    DESKTOP,
    PHONE,
    complaints,
    find,
    focused,
    items_of,
    largest,
    matching,
    styled,
    viewer_name,
    wait_for_matches,
    wait_for_original,
    written,
)

# By keyboard.


def test_slash_goes_to_the_search(page):
    page.locator(".tile").first.focus()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.type("a/b")
    assert page.input_value("#find") == "a/b"


def test_slash_does_nothing_while_an_image_is_enlarged(page):
    page.locator(".tile").first.click()
    taken = 'new Promise(done => addEventListener("keydown", done))'
    page.evaluate(f"() => {{ window.taken = {taken}.then(e => e.defaultPrevented) }}")
    page.keyboard.press("/")
    assert page.evaluate("taken") is False
    assert page.evaluate("document.activeElement.id") != "find"
    assert page.is_visible("#viewer")
    page.keyboard.press("Escape")
    assert page.input_value("#find") == ""


def test_enter_in_the_search_does_not_leave_the_page(page):
    page.fill("#find", "copy")
    sent = 'new Promise(done => addEventListener("submit", done))'
    page.evaluate(f"() => {{ window.sent = {sent}.then(e => e.defaultPrevented) }}")
    page.keyboard.press("Enter")
    assert page.evaluate("sent") is True
    wait_for_matches(page, 3)
    assert page.input_value("#find") == "copy"


def test_a_gallery_is_one_stop_with_arrows_inside(page, report):
    cluster = largest(report)
    place = f"#cluster-{cluster['number']}"
    stops = page.eval_on_selector_all(
        ".gallery",
        "all => all.map(g => [...g.querySelectorAll('.tile')]"
        ".filter(t => t.tabIndex === 0).length)",
    )
    assert set(stops) == {1}
    page.locator(f"{place} .tile").first.focus()
    for key, at in [("ArrowRight", 1), ("ArrowDown", 2), ("ArrowLeft", 1), ("End", 31)]:
        page.keyboard.press(key)
        assert focused(page) == str(cluster["items"][at])
    page.keyboard.press("ArrowRight")  # there is none
    assert focused(page) == str(cluster["items"][31])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "more"
    page.keyboard.press("Shift+Tab")
    assert focused(page) == str(cluster["items"][31])
    page.keyboard.press("Home")
    assert focused(page) == str(cluster["items"][0])
    page.keyboard.press("Enter")
    assert viewer_name(page) == items_of(report)[cluster["items"][0]]["name"]


def test_show_fewer_keeps_the_gallery_within_reach(page, report):
    place = f"#cluster-{largest(report)['number']}"
    more = page.locator(f"{place} .more")
    more.click()
    page.locator(f"{place} .tile").last.focus()
    more.click()
    stop = page.locator(f"{place} .tile[tabindex='0']")
    assert stop.count() == 1
    assert stop.is_visible()


def test_many_groups_of_near_duplicates_are_folded(opened, summary, tmp_path):
    summary["duplicates"] = [[i, i + 1] for i in range(0, 30, 2)]
    page = opened(written(summary, tmp_path))
    groups, more = page.locator(".groups > *"), page.locator("#duplicates ~ * .more")
    shown = groups.filter(visible=True)
    assert (groups.count(), shown.count()) == (15, 12)
    assert more.text_content() == "Show all 15"
    more.click()
    assert shown.count() == 15
    more.click()
    assert shown.count() == 12


def test_the_skip_link_is_first(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#clusters"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#clusters"


# The map.


def point_at(page, i):
    page.locator("#plane").scroll_into_view_if_needed()
    box = page.locator("#plane circle").nth(i).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def distances(report):
    """Between the points of the map, of which the side is 1; infinite to itself."""
    places = np.array([[item["x"], item["y"]] for item in items_of(report)])
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    return apart


def test_the_map_by_pointer(page, report):
    apart = distances(report)
    for i in np.argsort(-apart.min(axis=1))[:3].tolist():
        point_at(page, i)
        item = items_of(report)[i]
        assert page.text_content("#tip bdi") == item["name"]
        assert f"Cluster {item['cluster']}," in page.text_content("#tip")
        assert page.locator("#tip .thumb").is_visible()
        tip, plane = (page.locator(s).bounding_box() for s in ("#tip", "#plane"))
        assert tip["x"] >= plane["x"] - 1
        assert tip["x"] + tip["width"] <= DESKTOP["width"]
    page.mouse.down()
    page.mouse.up()
    assert viewer_name(page) == item["name"]
    page.keyboard.press("Escape")
    page.mouse.move(2, 2)
    assert page.is_hidden("#tip")


def test_the_nearest_of_several_points_is_chosen(page, report):
    """Two that are both within reach, from the side of each."""
    apart = distances(report)
    apart[apart.min(axis=1) < 0.005] = np.inf  # one that lies below another
    apart[:, np.isinf(apart).all(axis=1)] = np.inf
    pair = np.unravel_index(apart.argmin(), apart.shape)
    assert apart[pair] < 0.03
    for i in (*pair, *pair):
        point_at(page, int(i))
        assert page.text_content("#tip bdi") == items_of(report)[i]["name"]
        assert page.locator("#plane .chosen").count() == 1


def test_from_the_map_the_whole_cluster_can_be_stepped_through(page, report):
    cluster = largest(report)
    page.select_option("#order", "untypical")
    order = cluster["items"][::-1]
    page.locator("#plane").focus()
    page.keyboard.press("ArrowRight")
    while page.text_content("#tip bdi") != items_of(report)[order[1]]["name"]:
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    for key, at in [("ArrowRight", 2), ("ArrowLeft", 1), ("ArrowLeft", 0)]:
        page.keyboard.press(key)
        assert viewer_name(page) == items_of(report)[order[at]]["name"]
    assert page.is_disabled("#previous")
    for _ in order:
        page.keyboard.press("ArrowRight")
    assert viewer_name(page) == items_of(report)[order[-1]]["name"]


def test_from_the_map_only_what_was_found_is_stepped_through(page, report):
    cluster = largest(report)
    wanted = [i for i in cluster["items"] if i in matching(report, "copy")]
    assert len(wanted) > 1
    find(page, "copy", 3)
    point_at(page, wanted[0])
    page.mouse.down()
    page.mouse.up()
    assert viewer_name(page) == items_of(report)[wanted[0]]["name"]
    assert page.is_disabled("#previous")
    for _ in wanted:
        page.keyboard.press("ArrowRight")
    assert viewer_name(page) == items_of(report)[wanted[-1]]["name"]
    assert page.is_disabled("#next")


def test_a_point_that_does_not_match_is_let_go(page, report):
    (wanted,) = matching(report, "copy 1")
    point_at(page, next(i for i in largest(report)["items"] if i != wanted))
    assert page.is_visible("#tip")
    find(page, "copy 1", 1)
    assert page.is_hidden("#tip")


def test_the_map_by_keyboard(page, report):
    page.locator("#plane").focus()
    order = [
        i
        for c in sorted({item["cluster"] for item in items_of(report)})
        for i, item in enumerate(items_of(report))
        if item["cluster"] == c
    ]
    for key, at in [
        ("ArrowRight", 0),
        ("ArrowDown", 1),
        ("ArrowLeft", 0),
        ("ArrowUp", -1),
    ]:
        page.keyboard.press(key)
        assert page.text_content("#tip bdi") == items_of(report)[order[at]]["name"]
    page.keyboard.press("Enter")
    assert page.is_visible("#viewer")
    assert viewer_name(page) == items_of(report)[order[-1]]["name"]
    page.keyboard.press("Escape")
    assert page.is_hidden("#viewer")
    assert page.evaluate("document.activeElement.id") == "plane"
    page.keyboard.press("Tab")
    assert page.is_hidden("#tip")


def test_the_map_of_samples_without_files(opened, summary, tmp_path):
    page = opened(written(summary, tmp_path))
    page.locator("#plane").focus()
    page.keyboard.press("ArrowRight")
    name = page.text_content("#tip bdi")
    page.keyboard.press("Enter")
    assert page.is_visible("#viewer")
    assert viewer_name(page) == name
    assert page.is_hidden("#viewer-link")
    assert page.is_hidden("#viewer-image")
    assert page.is_visible("#viewer-thumb .thumb")


def test_the_map_steps_through_what_was_found(page, report):
    wanted = matching(report, "copy")
    find(page, "copy", len(wanted))
    page.locator("#plane").focus()
    seen = []
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        seen.append(page.text_content("#tip bdi"))
    assert seen[3] == seen[0]
    assert set(seen) == {items_of(report)[i]["name"] for i in wanted}


# Light and dark, small and large.


def luminance(page):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(float(part) for part in colour[4:-1].split(",")[:3])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_button(opened, scheme):
    page = opened(color_scheme=scheme)
    first = luminance(page)
    assert (first > 600) == (scheme == "light")
    other = "Dark" if scheme == "light" else "Light"
    assert page.text_content("#theme") == other
    page.click("#theme")
    assert (luminance(page) > 600) == (scheme == "dark")
    assert page.text_content("#theme") == scheme.capitalize()
    page.click("#theme")
    assert luminance(page) == first


def test_every_picture_has_an_outline(page, report):
    """White ones would not be seen in light mode, nor black ones in dark."""
    page.locator("#plane").focus()
    page.keyboard.press("ArrowRight")
    seen = ["#cluster-0 .thumb", "#tip .thumb", ".centroid", ".views img"]
    outlines = {styled(page, selector, "boxShadow") for selector in seen}
    page.keyboard.press("Enter")
    wait_for_original(page, viewer_name(page))
    seen = ["#viewer-thumb .thumb", "#viewer-image"]
    outlines |= {styled(page, selector, "boxShadow") for selector in seen}
    assert outlines == {"rgb(228, 224, 218) 0px 0px 0px 1px"}


def test_the_smallest_images_can_be_clicked(opened, summary, tmp_path):
    i, j = summary["clusters"][0]["items"][:2]
    summary["sheets"]["places"][i][3:] = [1, 1]
    summary["sheets"]["places"][j][3:] = [60, 1]
    page = opened(written(summary, tmp_path))
    for at, (width, height) in enumerate([(24, 24), (60, 24)]):
        tile = page.locator("#cluster-0 .tile").nth(at)
        box = tile.bounding_box()
        assert box["width"] >= width
        assert box["height"] >= height
        tile.click(position={"x": 2, "y": 2})
        assert page.is_visible("#viewer")
        page.keyboard.press("Escape")


def test_pictures_keep_their_proportions(opened, summary, tmp_path):
    page = opened(written(summary, tmp_path))
    height, width = summary["shape"]
    assert height != width
    for picture in page.locator(".centroid, .views img").all():
        box = picture.bounding_box()
        assert box["width"] / box["height"] == pytest.approx(width / height, rel=0.01)
        background = picture.evaluate("p => getComputedStyle(p).backgroundColor")
        assert background == "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("width", [320, 390, 768])
def test_nothing_scrolls_sideways(opened, width):
    page = opened(viewport={"width": width, "height": 800})
    page.locator(".skipped summary").click()
    page.locator("footer summary").click()
    inner = page.evaluate("document.documentElement.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= inner == width
    for link in page.locator("nav a").all():
        box = link.bounding_box()
        assert box["x"] + box["width"] <= width
    page.locator(".tile").first.click()
    box = page.locator("#viewer").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert page.evaluate(
        "(v => v.scrollWidth <= v.clientWidth)(document.getElementById('viewer'))"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_has_no_complaints(opened, axe, scheme, viewport):
    page = opened(color_scheme=scheme, viewport=viewport)
    page.locator(".skipped summary").click()
    page.locator("footer summary").click()
    assert complaints(axe, page) == []
    page.locator(".tile").first.click()
    page.wait_for_selector("#viewer-image:not([hidden])")
    assert complaints(axe, page) == []


def test_axe_has_no_complaints_about_what_comes_and_goes(page, axe):
    page.locator("#plane").focus()
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#tip")
    page.evaluate("document.querySelector('.more:not([hidden])').click()")
    assert complaints(axe, page) == []
    find(page, "copy", 3)
    page.locator("#plane").focus()
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#tip")
    assert complaints(axe, page) == []
    find(page, "no such name", 0)
    assert complaints(axe, page) == []


def test_without_scripts_all_images_are_there(opened, report):
    page = opened(java_script_enabled=False)
    for cluster in report.summary["clusters"]:
        thumbs = page.locator(f"#cluster-{cluster['number']} .thumb")
        assert thumbs.count() == cluster["size"]
        assert all(thumb.is_visible() for thumb in thumbs.all())
    assert page.locator("#tools").is_hidden()
    assert page.locator("#plane circle").count() == len(items_of(report))
