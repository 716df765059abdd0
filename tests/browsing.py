"""What tests of the report do and see in a browser."""

import json

from twofold.app.report import read_report, render

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


def items_of(report):
    return report.summary["items"]


def report_of(summary):
    """The report, given as the values of its JSON."""
    return read_report(json.dumps(summary).encode())


def page_of(summary):
    """Its page."""
    return render(report_of(summary))


def written(summary, folder):
    """The same page as a file."""
    file = folder / "report.html"
    file.write_text(page_of(summary), encoding="utf-8")
    return file


def find(page, text, count):
    """Search, until the page says that so many images match."""
    page.fill("#find", text)
    wait_for_matches(page, count)


def clear(page):
    """Search for nothing, until all images are back."""
    page.fill("#find", "")
    page.wait_for_function(
        "() => document.querySelector('#matches').textContent === ''"
    )


def wait_for_matches(page, count):
    page.wait_for_function(
        "start => document.querySelector('#matches').textContent.startsWith(start)",
        arg=f"{count} of ",
    )


def wait_for_original(page, name):
    page.wait_for_function(
        "name => [...document.querySelectorAll('#viewer-image:not([hidden])')]"
        ".some(image => image.alt === name)",
        arg=name,
    )


def matching(report, text):
    """The images of which the name has such a part."""
    names = [item["name"] for item in items_of(report)]
    return [i for i, name in enumerate(names) if text in name]


def styled(page, selector, name):
    """What a property is of the first such element, in the end."""
    return page.eval_on_selector(
        selector, "(found, name) => getComputedStyle(found)[name]", name
    )


def tiles(page, within):
    """The images of the visible tiles inside, in order."""
    return page.eval_on_selector_all(
        f"{within} .tile",
        "all => all.filter(t => t.offsetParent !== null).map(t => Number(t.dataset.i))",
    )


def articles(page):
    return page.eval_on_selector_all(
        ".cluster", "all => all.map(a => Number(a.dataset.number))"
    )


def largest(report):
    return max(report.summary["clusters"], key=lambda cluster: cluster["size"])


def complaints(axe, page):
    """What axe-core finds wrong, and where."""
    return [
        (found["id"], [node["html"][:120] for node in found["nodes"][:3]])
        for found in axe.run(page).response["violations"]
    ]


def focused(page):
    return page.evaluate("document.activeElement.dataset.i ?? null")


def viewer_name(page):
    return page.text_content("#viewer-name")
