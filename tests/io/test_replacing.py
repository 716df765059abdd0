"""A folder in the place of another one: in one step, in two, and beside others."""

import ctypes
import os
import sys
from pathlib import Path

import pytest
from staged import DAY, age, content, fill, filled

from twofold.io import staging
from twofold.io.exchange import exchange
from twofold.io.staging import bring_back, staged_file, staged_folder


@pytest.fixture
def two_renames(monkeypatch):
    """A system that cannot exchange two folders in one step."""
    monkeypatch.setattr(staging, "exchange", lambda first, second: False)


def test_nothing_is_exchanged_with_what_is_not_there(tmp_path):
    out = filled(tmp_path / "out")
    assert not exchange(out, tmp_path / "none")
    assert not exchange(tmp_path / "none", out)
    assert content(out) == {"model.json": "old"}
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.skipif(
    sys.platform not in ("linux", "darwin"), reason="calls of Linux and macOS"
)
def test_what_is_exchanged_is_whole_in_its_new_place(tmp_path):
    first = filled(tmp_path / "one", "1")
    second = filled(tmp_path / "two" / "\u00e9 \n", "2")
    assert exchange(first, second)
    assert [content(f)["model.json"] for f in (first, second)] == ["2", "1"]


def test_no_function_of_that_name(tmp_path, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    out = filled(tmp_path / "out")
    with staged_folder(out, replace=True) as new:
        fill(new)
        assert not exchange(out, new)
    assert content(out) == {"model.json": "new"}
    assert os.listdir(tmp_path) == ["out"]


# In two steps


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_the_old_folder_comes_back_if_the_new_one_cannot_take_its_place(
    tmp_path, monkeypatch, two_renames, failure
):
    out = filled(tmp_path / "out")
    rename = os.rename

    def failing(source, target):
        if Path(source).name == "new":
            raise failure
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(failure), staged_folder(out, replace=True) as new:
        fill(new)
    assert content(out) == {"model.json": "old"}
    assert os.listdir(tmp_path) == ["out"]


def test_the_old_folder_is_kept_where_it_cannot_come_back(
    tmp_path, monkeypatch, two_renames
):
    out = filled(tmp_path / "out")
    rename = os.rename

    def failing(source, target):
        if Path(target) == out:
            raise PermissionError(13, "not now")
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        with (
            pytest.raises(PermissionError),
            staged_folder(out, replace=True) as new,
        ):
            fill(new)
        [left] = os.listdir(tmp_path)
        age(tmp_path / left, 2 * DAY)
        with pytest.raises(PermissionError), staged_folder(out, replace=False) as new:
            fill(new)
    assert os.listdir(tmp_path) == [left]
    bring_back(out)
    assert content(out) == {"model.json": "old"}


@pytest.mark.parametrize("name", ["out", "link", "loop", "n" * 300])
def test_nothing_to_bring_back(tmp_path, name):
    (tmp_path / "link").symlink_to(tmp_path / "none")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / ".out.partial-b").write_text("a file")
    filled(tmp_path / ".out.partial-c" / "new")
    before = sorted(os.listdir(tmp_path))
    bring_back(tmp_path / name)
    bring_back(tmp_path / name / "further/down")
    assert sorted(os.listdir(tmp_path)) == before


def test_the_last_folder_that_was_moved_aside_comes_back(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for days, left in enumerate(["b", "a", "c"]):
        partial = tmp_path / f".out.partial-{left}"
        for attempt in ("old-01", "old-02"):
            filled(partial / attempt, f"{attempt} of {left}")
        age(partial, days * DAY)
    bring_back(tmp_path / "link")
    assert content(tmp_path / "out") == {"model.json": "old-02 of b"}
    bring_back(tmp_path / "out")
    assert content(tmp_path / "out") == {"model.json": "old-02 of b"}


def test_a_file_that_is_half_written_is_not_brought_back(tmp_path):
    (tmp_path / ".old-01.partial-a").mkdir()
    (tmp_path / ".old-01.partial-a/old-01").write_text("half")
    bring_back(tmp_path / "old-01")
    assert not (tmp_path / "old-01").exists()
    age(tmp_path / ".old-01.partial-a", 2 * DAY)
    with staged_file(tmp_path / "old-01") as partial:
        partial.write_text("whole")
    assert os.listdir(tmp_path) == ["old-01"]


# Others at the same place


@pytest.mark.parametrize("steps", [1, 2])
def test_of_two_runs_the_last_one_stays(tmp_path, request, steps):
    if steps == 2:
        request.getfixturevalue("two_renames")
    out = filled(tmp_path / "out")
    with staged_folder(out, replace=True) as first:
        fill(first)
        with staged_folder(out, replace=True) as second:
            (second / "model.json").write_text("theirs")
        assert content(out) == {"model.json": "theirs"}
        assert content(first) == {"model.json": "new"}
    assert content(out) == {"model.json": "new"}
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("intruder", ["brings back", "replaces"])
def test_another_run_in_the_gap_between_two_renames(
    tmp_path, monkeypatch, two_renames, intruder
):
    out = filled(tmp_path / "out")
    rename, gaps = os.rename, []

    def interrupted(source, target):
        rename(source, target)
        if source == out and not gaps:
            gaps.append(target)
            assert not out.exists()
            if intruder == "replaces":
                with staged_folder(out, replace=True) as theirs:
                    (theirs / "model.json").write_text("theirs")
            bring_back(out)
            assert out.exists()

    monkeypatch.setattr(os, "rename", interrupted)
    with staged_folder(out, replace=True) as new:
        fill(new)
    assert gaps
    assert content(out) == {"model.json": "new"}
    assert os.listdir(tmp_path) == ["out"]


def test_one_who_always_fills_the_gap_wins(tmp_path, monkeypatch, two_renames):
    out = filled(tmp_path / "out")
    rename = os.rename

    def filled_again(source, target):
        rename(source, target)
        if source == out:
            filled(out, "theirs")

    monkeypatch.setattr(os, "rename", filled_again)
    with (
        pytest.raises(OSError, match="not empty"),
        staged_folder(out, replace=True) as new,
    ):
        fill(new)
    assert content(out) == {"model.json": "theirs"}
