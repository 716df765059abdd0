"""Files and folders that are whole or not there, whatever happens on the way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from staged import DAY, age, content, fill, filled

from twofold.io import staging
from twofold.io.staging import staged_file, staged_folder


def fill_and_raise(path, kind):
    """What a folder or a file is filled with before it goes wrong."""
    (path / "model.json" if path.is_dir() else path).write_text("half")
    raise kind


# Folders


def test_a_folder_appears_when_it_is_whole(tmp_path):
    out = tmp_path / "a/b/out"
    with staged_folder(out, replace=False) as new:
        fill(new)
        assert not out.exists()
        assert new.parent.parent == out.parent  # on the same disk
    assert content(out) == {"model.json": "new"}
    assert os.listdir(out.parent) == ["out"]


def test_its_permissions_are_those_of_any_new_folder(tmp_path):
    (tmp_path / "plain").mkdir()
    with staged_folder(tmp_path / "out", replace=False) as new:
        fill(new)
    modes = [(tmp_path / name).stat().st_mode for name in ("plain", "out")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("replace", [False, True])
def test_an_empty_folder_is_filled(tmp_path, replace):
    (tmp_path / "out").mkdir()
    with staged_folder(tmp_path / "out", replace=replace) as new:
        fill(new)
    assert content(tmp_path / "out") == {"model.json": "new"}
    assert os.listdir(tmp_path) == ["out"]


def test_an_earlier_folder_is_replaced_as_a_whole(tmp_path):
    out = filled(tmp_path / "out")
    (out / "surplus").write_text("")
    with staged_folder(out, replace=True) as new:
        fill(new)
        assert content(out)["model.json"] == "old"
    assert content(out) == {"model.json": "new"}
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("replace", [False, True])
def test_nothing_is_left_when_the_body_raises(tmp_path, kind, replace):
    out = filled(tmp_path / "out") if replace else tmp_path / "out"
    with pytest.raises(kind), staged_folder(out, replace=replace) as new:
        fill_and_raise(new, kind)
    assert os.listdir(tmp_path) == (["out"] if replace else [])
    if replace:
        assert content(out) == {"model.json": "old"}


def test_what_appears_meanwhile_is_not_overwritten(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(OSError, match="not empty"), staged_folder(out, replace=False):
        filled(out, "theirs")
    assert content(out) == {"model.json": "theirs"}
    assert os.listdir(tmp_path) == ["out"]
    file = tmp_path / "file"
    with pytest.raises(NotADirectoryError), staged_folder(file, replace=False):
        file.write_text("theirs")
    assert file.read_text() == "theirs"


@pytest.mark.parametrize("replace", [False, True])
def test_links_to_folders_stay_links(tmp_path, replace):
    real = tmp_path / "disk/real"
    if replace:
        filled(real)
    else:
        real.mkdir(parents=True)
    (tmp_path / "out").symlink_to(real)
    with staged_folder(tmp_path / "out", replace=replace) as new:
        fill(new)
    assert (tmp_path / "out").is_symlink()
    assert content(real) == {"model.json": "new"}
    assert os.listdir(real.parent) == ["real"]


def test_a_link_to_what_does_not_exist_yet(tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / "later")
    with staged_folder(tmp_path / "out", replace=False) as new:
        fill(new)
    assert content(tmp_path / "later") == {"model.json": "new"}


def test_a_relative_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with staged_folder(Path("out"), replace=False) as new:
        fill(new)
    assert content(tmp_path / "out") == {"model.json": "new"}


# What killed processes leave


def test_what_was_left_a_day_ago_is_removed_and_no_more(tmp_path):
    names = {
        "old": (".out.partial-a", 2 * DAY),
        "recent": (".out.partial-b", DAY / 2),
        "another's": (".out2.partial-c", 2 * DAY),
        "the user's": ("out.partial-d", 2 * DAY),
    }
    for name, seconds in names.values():
        filled(tmp_path / name / "new")
        age(tmp_path / name, seconds)
    with staged_folder(tmp_path / "out", replace=False) as new:
        fill(new)
    kept = {"out"} | {name for key, (name, _) in names.items() if key != "old"}
    assert set(os.listdir(tmp_path)) == kept


@pytest.mark.parametrize("name", ["out[1]", "o*t", "o?t"])
def test_a_name_is_not_taken_for_a_pattern(tmp_path, name):
    for left in (".out1.partial-a", ".out.partial-a", f".{name}.partial-a"):
        filled(tmp_path / left / "new")
        age(tmp_path / left, 2 * DAY)
    with staged_folder(tmp_path / name, replace=False) as new:
        fill(new)
    kept = {name, ".out1.partial-a", ".out.partial-a"}
    assert set(os.listdir(tmp_path)) == kept


def test_leftovers_that_vanish_meanwhile_do_no_harm(tmp_path, monkeypatch):
    left = filled(tmp_path / ".out.partial-a/new").parent
    age(left, 2 * DAY)
    now = time.time

    def vanishing():
        staging.shutil.rmtree(left, ignore_errors=True)
        return now()

    monkeypatch.setattr(staging.time, "time", vanishing)
    with staged_folder(tmp_path / "out", replace=False) as new:
        fill(new)
    assert os.listdir(tmp_path) == ["out"]


KILLED = """
import os, signal, sys
from pathlib import Path
from twofold.io.staging import staged_file, staged_folder
out = Path(sys.argv[2])
if sys.argv[1] == "file":
    with staged_file(out) as partial:
        with partial.open("w") as file:
            file.write("half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
with staged_folder(out, replace=True) as new:
    (new / "report.html").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("what", ["file", "folder"])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_process_that_is_killed_leaves_nothing_that_looks_finished(
    tmp_path, what, earlier
):
    out = tmp_path / "out"
    if earlier and what == "file":
        out.write_text("old")
    elif earlier:
        filled(out)
    done = subprocess.run([sys.executable, "-c", KILLED, what, str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert out.exists() == earlier
    if earlier:
        assert (out.read_text() if what == "file" else content(out)) in (
            "old",
            {"model.json": "old"},
        )
    others = [name for name in os.listdir(tmp_path) if name != "out"]
    assert len(others) == 1
    assert others[0].startswith(".out.partial-")  # hidden, and named for what it is
    if (
        what == "folder"
    ):  # the next run is not in its way, and one a day later removes it
        age(tmp_path / others[0], 2 * DAY)
        with staged_folder(out, replace=True) as new:
            fill(new)
        assert os.listdir(tmp_path) == ["out"]


# What must be on disk before it gets its name


def test_all_is_on_disk_before_it_appears(tmp_path, monkeypatch):
    """So that a power failure leaves no empty files under the right names."""
    out, synced = filled(tmp_path / "out"), []
    fsync = os.fsync

    def noted(descriptor):
        fsync(descriptor)
        text = (out / "model.json").read_text()
        synced.append((os.fstat(descriptor).st_ino, text))

    monkeypatch.setattr(os, "fsync", noted)
    with staged_folder(out, replace=True) as new:
        fill(new)
        (new / "clusters").mkdir()
        (new / "clusters/a.png").write_text("read-only")
        (new / "clusters/a.png").chmod(0o400)
        (new / "clusters/link.png").symlink_to(tmp_path / "none")
        (new / "clusters/model.json").symlink_to(new)
        inside = [new, *(p for p in new.rglob("*") if not p.is_symlink())]
        needed = {path.stat().st_ino for path in inside}
    before = {inode for inode, text in synced if text == "old"}
    after = {inode for inode, text in synced if text == "new"}
    assert before == needed
    assert after == {tmp_path.stat().st_ino}


def test_a_failure_to_write_to_the_disk_is_one(tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(5, "Input/output error")

    out = filled(tmp_path / "out")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input"), staged_folder(out, replace=True) as new:
        fill(new)
    with pytest.raises(OSError, match="Input"), staged_file(out / "model.json") as new:
        new.write_text("new")
    assert content(out) == {"model.json": "old"}
    assert os.listdir(tmp_path) == ["out"]


# Files


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with staged_file(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_a_file_stays_as_it_was_when_the_body_raises(tmp_path, kind):
    path = tmp_path / "a.csv"
    for earlier in (None, "old"):
        if earlier:
            path.write_text(earlier)
        with pytest.raises(kind), staged_file(path) as partial:
            fill_and_raise(partial, kind)
        assert (path.read_text() if earlier else None) == earlier
        assert os.listdir(tmp_path) == (["a.csv"] if earlier else [])


def test_a_file_that_was_never_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), staged_file(tmp_path / "a.csv"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_link_is_not_followed(tmp_path):
    """Of a stranger's folder it could lead to any file of the user."""
    (tmp_path / "mine.rc").write_text("mine")
    (tmp_path / "a.csv").symlink_to(tmp_path / "mine.rc")
    with staged_file(tmp_path / "a.csv") as partial:
        partial.write_text("new")
    assert (tmp_path / "mine.rc").read_text() == "mine"
    assert (tmp_path / "a.csv").read_text() == "new"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_only_files_are_replaced_by_files(tmp_path, make):
    """A device such as the null one must not become a file."""
    make(tmp_path / "odd")
    before = (tmp_path / "odd").stat()
    with (
        pytest.raises(FileExistsError, match="odd is no plain file"),
        staged_file(tmp_path / "odd"),
    ):
        pytest.fail("was to be refused")
    assert (tmp_path / "odd").stat() == before
    assert os.listdir(tmp_path) == ["odd"]


def test_a_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "here").write_text("kept")
    with (
        pytest.raises(FileExistsError, match="here is a file, and is not replaced"),
        staging.staged_folder(tmp_path / "here", replace=True),
    ):
        pass
    assert (tmp_path / "here").read_text() == "kept"
