"""A report of files with odd names, and one of plain arrays."""

import base64
import io
import json
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import problems
import pytest
from browsing import DESKTOP
from PIL import Image

from twofold import TSNMF
from twofold.app import workflow
from twofold.app.collection import Collection
from twofold.app.report import near_duplicates, summarize
from twofold.app.results import assign_trained, typicality

ODD_NAMES = (
    "<img src=x onerror=alert(1)>.png",
    "<script>window.hit = 1</script>.png".replace("/", "\u2215"),
    "\"quoted\" & 'single'.png",
    "a\nline break.png",
    "carriage\rreturn\tand tab.png",
    "\u202egnp.txet of right to left.png",
    "תמונה של שלום.png",
    "\U0001f98a fox \u2764\ufe0f.png",
    "javascript:alert(1).png",
    "  two  spaces  .png",
    "100% #hash?query=1;x&amp;.png",
    "{{ 7 * 7 }} {% raw %} ${window.hit = 1}.png",
    "--><!-- back\\slash `tick`.png",
    "</title><style>*{display:none}</style>.png".replace("/", "\u2215"),
    "cafe\u0301 decomposed.png",
    os.fsdecode(b"not utf-8 \xe9\xff.png"),
)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROKEN = ("broken <b>.png", os.fsdecode(b"empty \xff\n.jpg"), "<i>notes.txt")


@pytest.fixture(scope="session")
def photos(tmp_path_factory) -> Path:
    """Three folders of 40, 22 and 14 images; odd names, broken files, duplicates."""
    folder = tmp_path_factory.mktemp("photos") / 'photos <&"'
    rng = np.random.default_rng(0)
    odd = list(ODD_NAMES)
    for kind, count in (("discs", 40), ("bars & <b>", 22), ("שורות", 14)):
        (folder / kind).mkdir(parents=True)
        for i in range(count):
            name = odd.pop() if odd and i % 4 == 1 else f"{kind[:4]} {i:02}.png"
            pixels = _drawn(kind, rng)
            side = (150, 180) if name == "disc 02.png" else pixels.shape[::-1]
            _save(folder / kind / name, Image.fromarray(pixels).resize(side, 0))
            if i < 3 and kind == "discs":  # a copy, somewhat brighter
                _save(folder / kind / f"copy {i}.png", Image.fromarray(pixels + 12))
    assert not odd
    for name, content in zip(BROKEN, (b"no image", b"", b"text"), strict=True):
        _write(folder / name, content)
    return folder


@pytest.fixture(scope="session")
def report(photos) -> SimpleNamespace:
    """The photos, clustered: the ``folder``, ``page``, ``summary``, ``collection``."""
    folder = photos.parent / "out #1?"
    collection = workflow.read(photos, labels="folders")
    model = TSNMF(3, random_state=0, max_iter=20)
    page = workflow.cluster(collection, model, folder).page
    summary = json.loads((folder / "report.json").read_bytes())
    return SimpleNamespace(
        folder=folder, page=page, summary=summary, collection=collection, model=model
    )


@pytest.fixture(scope="session")
def arrays(images, model) -> SimpleNamespace:
    """A collection without files, its model, and what that says of it."""
    names = [f"a.npy[{i}]" for i in range(len(images))]
    names[3] = "</script><script>alert(1)</script>"
    collection = Collection(
        title="a <b>",
        images=images,
        names=names,
        skipped=[("x", "too large"), ("y", "broken"), ("z", "broken")],
        target=problems.groups(),
        target_names=["one", "<two>", "three"],
    )
    found = assign_trained(model, images)
    typical = typicality(images, found.clusters)
    return SimpleNamespace(
        collection=collection, model=model, found=found, typical=typical
    )


@pytest.fixture(scope="session")
def summary_text(arrays) -> str:
    """Its summary as JSON."""
    parts = arrays.collection, arrays.model, arrays.found, arrays.typical
    groups = near_duplicates(arrays.collection.images)
    return msgspec.json.encode(summarize(*parts, groups, Path("out"))).decode()


@pytest.fixture
def summary(summary_text) -> dict:
    """Its summary, which a test may spoil."""
    return json.loads(summary_text)


@pytest.fixture(scope="session")
def pixels_of():
    """A function from a data URI to its pixels, (h, w, 3)."""

    def decoded(uri: str) -> np.ndarray:
        found = re.fullmatch(r"data:image/(\w+);base64,(.*)", uri)
        with Image.open(io.BytesIO(base64.b64decode(found[2], validate=True))) as image:
            assert image.format.lower() == found[1]
            return np.asarray(image.convert("RGB"))

    return decoded


@pytest.fixture(scope="session")
def parsed():
    """A function from a page to its elements."""
    return _parsed


@pytest.fixture(scope="session")
def browser():
    """A headless browser, or a word on why there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    executable = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if executable is None:
        pytest.skip(f"no browser: none of {', '.join(_BROWSERS)} is installed")
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=executable)
        yield made
        made.close()


@pytest.fixture(scope="session")
def axe():
    """The checker of axe-core."""
    module = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe-playwright-python"
    )
    return module.Axe()


@pytest.fixture
def opened(browser, report):
    """A function that opens the report; at the end, nothing may have gone wrong."""
    contexts, wrong = [], []

    def refuse(route):
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            wrong.append(f"asked for {route.request.url}")
            route.abort()

    def open_page(path=report.page, **options):
        context = browser.new_context(
            offline=True, **{"viewport": DESKTOP, "reduced_motion": "reduce", **options}
        )
        contexts.append(context)
        context.route("**/*", refuse)
        page = context.new_page()
        page.set_default_timeout(5000)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
        page.on("popup", lambda popup: wrong.append(f"popup {popup.url}"))
        page.goto(path.as_uri())
        return page

    open_page.wrong = wrong
    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def page(opened):
    """The report, opened."""
    return opened()


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.elements: list[SimpleNamespace] = []
        self.inside = False

    def handle_starttag(self, tag, attrs):
        self.elements.append(SimpleNamespace(tag=tag, attrs=dict(attrs), text=""))
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:  # what comes before any other tag
            self.elements[-1].text += data


def _parsed(page: str) -> list[SimpleNamespace]:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.elements


def _drawn(kind: str, rng: np.random.Generator) -> np.ndarray:
    """A noisy picture of 24 x 20 pixels, none of them above 242."""
    y, x = np.mgrid[:24, :20]
    if kind == "discs":
        clean = np.hypot(y - 12, x - 10) < 7
    else:
        clean = (y if kind == "שורות" else x) % 8 < 4
    noise = rng.normal(0, 26, clean.shape)
    return np.clip(60 + 120 * clean + noise, 0, 242).astype(np.uint8)


def _save(path: Path, image: Image.Image) -> None:
    _write(path, b"")
    image.save(path, "PNG")


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except (OSError, ValueError) as error:
        pytest.skip(f"this file system cannot hold {path.name!r}: {error}")
