"""A repair that was interrupted, and what else has the names that a store needs."""

import re
import shutil
import sqlite3
import warnings

import pytest
from test_repair import PAGE, full_store, middle, overwrite
from test_store import log_of

from twofold.paper import Store, StoreError
from twofold.paper.repair import prepare_repair
from twofold.paper.store_file import build
from twofold.paper.store_lock import StoreLock, lock_file


def beside(path, suffix):
    return path.with_name(f"{path.name}.{suffix}")


@pytest.fixture
def path(tmp_path):
    full_store(tmp_path / "s.sqlite", 300)
    return tmp_path / "s.sqlite"


def count_of(path):
    """Of the results in a store that is opened without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Store(path) as store:
            return len(store.keys())


def opened_with_warning(path, match):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store = Store(path)
    assert re.search(match, str(caught[0].message))
    with store:
        return len(store.keys())


@pytest.mark.parametrize("change", ["restored", "deleted", "log"])
def test_a_store_that_was_changed_since_its_repair_is_taken_as_it_is(path, change):
    backup = path.read_bytes()
    overwrite(path, middle(path))
    prepare_repair(path, build)  # and then a kill
    if change == "restored":
        path.write_bytes(backup)
    elif change == "deleted":
        path.unlink()
    else:
        log_of(path).write_bytes(b"another log")
    found = opened_with_warning(path, r"taken as it is, .* in .*\.repaired-unused")
    least, most = {"restored": (300, 300), "deleted": (0, 0), "log": (100, 299)}[change]
    assert least <= found <= most
    assert {file.name for file in beside(path, "repaired-unused").iterdir()} == {
        *("s.sqlite", "damaged")
    }
    assert count_of(path) == found


def test_an_interrupted_repair_that_is_no_store_is_not_put_into_place(path):
    damaged = path.with_name("damaged.sqlite")
    shutil.copy(path, damaged)
    overwrite(damaged, middle(damaged))
    shutil.copy(damaged, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Store(damaged) as store:
            expected = len(store.keys())
    prepare_repair(path, build)
    (beside(path, "repaired") / path.name).write_bytes(b"x")
    assert opened_with_warning(path, "taken as it is") == expected > 100


def put_in_the_way(place, what):
    if what == "file":
        place.write_bytes(b"mine")
        return [place]
    place.mkdir()
    files = [place / "s.sqlite", place / "notes"][what == "other folder" :]
    files[0].write_bytes(b"x")
    return files[:1]


@pytest.mark.parametrize("what", ["file", "folder", "other folder"])
@pytest.mark.parametrize("suffix", ["repaired", "repairing"])
def test_a_name_in_the_way_matters_to_a_repair_alone(path, suffix, what):
    place = beside(path, suffix)
    [mine] = put_in_the_way(place, what)
    content = mine.read_bytes()
    assert count_of(path) == 300
    assert mine.read_bytes() == content
    if (suffix, what) == ("repairing", "folder"):
        return  # as a repair that was killed leaves it
    overwrite(path, middle(path))
    with pytest.raises(StoreError, match=rf"{place} is in the way .*; move it away"):
        Store(path)
    assert mine.read_bytes() == content
    place.rename(path.with_name("away"))
    assert opened_with_warning(path, "were saved from it") > 100


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_lock_in_the_way_is_named(path, what):
    lock_file(path).unlink()
    [mine] = put_in_the_way(lock_file(path), what)
    mine.write_bytes(b"not a database, and mine" * 100)
    with pytest.raises(StoreError, match=rf"{lock_file(path)} is in the .*; move it"):
        Store(path)
    lock_file(path).rename(path.with_name("away"))
    assert count_of(path) == 300


def test_a_store_that_stays_locked_is_tried_again(path, monkeypatch):
    monkeypatch.setattr("twofold.paper.store_lock._SHARE_TIMEOUT", 0.1)
    repairing = StoreLock(path)
    assert repairing.hold_alone(0.1, needless=lambda: False)
    with pytest.raises(StoreError, match=r"be repairing it .*; run the same command"):
        Store(path)
    repairing.close()


class FullDisk:
    """A connection that fails for another reason than a lock."""

    in_transaction = False

    def execute(self, statement):
        if statement.startswith(("BEGIN EXCLUSIVE", "SELECT")):
            raise sqlite3.OperationalError("disk I/O error")


def test_a_lock_that_fails_is_named_and_no_other_process_is_blamed(path, monkeypatch):
    lock = StoreLock(path)
    lock.close()
    monkeypatch.setattr(lock, "_connection", FullDisk())
    says = rf"^its lock {lock_file(path)}: disk I/O error$"
    with pytest.raises(sqlite3.OperationalError, match=says):
        lock.share()
    with pytest.raises(sqlite3.OperationalError, match=says):
        lock.hold_alone(0.1, needless=lambda: False)
    lock_file(path).unlink()
    lock_file(path).symlink_to(path.with_name("missing") / "lock")
    with pytest.raises(StoreError, match=rf"its lock {lock_file(path)}: unable to"):
        Store(path)


@pytest.mark.parametrize("size", [512, 1024, 8192, 32768])
def test_a_damaged_page_size_costs_no_row_of_another_page(path, size):
    content = bytearray(path.read_bytes())
    assert int.from_bytes(content[16:18]) == PAGE
    content[16:18] = size.to_bytes(2)
    path.write_bytes(content)
    assert opened_with_warning(path, "were saved from it") == 300
