"""The repair of a damaged store: no result that was added is lost, whoever is at it."""

import os
import re
import sqlite3
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest
from test_store import RESULT, copy_while_open, log_of, some

from twofold.paper import Store, StoreError
from twofold.paper.store_lock import StoreLock, lock_file

PAGE = 4096


def full_store(path, count=400):
    with Store(path) as store:
        for begin in range(0, count, 50):
            store.add(some(count)[begin : begin + 50])


def overwrite(path, page):
    """From another process: SQLite's locks end when their process closes the file."""
    place = [f"of={path}", f"seek={page}", f"bs={PAGE}", "count=1", "conv=notrunc"]
    subprocess.run(["dd", "if=/dev/urandom", *place], check=True, capture_output=True)


def middle(path):
    return path.stat().st_size // PAGE * 3 // 4


RACE = """
import os, sys, time, warnings
sys.path.insert(0, {folder!r})
from dataclasses import replace
from test_repair import Path, RESULT, Store, full_store, middle, overwrite
from twofold.paper import store as module
warnings.simplefilter("ignore")


def say(*words):
    os.write(1, (" ".join(words) + "\\n").encode())


def add(store, name, count):
    for i in range(count):
        keys = [f"{{name}}{{i}}-{{j}}" for j in range(5)]
        store.add([replace(RESULT, key=key) for key in keys])
        say("added", *keys)
        time.sleep(0.01)


def open_at_once(path):
    gate, children = os.pipe(), []
    for name in "abcd":
        children.append(os.fork())
        if not children[-1]:
            os.close(gate[1])
            os.read(gate[0], 1)  # until the parent closes its end
            try:
                with Store(path) as store:
                    add(store, name, 10)
            except Exception as failure:
                say(f"{{type(failure).__name__}}: {{failure}}")
            os._exit(0)
    os.close(gate[1])
    return children


for name, holder in {rounds!r}:
    module._PATIENCE = 0.3 if holder else 60
    path = Path(name)
    full_store(path)
    held = Store(path) if holder else None
    overwrite(path, middle(path))
    children = open_at_once(path)
    if held:
        add(held, "held", 20)
    for child in children:
        os.waitpid(child, 0)
    if held:
        held.close()
    with Store(path) as store:
        say("found")
        say(*store.keys())
"""


def test_four_processes_open_a_damaged_store_at_once(tmp_path):
    """And again while a fifth has it open all the time."""
    holders = [False, False, False, True, True]
    rounds = [(str(tmp_path / f"{i}/s.sqlite"), held) for i, held in enumerate(holders)]
    code = RACE.format(rounds=rounds, folder=str(Path(__file__).parent))
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert ended.stderr == ""
    lines = iter(ended.stdout.splitlines())
    for held in holders:
        said = list(takewhile(lambda line: not line.startswith("found"), lines))
        added = {key for line in said for key in re.findall(r"\S+\d-\d", line)}
        refused = [line for line in said if not line.startswith("added")]
        assert len(added) == (100 if held else 200)
        assert len(refused) == (4 if held else 0)
        assert all(line.startswith("StoreError: the store") for line in refused)
        assert all("when they have ended, run" in line for line in refused)
        assert added <= set(next(lines).split())
    kept = {file.name for file in (tmp_path / "0").iterdir()}
    assert kept == {"s.sqlite", "s.sqlite.damaged", "s.sqlite.lock"}


KILLS = """
import os, sys, shutil, warnings
sys.path.insert(0, {folder!r})
from pathlib import Path
from twofold.paper import Store
warnings.simplefilter("ignore")
source, work = Path({source!r}), Path({work!r})
code, survived = 9, 0
while code == 9:
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(source, work)
    child = os.fork()
    if not child:
        left = survived

        def die(event, details):
            global left
            if event in {steps}:
                left -= 1
                if left < 0:
                    os._exit(9)

        sys.addaudithook(die)
        Store(work / "s.sqlite").close()
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    survived += 1
    with Store(work / "s.sqlite") as store:
        found = len(store.keys())
    print(code, found, *(file.name for file in work.iterdir()))
"""
STEPS = {
    *("os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir"),
    *("shutil.copyfile", "shutil.rmtree", "sqlite3.connect"),
}
"""What Python tells of itself to an audit hook, before it does it."""


def test_a_repair_that_is_killed_at_any_step_loses_nothing(tmp_path):
    source, folder = tmp_path / "source", str(Path(__file__).parent)
    full_store(source / "s.sqlite", 1000)
    with Store(source / "s.sqlite") as store:
        store.add(some(60, prefix="log"))
        content, log = copy_while_open(source / "s.sqlite")
    # SQLite does not take the log into a file that is far too short for it.
    (source / "s.sqlite").write_bytes(content[: 3 * PAGE])
    log_of(source / "s.sqlite").write_bytes(log)
    paths = {"source": str(source), "work": str(tmp_path / "work")}
    code = KILLS.format(**paths, folder=folder, steps=STEPS)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert ended.stderr == ""
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert len(lines) > 15
    assert [line[0] for line in lines] == ["9"] * (len(lines) - 1) + ["0"]
    least = int(lines[-1][1])
    assert least >= 60
    assert {int(line[1]) for line in lines} == {least}
    names = {name for line in lines for name in line[2:]}
    kept = {"s.sqlite.damaged", "s.sqlite.damaged-wal"}
    assert names == {"s.sqlite", "s.sqlite.lock"} | kept
    assert (tmp_path / "work/s.sqlite.damaged").read_bytes() == content[: 3 * PAGE]
    assert (tmp_path / "work/s.sqlite.damaged-wal").read_bytes() == log


def test_only_the_rows_of_a_damaged_page_are_lost(tmp_path):
    long = [replace(RESULT, key=f"long{i}", trace="0.125," * 2000) for i in range(3)]
    results = {result.key: result for result in [*some(200), *long]}
    with Store(tmp_path / "s.sqlite") as store:
        store.add(results.values())
    content, lost = (tmp_path / "s.sqlite").read_bytes(), Counter()
    for page in range(len(content) // PAGE):
        path = tmp_path / f"{page}.sqlite"
        begin, end = page * PAGE, (page + 1) * PAGE
        lock_file(path).touch()  # as beside every store
        path.write_bytes(content[:begin] + b"\xa5" * PAGE + content[end:])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the middle of a long row is no damage
            store = Store(path)
        with store:
            kept = {result.key: result for result in store.results()}
        assert kept.items() <= results.items()
        lost.update(results.keys() - kept.keys())
    # A row is on one page; one of 12 kB goes on on two more.
    assert {lost[result.key] for result in some(200)} == {1}
    assert {lost[result.key] for result in long} == {3}


def test_a_store_that_others_have_open_is_not_repaired(tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.paper.store._PATIENCE", 0.2)
    path = tmp_path / "s.sqlite"
    full_store(path)
    with Store(path) as holder:
        overwrite(path, middle(path))
        with pytest.raises(StoreError, match="while other processes have it open"):
            Store(path)
        holder.add(some(100, prefix="later"))
    with pytest.warns(UserWarning, match=r"is kept as .*s\.sqlite\.damaged: \d+ res"):
        store = Store(path)
    with store:
        assert {f"later{i}" for i in range(100)} <= store.keys()


@pytest.mark.parametrize("what", ["moved", "deleted", "replaced", "log deleted"])
def test_a_writer_notices_that_its_file_is_gone(tmp_path, what):
    path = tmp_path / "s.sqlite"
    full_store(tmp_path / "other.sqlite")
    with Store(path) as store:
        store.add(some(3))
        if what == "moved":
            path.rename(tmp_path / "moved.sqlite")
        elif what == "deleted":
            path.unlink()
        elif what == "replaced":
            os.replace(tmp_path / "other.sqlite", path)
        else:
            log_of(path).unlink()
        with pytest.raises(StoreError, match="moved, replaced or deleted while it was"):
            store.add(some(5))


def test_a_writer_is_told_of_damage_and_the_way_out(tmp_path):
    path = tmp_path / "s.sqlite"
    full_store(path)
    with Store(path) as holder:
        for page in range(1, path.stat().st_size // PAGE):
            overwrite(path, page)
        with sqlite3.connect(path) as other:  # what the holder has read is stale now
            other.execute("PRAGMA user_version = 1")
        other.close()
        with pytest.raises(StoreError, match=r"malformed; .* no other process has it"):
            holder.add(some(500, prefix="more"))


def test_a_link_and_its_file_have_one_lock(tmp_path):
    path, link = tmp_path / "folder" / "s.sqlite", tmp_path / "link.sqlite"
    path.parent.mkdir()
    link.symlink_to(path)
    with Store(link) as store:
        store.add(some(3))
        lock = StoreLock(path)
        assert not lock.hold_alone(0.1, needless=lambda: False)
    assert lock.hold_alone(0.1, needless=lambda: False)
    lock.close()
    assert [f.name for f in tmp_path.iterdir() if f.is_file()] == ["link.sqlite"]


def test_a_file_of_another_program_gets_no_lock(tmp_path):
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE results (name TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="not a store of twofold"):
        Store(path)
    assert not lock_file(path).exists()


def test_a_file_without_results_in_place_of_a_store_is_left_alone(tmp_path):
    path = tmp_path / "s.sqlite"
    full_store(path)
    path.write_bytes(b"name,score\n1,2\n" * 1000)
    with pytest.raises(StoreError, match="file is not a database; name another"):
        Store(path)
    assert path.read_bytes() == b"name,score\n1,2\n" * 1000
    assert {file.name for file in tmp_path.iterdir()} == {"s.sqlite", "s.sqlite.lock"}


def test_a_store_that_stays_locked_is_not_waited_for_in_silence(tmp_path, monkeypatch):
    monkeypatch.setattr("twofold.paper.store_lock._SHARE_TIMEOUT", 0.1)
    repairing = StoreLock(tmp_path / "s.sqlite")
    assert repairing.hold_alone(0.1, needless=lambda: False)
    with pytest.raises(StoreError, match="another process may be repairing it"):
        Store(tmp_path / "s.sqlite")
    repairing.close()
    Store(tmp_path / "s.sqlite").close()


def test_a_text_that_is_no_text_is_a_damaged_record(tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add([*some(5), replace(RESULT, key="x", trace="UNIQUE TEXT")])
    content = path.read_bytes()
    path.write_bytes(content.replace(b"UNIQUE TEXT", b"UNIQUE \xff\xfe\xff\xff"))
    with pytest.warns(UserWarning, match="1 damaged record"):
        store = Store(path)
    with store:
        assert list(store.results()) == some(5)


def test_a_row_that_takes_the_number_of_a_damaged_one_stays(tmp_path, monkeypatch):
    path = tmp_path / "s.sqlite"
    damaged_rows, seen = Store._damaged_rows, []

    def with_an_outdated_first_look(store):
        seen.append(damaged_rows(store))
        return [(5,)] if len(seen) == 1 else seen[-1]

    with Store(path) as store:
        store.add(some(5))
    monkeypatch.setattr(Store, "_damaged_rows", with_an_outdated_first_look)
    with Store(path) as store:
        assert list(store.results()) == some(5)
    assert seen == [[], []]
