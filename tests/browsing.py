"""What tests of the report do and see in a browser."""

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


def items_of(report):
    return report.summary["items"]


def find(page, text):
    page.fill("#find", text)
    page.wait_for_function(
        "text => document.getElementById('matches').textContent !== '' || text === ''",
        arg=text,
    )
    page.wait_for_timeout(200)


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


def focused(page):
    return page.evaluate("document.activeElement.dataset.i ?? null")


def viewer_name(page):
    return page.text_content("#viewer-name")
