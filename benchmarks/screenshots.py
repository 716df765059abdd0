"""Pictures of a report on 2,000 image files, for the README and the docs."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CLUSTER = ["-m", "twofold", "cluster", "digits", "-k", "10"]


def shoot(browser: Browser, page: Path) -> None:
    """The page on a desktop, its map, and a dark telephone."""
    desktop = browser.new_context(viewport={"width": 1240, "height": 860})
    view = desktop.new_page()
    view.goto(page.as_uri())
    view.screenshot(path=DOCS / "report.png")
    point = view.locator("#plane circle").nth(40)
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box is not None
    view.mouse.move(box["x"] + 2, box["y"] + 2)
    view.locator("#plane").screenshot(path=DOCS / "report-map.png")
    phone = browser.new_context(
        viewport={"width": 390, "height": 780}, color_scheme="dark", is_mobile=True
    )
    small = phone.new_page()
    small.goto(page.as_uri())
    small.locator("#cluster-4").scroll_into_view_if_needed()
    small.screenshot(path=DOCS / "report-phone.png")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for command in (
            [str(ROOT / "examples" / "digit_files.py"), "digits"],
            [*CLUSTER, "--labels", "folders", "--channels", "gradients"],
        ):
            subprocess.run([sys.executable, *command], cwd=folder, check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium")
            )
            shoot(browser, Path(folder) / "digits-clusters" / "report.html")
            browser.close()


if __name__ == "__main__":
    main()
