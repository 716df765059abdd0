"""A kill at every event of the file system leaves the old or the new, and it whole."""

import os
import shutil
import time

import pytest
from killing import killed, kills, needs_kills, second_rename

from twofold.io import staging
from twofold.io.staging import bring_back, staged_file, staged_folder

pytestmark = needs_kills


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """What is on disk matters to a power failure, and takes its time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(params=["exchange", "two renames"])
def exchange(request, monkeypatch):
    """Whether two folders can be exchanged in one step."""
    if request.param == "two renames":
        monkeypatch.setattr(staging, "exchange", lambda first, second: False)
    return request.param == "exchange"


def fill(folder, text):
    """Files, a folder of files and a link."""
    for name in ("model.json", "clusters/0/a.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "clusters/link").symlink_to(f"/{text}")


def content(folder):
    """The text of a folder that is whole, and None where there is no folder."""
    if not folder.exists():
        return None
    texts = {(folder / name).read_text() for name in ("model.json", "clusters/0/a.png")}
    texts.add(os.readlink(folder / "clusters/link").removeprefix("/"))
    [text] = texts
    assert sorted(os.listdir(folder)) == ["clusters", "model.json"]
    return text


def replacing(out, text="new"):
    with staged_folder(out, replace=True) as new:
        fill(new, text)


def prepared(tmp_path):
    """A function that makes a folder of old results, each in a place of its own."""

    def prepare(number):
        out = tmp_path / f"run{number}" / "out"
        fill(out, "old")
        return out

    return prepare


def hidden(out):
    """What is beside the results: hidden folders alone."""
    names = [name for name in os.listdir(out.parent) if name != out.name]
    assert all(name.startswith(f".{out.name}.partial-") for name in names)
    return [out.parent / name for name in names]


def a_day_passes(out):
    for path in hidden(out):
        os.utime(path, (time.time() - 2 * 24 * 3600,) * 2)


def test_a_folder_is_replaced(tmp_path, exchange):
    found = []
    for out in kills(prepared(tmp_path), replacing):
        found.append(content(out))
        assert len(hidden(out)) <= 1
        a_day_passes(out)
        with (
            pytest.raises(OSError, match="not empty"),
            staged_folder(out, replace=False) as new,
        ):
            fill(new, "another")
        assert content(out) == (found[-1] or "old")
        a_day_passes(out)
        replacing(out, "third")
        assert content(out) == "third"
        assert not hidden(out)
    # There is no gap with an exchange, and without one it is closed by the next run.
    assert found.count(None) == (0 if exchange else 1)
    assert found.index("new") > 20
    assert found[-1] == "new"


@pytest.mark.parametrize("days", [0, 2])
def test_every_kill_of_the_next_run_too(tmp_path, monkeypatch, days):
    """Nothing is lost while the old results are in a hidden folder alone."""
    monkeypatch.setattr(staging, "exchange", lambda first, second: False)
    first = prepared(tmp_path)(0)
    assert killed(lambda: replacing(first), second_rename)
    assert content(first) is None
    if days:
        a_day_passes(first)

    def prepare(number):
        copy = shutil.copytree(first.parent, tmp_path / str(number), symlinks=True)
        return copy / "out"

    found = []
    for out in kills(prepare, lambda out: replacing(out, "third")):
        hidden(out)
        bring_back(out)
        found.append(content(out))
    assert set(found) == {"old", "third"}
    assert found[-1] == "third"


@pytest.mark.parametrize("earlier", [False, True])
def test_a_file(tmp_path, earlier):
    def prepare(number):
        path = tmp_path / str(number) / "a.csv"
        path.parent.mkdir()
        if earlier:
            path.write_text("old")
        return path

    def write(path):
        with staged_file(path) as partial, partial.open("w") as file:
            file.write("new")

    found = []
    for path in kills(prepare, write):
        found.append(path.read_text() if path.exists() else None)
        a_day_passes(path)
        with staged_file(path) as partial:
            partial.write_text("third")
        assert os.listdir(path.parent) == ["a.csv"]
    assert set(found) == {"old" if earlier else None, "new"}
    assert found[-1] == "new"
