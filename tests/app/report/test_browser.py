"""The page in a real browser, opened from disk with the network refused."""

import io
import os
import shutil
from urllib.parse import quote

import numpy as np
import pytest
from browsing import (
    PHONE,
    articles,
    clear,
    find,
    focused,
    items_of,
    largest,
    matching,
    styled,
    tiles,
    viewer_name,
    wait_for_original,
    written,
)
from PIL import Image

OUTLIERS, DUPLICATES = (
    f"section[aria-labelledby={name}]" for name in ("outliers", "duplicates")
)

# Finding and sorting.


def test_find_narrows_galleries_map_and_count(page, report):
    wanted = matching(report, "copy")
    assert len(wanted) == 3
    find(page, "COPY ", 3)
    shown = [i for n in articles(page) for i in tiles(page, f"#cluster-{n}")]
    assert sorted(shown) == wanted
    assert set(tiles(page, "main")) == set(wanted)
    points = page.eval_on_selector_all(
        "#plane circle",
        "all => all.flatMap((p, i) => p.classList.contains('faded') ? [] : [i])",
    )
    assert points == wanted
    assert page.text_content("#matches") == f"3 of {len(items_of(report))} images match"
    assert page.is_hidden("#nothing")
    visible = page.locator(".cluster:visible")
    assert visible.count() == len({items_of(report)[i]["cluster"] for i in wanted})
    clear(page)
    assert page.locator(".cluster:visible").count() == 3
    assert page.locator("#plane circle.faded").count() == 0


def test_a_match_that_was_clipped_is_shown(page, report):
    last = largest(report)["items"][-1]
    place = f"#cluster-{largest(report)['number']}"
    assert last not in tiles(page, place)
    name = items_of(report)[last]["name"]
    find(page, name, len(matching(report, name)))
    assert last in tiles(page, place)


def test_classes_are_found_too(page, report):
    known = [i for i, item in enumerate(items_of(report)) if item["class"] == "שורות"]
    find(page, "שורות", len(known))
    shown = [i for n in articles(page) for i in tiles(page, f"#cluster-{n}")]
    assert sorted(shown) == known
    assert len(known) == 14


def test_composed_letters_find_decomposed_ones(page, report):
    find(page, "café decomposed", 1)
    (shown,) = set(tiles(page, "main"))
    assert "cafe\u0301 decomposed" in items_of(report)[shown]["name"]


def test_nothing_found_is_said(page):
    find(page, "no such name", 0)
    assert page.is_visible("#nothing")
    assert page.locator(".tile:visible").count() == 0
    assert page.locator(".cluster:visible").count() == 0
    assert page.text_content("#matches").startswith("0 of ")


def test_a_list_without_a_match_says_so(page, report):
    note, groups = f"{DUPLICATES} .no-match", f"{DUPLICATES} .gallery:visible"
    listed = {i for group in report.summary["duplicates"] for i in group}
    (copy,) = matching(report, "copy 1")
    assert copy in listed
    other = next(i for i in largest(report)["items"] if i not in listed)
    before = page.locator(groups).count()
    assert before == len(report.summary["duplicates"]) > 1
    assert page.locator(".no-match:visible").count() == 0
    find(page, "copy 1", 1)
    assert page.locator(groups).count() == 1
    assert tiles(page, DUPLICATES) == [copy]
    assert page.is_hidden(note)
    clear(page)
    find(page, items_of(report)[other]["name"], 1)
    assert page.locator(groups).count() == 0
    assert page.text_content(note) == "No match here."
    assert page.is_visible(note)
    assert page.is_visible(f"{OUTLIERS} .no-match") != (
        other in report.summary["outliers"]
    )
    clear(page)
    assert page.locator(groups).count() == before
    assert page.locator(".no-match:visible").count() == 0


def test_without_outliers_it_says_so(opened, summary, tmp_path):
    summary["outliers"] = []
    page = opened(written(summary, tmp_path))
    assert "None stands out." in page.text_content(OUTLIERS)
    assert page.locator(f"{OUTLIERS} .gallery").count() == 0
    find(page, "no such name", 0)
    assert page.locator(f"{OUTLIERS} .no-match").count() == 0


def test_notes_name_the_file_of_duplicates_and_the_kind_of_nmi(page):
    assert "All groups are in duplicates.csv." in page.text_content(DUPLICATES)
    assert "the larger of the two entropies" in page.text_content(
        "section[aria-labelledby=scores]"
    )


def test_sorting(page, report):
    orders = {
        "largest": lambda c: -c["size"],
        "smallest": lambda c: c["size"],
        "tightest": lambda c: -c["tightness"],
        "loosest": lambda c: c["tightness"],
        "number": lambda c: c["number"],
    }
    for choice, key in orders.items():
        page.select_option("#sort", choice)
        known = [c["number"] for c in sorted(report.summary["clusters"], key=key)]
        assert articles(page) == known
        assert (
            tiles(page, ".cluster:first-child")
            == (report.summary["clusters"][known[0]]["items"][:32])
        )


def test_least_typical_first(page, report):
    page.select_option("#order", "untypical")
    for cluster in report.summary["clusters"]:
        shown = tiles(page, f"#cluster-{cluster['number']}")
        assert shown == cluster["items"][::-1][:32]
        first = page.locator(f"#cluster-{cluster['number']} .tile[tabindex='0']")
        assert first.count() == 1
        assert int(first.get_attribute("data-i")) == shown[0]
    page.select_option("#order", "typical")
    for cluster in report.summary["clusters"]:
        shown = tiles(page, f"#cluster-{cluster['number']}")
        assert shown == cluster["items"][:32]


def test_show_all(page, report):
    cluster = largest(report)
    place = f"#cluster-{cluster['number']}"
    more = page.locator(f"{place} .more")
    assert tiles(page, place) == cluster["items"][:32]
    assert more.text_content() == f"Show all {cluster['size']}"
    assert more.get_attribute("aria-expanded") == "false"
    more.click()
    assert tiles(page, place) == cluster["items"]
    assert more.get_attribute("aria-expanded") == "true"
    more.click()
    assert tiles(page, place) == cluster["items"][:32]
    for other in report.summary["clusters"]:
        button = page.locator(f"#cluster-{other['number']} .more")
        assert button.is_visible() == (other["size"] > 32)


def test_show_all_appears_when_the_window_gets_narrow(page, report):
    small = min(report.summary["clusters"], key=lambda cluster: cluster["size"])
    assert 12 < small["size"] <= 32
    button = page.locator(f"#cluster-{small['number']} .more")
    assert button.is_hidden()
    page.set_viewport_size(PHONE)
    button.wait_for(state="visible")
    button.click()
    assert tiles(page, f"#cluster-{small['number']}") == small["items"]


# An image enlarged.


def test_click_enlarges_arrows_step_and_escape_returns(page, report):
    cluster = largest(report)
    names = [items_of(report)[i]["name"] for i in cluster["items"]]
    tile = page.locator(f"#cluster-{cluster['number']} .tile").nth(1)
    tile.click()
    assert page.is_visible("#viewer")
    assert viewer_name(page) == names[1]
    for key, at in [("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2)]:
        page.keyboard.press(key)
        assert viewer_name(page) == names[at]
    page.keyboard.press("Escape")
    assert page.is_hidden("#viewer")
    assert focused(page) == str(cluster["items"][1])


def test_the_ends_of_a_gallery(page, report):
    group = report.summary["duplicates"][0]
    names = [items_of(report)[i]["name"] for i in group]
    page.locator(".groups .gallery").first.locator(".tile").first.click()
    assert viewer_name(page) == names[0]
    assert page.is_disabled("#previous")
    for _ in group:
        page.keyboard.press("ArrowRight")
    assert viewer_name(page) == names[-1]
    assert page.is_disabled("#next")
    assert float(styled(page, "#next", "opacity")) < 0.6
    assert styled(page, "#next", "cursor") == "default"
    assert styled(page, "#previous", "opacity") == "1"
    page.click("#previous")
    assert viewer_name(page) == names[-2]


def test_arrows_still_step_after_a_button_was_used_up(page, report):
    group = report.summary["duplicates"][0]
    assert len(group) == 2
    names = [items_of(report)[i]["name"] for i in group]
    page.locator(".groups .gallery").first.locator(".tile").first.click()
    page.click("#next")
    assert viewer_name(page) == names[1]
    assert page.is_disabled("#next")
    page.keyboard.press("ArrowLeft")
    assert viewer_name(page) == names[0]
    page.keyboard.press("Escape")
    assert page.is_hidden("#viewer")


def test_what_the_viewer_says(page, report):
    i = report.summary["outliers"][0]
    item = items_of(report)[i]
    page.locator("section[aria-labelledby=outliers] .tile").first.click()
    terms = page.locator("#viewer-facts dt").all_text_contents()
    facts = dict(
        zip(terms, page.locator("#viewer-facts dd").all_text_contents(), strict=True)
    )
    assert facts["Cluster"] == str(item["cluster"])
    assert facts["Class"] == item["class"]
    assert int(facts["Confidence"][:-1]) == pytest.approx(
        100 * item["confidence"], abs=0.5001
    )
    page.click("#close")
    assert page.is_hidden("#viewer")


def test_a_click_beside_the_viewer_closes_it(page):
    page.locator(".tile").first.click()
    page.mouse.click(5, 5)
    assert page.is_hidden("#viewer")


def test_the_original_is_shown_whatever_its_name(page, report):
    """Every file, stepping through all galleries."""
    seen = set()
    sizes = {}
    for cluster in report.summary["clusters"]:
        page.locator(f"#cluster-{cluster['number']} .tile").first.click()
        for i in cluster["items"]:
            wait_for_original(page, items_of(report)[i]["name"])
            sizes[i] = page.evaluate(
                "(() => { const im = document.getElementById('viewer-image');"
                " return [im.naturalWidth, im.naturalHeight]; })()"
            )
            assert viewer_name(page) == items_of(report)[i]["name"]
            seen.add(i)
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Escape")
    assert seen == set(range(len(items_of(report))))
    for i, path in enumerate(report.collection.paths):
        with Image.open(path) as image:
            assert sizes[i] == list(image.size)
    assert len({tuple(size) for size in sizes.values()}) == 2


def test_the_thumbnail_stays_where_the_file_is_gone(opened, report, tmp_path):
    alone = tmp_path / "elsewhere" / "report.html"
    alone.parent.mkdir()
    shutil.copy(report.page, alone)
    page = opened(alone)
    page.locator(".tile").first.click()
    page.wait_for_selector("#viewer-link", state="hidden")
    assert page.is_hidden("#viewer-image")
    box = page.locator("#viewer-thumb .thumb").bounding_box()
    assert box["width"] >= 200
    assert page.is_visible("#viewer-thumb .thumb")
    gone = [text for text in opened.wrong if "ERR_FILE_NOT_FOUND" in text]
    assert len(gone) == len(opened.wrong) == 1
    opened.wrong.clear()


def test_the_link_is_there_for_files_that_are(opened, report, summary, tmp_path):
    """The middle one of three is gone."""
    shown = [summary["items"][i] for i in summary["clusters"][0]["items"][:3]]
    paths = list(report.collection.paths[:3])
    paths[1] = paths[1].with_name("gone.png")
    for item, path in zip(shown, paths, strict=True):
        item["link"] = "file://" + quote(os.fsencode(path))
    page = opened(written(summary, tmp_path))
    page.locator("#cluster-0 .tile").first.click()
    wait_for_original(page, shown[0]["name"])
    for key in ("ArrowRight", "ArrowLeft"):
        assert page.is_visible("#viewer-link")
        page.keyboard.press(key)
        page.wait_for_selector("#viewer-link", state="hidden")
        assert page.is_hidden("#viewer-image")
        page.keyboard.press(key)
        item = shown[2 if key == "ArrowRight" else 0]
        wait_for_original(page, item["name"])
        assert page.get_attribute("#viewer-link", "href") == item["link"]
    assert page.is_visible("#viewer-link")
    assert all("ERR_FILE_NOT_FOUND" in text for text in opened.wrong)
    opened.wrong.clear()


def test_small_originals_keep_their_pixels(page, report):
    for name, kind in (("disc 02.png", "auto"), ("disc 00.png", "pixelated")):
        (i,) = matching(report, name)
        page.locator(f".cluster .tile[data-i='{i}']").click()
        wait_for_original(page, items_of(report)[i]["name"])
        assert styled(page, "#viewer-image", "imageRendering") == kind
        box = page.locator("#viewer-image").bounding_box()
        assert max(box["width"], box["height"]) == pytest.approx(256, abs=1)
        with Image.open(report.collection.paths[i]) as file:
            assert box["width"] / box["height"] == pytest.approx(
                file.width / file.height, rel=0.02
            )
        page.keyboard.press("Escape")


def test_thumbnails_are_the_images(page, report):
    """What is painted is the picture, not its neighbour on the sheet."""
    cluster = largest(report)
    for at in (0, 5, 20):
        i = cluster["items"][at]
        thumb = page.locator(f"#cluster-{cluster['number']} .thumb").nth(at)
        thumb.scroll_into_view_if_needed()
        with Image.open(io.BytesIO(thumb.screenshot())) as shot:
            with Image.open(report.collection.paths[i]) as file:
                known = np.asarray(file.convert("L").resize((40, 48)), float)
            shown = np.asarray(shot.convert("L").resize((40, 48)), float)
        inner = np.s_[4:-4, 4:-4]  # the corners are round
        assert np.corrcoef(shown[inner].ravel(), known[inner].ravel())[0, 1] > 0.97


# Odd names.


GLOBALS = """() => {
    const frame = document.createElement("iframe");
    document.body.append(frame);
    const clean = new Set(Object.getOwnPropertyNames(frame.contentWindow));
    frame.remove();
    return Object.getOwnPropertyNames(window).filter(name => !clean.has(name));
}"""


def test_odd_names_are_shown_exactly(page, report):
    assert page.title() == f"{report.summary['title']}: 3 clusters"
    assert page.text_content("h1") == report.summary["title"]
    labels = page.eval_on_selector_all(
        ".cluster .tile", "all => all.map(t => [Number(t.dataset.i), t.ariaLabel])"
    )
    assert dict(labels) == {i: item["name"] for i, item in enumerate(items_of(report))}
    skipped = page.locator(".skipped dd bdi").all_text_contents()
    assert sorted(skipped) == sorted(name for name, _ in report.summary["skipped"])
    classes = page.locator("tbody th").all_text_contents()
    assert classes == report.summary["scores"]["confusion"]["classes"]
    find(page, "<img src=x onerror=alert(1)>", 1)
    page.locator("#cluster-list .tile:visible").click()
    assert viewer_name(page).endswith("/<img src=x onerror=alert(1)>.png")
    assert page.locator("#viewer-name *").count() == 1  # the bdi alone


def test_no_name_reaches_the_window(page):
    ours = [name for name in page.evaluate(GLOBALS) if "laywright" not in name]
    assert ours == []
    assert page.evaluate("window.hit === undefined")
    assert page.locator("img[onerror], iframe, object, embed, script").count() == 2
    assert page.locator("img[src=x]").count() == 0
