"""Downloads against a server on this machine."""

import os
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy.io import savemat

from twofold.paper.datasets.catalogue import CATALOGUE
from twofold.paper.datasets.decode import digest
from twofold.paper.datasets.locate import fetch, load_entry

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, size=(12, 50, 40), dtype=np.uint8)
TARGET = np.repeat([0, 1, 2], 4).astype(np.int32)


class Handler(BaseHTTPRequestHandler):
    """Serves /good.mat, and everything that can go wrong with it."""

    good: bytes
    wrong: bytes

    def do_GET(self):
        kind = self.path.strip("/").removesuffix(".mat")
        body = self.wrong if kind == "wrong" else self.good
        if kind == "gone":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if kind == "truncated":
            self.wfile.write(body[: len(body) // 2])
        elif kind == "slow":
            self.wfile.write(body[:100])
            self.wfile.flush()
            time.sleep(2)
        elif kind == "page":  # some servers answer anything with a page of text
            self.wfile.write(b"<html>".ljust(len(body)))
        else:
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    rows = IMAGES.reshape(12, -1)
    savemat(folder / "good.mat", {"fea": rows, "gnd": TARGET[:, None] + 1})
    savemat(folder / "wrong.mat", {"fea": 255 - rows, "gnd": TARGET[:, None] + 1})
    Handler.good = (folder / "good.mat").read_bytes()
    Handler.wrong = (folder / "wrong.mat").read_bytes()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def entry(server):
    def make(*kinds):
        return replace(
            CATALOGUE["yale"],
            title="Made-up",
            files=("made.mat",),
            n_samples=12,
            n_classes=3,
            height=50,
            width=40,
            pixel_digest=digest(IMAGES),
            label_digest=digest(TARGET),
            addresses=tuple(f"{server}/{kind}.mat" for kind in kinds),
        )

    return make


def test_a_good_download_is_kept_and_found_again(entry, tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.paper.datasets.locate.cache_folder", lambda: tmp_path)
    monkeypatch.delenv("TWOFOLD_DATA", raising=False)
    images, target = load_entry(entry("good"), None, download=True)
    np.testing.assert_array_equal(images, IMAGES)
    np.testing.assert_array_equal(target, TARGET)
    assert [path.name for path in tmp_path.iterdir()] == ["made.mat"]
    again, _ = load_entry(entry("gone"), None, download=True)
    np.testing.assert_array_equal(again, IMAGES)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("truncated", "IncompleteRead|broken|read as .mat"),
        ("wrong", "is not Made-up: there are as many pixels"),
        ("gone", "404"),
        ("slow", "timed out|Read timed out"),
        ("page", "cannot be read as .mat"),
    ],
)
def test_a_bad_download_leaves_nothing_behind(entry, tmp_path, kind, reason):
    folder = tmp_path / "cache"
    with pytest.raises(OSError, match=reason) as caught:
        fetch(entry(kind), folder, timeout=0.3)
    assert f"/{kind}.mat: " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(folder.iterdir()) == []


def test_the_next_address_is_tried(entry, tmp_path):
    images, _ = fetch(entry("gone", "wrong", "slow", "good"), tmp_path, timeout=0.3)
    np.testing.assert_array_equal(images, IMAGES)


def test_an_interrupt_leaves_nothing_behind(entry, tmp_path, monkeypatch):
    def interrupted(self, address, target, _):
        with open(target, "wb") as file:
            file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(entry("good"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept_up(entry, tmp_path):
    for name, age in [("partial-old.mat", 2 * 24 * 3600), ("partial-new.mat", 0)]:
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    fetch(entry("good"), tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["made.mat", "partial-new.mat"]


def test_no_network_names_the_file_the_page_and_the_folder(
    entry, tmp_path, monkeypatch
):
    monkeypatch.setattr("twofold.paper.datasets.locate.cache_folder", lambda: tmp_path)
    monkeypatch.delenv("TWOFOLD_DATA", raising=False)
    # Nothing listens on the port of a server that was closed at once.
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_port
    nowhere = replace(entry(), addresses=(f"http://127.0.0.1:{port}/made.mat",))
    with pytest.raises(FileNotFoundError) as caught:
        load_entry(nowhere, None, download=True)
    for part in ("made.mat", nowhere.page, str(tmp_path), "could not be downloaded"):
        assert part in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_catalogue_is_complete():
    for entry in CATALOGUE.values():
        assert len(entry.pixel_digest) == len(entry.label_digest) == 32
        for address in entry.addresses:
            assert any(name.endswith(address[-4:]) for name in entry.files)
