"""The store: what is written stays, what is damaged is dropped and said."""

import os
import signal
import sqlite3
import subprocess
import sys
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from twofold.paper import Protocol, Result, Store, StoreError, run

resource = pytest.importorskip("resource", reason="POSIX limits are needed")

RESULT = Result(
    key="a",
    data="yale",
    method="kmeans",
    grid_point="{}",
    n_clusters=3,
    subset=0,
    seed=0,
    max_iter=None,
    n_samples=33,
    accuracy=61.5,
    nmi=1 / 3,
    purity=70.0,
    seconds=0.25,
    n_iter=None,
    trace=None,
    error=None,
    origin="{}",
    finished=1e9,
)


def some(count, prefix="k"):
    return [replace(RESULT, key=f"{prefix}{i}", accuracy=i / 7) for i in range(count)]


def test_results_come_back_as_they_were(tmp_path):
    with Store(tmp_path / "new" / "s.sqlite") as store:
        store.add(some(5))
        assert list(store.results()) == some(5)
    with Store(tmp_path / "new" / "s.sqlite") as store:
        assert list(store.results()) == some(5)
        assert store.keys() == {f"k{i}" for i in range(5)}
        assert store.has(["k0", "k4"])
        assert not store.has(["k0", "k5"])


def test_the_column_of_the_grid_point_is_called_setting(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.add([replace(RESULT, grid_point='{"radius":1.0}')])
    connection = sqlite3.connect(tmp_path / "s.sqlite")
    found = connection.execute("SELECT method, setting FROM results").fetchall()
    connection.close()
    assert found == [("kmeans", '{"radius":1.0}')]


def test_what_is_there_stays(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.add([RESULT])
        store.add([replace(RESULT, accuracy=1.0), replace(RESULT, key="b")])
        assert [r.accuracy for r in store.results()] == [61.5, 61.5]


def test_a_failure_gives_way_to_a_later_result(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.add([replace(RESULT, accuracy=None, error="ValueError: no")])
        assert store.has(["a"])
        assert not store.has(["a"], failed=False)
        assert store.keys(failed=False) == set()
        store.add([RESULT])
        assert list(store.results()) == [RESULT]


def test_a_changed_record_is_dropped_with_a_warning(tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(some(5))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE results SET accuracy = 99 WHERE key = 'k4'")
    connection.close()
    with pytest.warns(UserWarning, match=r"s\.sqlite has 1 damaged record"):
        store = Store(path)
    assert list(store.results()) == some(4)
    store.add(some(5))
    store.close()
    with warnings.catch_warnings(), Store(path) as store:
        assert list(store.results()) == some(5)


@pytest.mark.parametrize("damage", ["cut off", "overwritten"])
def test_a_torn_file_keeps_the_records_that_can_be_read(tmp_path, damage):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        for begin in range(0, 2000, 50):
            store.add(some(2000)[begin : begin + 50])
    content = path.read_bytes()
    if damage == "cut off":
        path.write_bytes(content[: len(content) * 3 // 4 + 100])
    else:
        middle = len(content) * 3 // 4 // 4096 * 4096
        path.write_bytes(content[:middle] + b"\xff" * 8192 + content[middle + 8192 :])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store = Store(path)
    assert "results were saved from it" in str(caught[0].message)
    kept = list(store.results())
    assert 500 < len(kept) < 2000
    expected = {result.key: result for result in some(2000)}
    assert all(expected[result.key] == result for result in kept)
    store.add(some(2000))
    assert len(store.keys()) == 2000
    store.close()
    assert (tmp_path / "s.sqlite.damaged").is_file()
    Store(path).close()


def copy_while_open(path):
    """The file and its log as a kill leaves them: the log is not yet in the file."""
    return path.read_bytes(), log_of(path).read_bytes()


def log_of(path):
    return path.with_name(f"{path.name}-wal")


def put_back(path, content, log, damage):
    """Write a store and its log, of which the end, the middle or the start is lost."""
    torn = bytearray(log)
    if damage == "cut off":
        del torn[-3000:]
    else:
        position = {"last frame": -100, "middle": len(log) // 2, "header": 9}[damage]
        torn[position] ^= 1
    path.write_bytes(content)
    log_of(path).write_bytes(torn)


@pytest.mark.parametrize(
    ("damage", "least", "most"),
    [("cut off", 18, 19), ("last frame", 19, 19), ("middle", 5, 15), ("header", 0, 0)],
)
def test_a_damaged_log_keeps_all_commits_before_the_damage(
    tmp_path, damage, least, most
):
    path = tmp_path / "s.sqlite"
    commits = [some(10, prefix=f"{i}-") for i in range(20)]
    with Store(path) as store:
        for results in commits:
            store.add(results)
        content, log = copy_while_open(path)
    put_back(path, content, log, damage)
    with Store(path) as store:
        kept = list(store.results())
        whole, rest = divmod(len(kept), 10)
        assert (least <= whole <= most, rest) == (True, 0)
        assert kept == [result for results in commits[:whole] for result in results]
        store.add(result for results in commits for result in results)
    with Store(path) as store:
        assert len(store.keys()) == 200


@pytest.mark.parametrize("damage", ["last frame", "header"])
def test_results_lost_with_the_log_are_run_again(tmp_path, damage):
    path = tmp_path / "s.sqlite"
    protocol = Protocol(data=("tiny:faces",), methods=("kmeans",), subsets=4)
    with Store(path) as store:
        fits = run(protocol, store, n_jobs=1).fits_done
        scores = {result.key: result.accuracy for result in store.results()}
        content, log = copy_while_open(path)
    put_back(path, content, log, damage)
    with Store(path) as store:
        kept = store.keys()
        assert kept < scores.keys()
        again = run(protocol, store, n_jobs=1)
        assert (again.found, again.fits_done) == (len(kept), fits - len(kept))
        assert {result.key: result.accuracy for result in store.results()} == scores


@pytest.mark.parametrize("content", [b"name,score\n1,2\n", b"\x00" * 5000])
def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"cannot open the store .*table\.csv"):
        Store(path)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["table.csv"]


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE results (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a store of twofold"):
        Store(path)
    assert path.read_bytes() == before


def test_a_later_format_is_refused(tmp_path):
    path = tmp_path / "s.sqlite"
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="format is 99"):
        Store(path)


def test_merge_adds_what_is_new(tmp_path):
    with Store(tmp_path / "a.sqlite") as one, Store(tmp_path / "b.sqlite") as other:
        one.add(some(3))
        other.add([*some(5), replace(RESULT, key="x", origin='{"cores": 64}')])
        assert one.merge(other) == 3
        assert one.merge(other) == 0
        assert {r.key: r for r in one.results()} == {r.key: r for r in other.results()}


WRITER = """
import os, sys
from dataclasses import replace
sys.path.insert(0, {folder!r})
from test_store import RESULT
from twofold.paper import Store
children = []
for prefix in {prefixes!r}:  # what is imported serves a process for each
    child = os.fork()
    if not child:
        break
    children.append(child)
else:
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(codes, flush=True)
    sys.exit()
with Store({path!r}) as store:
    print("open", flush=True)
    for i in range({count}):
        store.add([replace(RESULT, key=f"{{prefix}}{{i}}-{{j}}") for j in range(20)])
        print(i, flush=True)
"""


def writer(tmp_path, prefixes, count):
    """A process that forks one for each prefix, to write at the same time."""
    path, folder = str(tmp_path / "s.sqlite"), str(Path(__file__).parent)
    code = WRITER.format(path=path, folder=folder, prefixes=prefixes, count=count)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_several_processes_write_to_one_store(tmp_path):
    writers = writer(tmp_path, "abc", 30)
    said = writers.communicate(timeout=60)[0]
    assert said.splitlines()[-1] == "[0, 0, 0]"
    with Store(tmp_path / "s.sqlite") as store:
        assert len(store.keys()) == 3 * 30 * 20


def test_kill_9_while_writing_loses_nothing_that_was_added(tmp_path):
    process = writer(tmp_path, "a", 10**6)
    said = [process.stdout.readline() for _ in range(12)]
    os.killpg(process.pid, signal.SIGKILL)
    said += process.communicate(timeout=60)[0].splitlines(keepends=True)
    # A last line may be torn by the kill.
    finished = [int(line) for line in said[1:] if line.endswith("\n")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is damaged
        store = Store(tmp_path / "s.sqlite")
    keys = store.keys()
    store.close()
    assert len(finished) > 10
    assert {f"a{i}-{j}" for i in finished for j in range(20)} <= keys
    assert len(keys) % 20 == 0  # transactions are whole


@contextmanager
def limited_file_size(size):
    """The system refuses to write beyond it, as it does when a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def add_without_end(store):
    for i in range(10**6):
        store.add(some(50, prefix=f"more{i}-"))


def test_a_full_disk_is_said_and_keeps_what_was_there(tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(some(50))
    with Store(path) as store, limited_file_size(100_000):
        with pytest.raises(StoreError, match="cannot write to the store"):
            add_without_end(store)
        kept = store.keys()
    assert {f"k{i}" for i in range(50)} <= kept
    assert len(kept) % 50 == 0
    with Store(path) as store:
        assert store.keys() == kept
        store.add(some(50, prefix="after"))
