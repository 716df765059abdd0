"""Replace a damaged store by one with its readable rows.

Whoever repairs holds the lock of the store alone. A kill at any point leaves the
damaged store, or a complete repair that the next process puts into place. It does so
only if the store is still the one that was repaired.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

from twofold.io.staging import sync_folder, sync_tree
from twofold.paper.salvage import MAGIC, Row, salvage_rows
from twofold.paper.store_lock import InTheWayError

Build = Callable[[Path, Iterable[Row]], int]
"""Function that writes a new store with those rows that are whole, and counts them."""

_DAMAGED = "damaged"
_LOG = "-wal"


def repair_is_pending(path: Path) -> bool:
    """Return whether a repair of the store at ``path`` is ready but not in place."""
    folder = _prepared(path)
    if not _holds_only(folder, path.name, _DAMAGED, _DAMAGED + _LOG):
        return False  # it is not ours
    # The copy of the damaged store is the last file to leave the folder.
    return (folder / _DAMAGED).exists() or not any(folder.iterdir())


def repair_fits(path: Path, is_store: Callable[[Path], bool]) -> bool:
    """Return whether a prepared repair is whole, and of the store at ``path``.

    Someone may have put another store there since, such as a copy from a backup. What
    is at ``path`` is compared with the copies from which the repair was made.
    """
    folder = _prepared(path)
    if not (folder / path.name).exists():
        return True  # it is in place already
    if not path.exists() or not _same(path, folder / _DAMAGED):
        return False
    log = path.with_name(path.name + _LOG)  # removed first when a repair is finished
    return is_store(folder / path.name) and (
        not log.exists() or _same(log, folder / (_DAMAGED + _LOG))
    )


def set_repair_aside(path: Path) -> Path:
    """Give a prepared repair a name under which it is only kept. Return that path."""
    aside = _free_name(path, "repaired-unused")
    os.rename(_prepared(path), aside)
    sync_folder(path.parent)
    return aside


def prepare_repair(path: Path, build: Build) -> None:
    """Write a repaired store, and copies of the damaged one and its log.

    They are in a folder that appears only when all of it is on the disk.
    """
    folder = _empty_folder(path)
    try:
        for suffix in ("", _LOG):
            part = path.with_name(path.name + suffix)
            if part.exists():
                shutil.copyfile(part, folder / (_DAMAGED + suffix))
        damaged = folder / _DAMAGED
        saved = build(folder / path.name, salvage_rows(damaged))
        if not saved and not damaged.read_bytes().startswith(MAGIC):
            raise sqlite3.DatabaseError("file is not a database")
        shutil.copymode(path, folder / path.name)
        sync_tree(folder)
        if os.path.lexists(_prepared(path)):
            raise InTheWayError(f"{_prepared(path)} is in the way of its repair")
        os.rename(folder, _prepared(path))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    sync_folder(path.parent)


def finish_repair(path: Path) -> Path | None:
    """Put a prepared repair into place. Return where the damaged store is kept.

    If a process is killed in here, the next call does the rest. It returns None if
    nothing is left but to remove the folder.
    """
    folder, aside = _prepared(path), None
    if (folder / path.name).exists():
        # SQLite would replay the old log into the new store.
        for suffix in (_LOG, "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        os.replace(folder / path.name, path)
    for suffix in (_LOG, ""):  # the name is free until the file itself has it
        if (folder / (_DAMAGED + suffix)).exists():
            aside = _free_name(path, _DAMAGED)
            kept = aside.with_name(aside.name + suffix)
            os.replace(folder / (_DAMAGED + suffix), kept)
    folder.rmdir()
    sync_folder(path.parent)
    return aside


def _prepared(path: Path) -> Path:
    """Return the folder of a prepared repair."""
    return path.with_name(f"{path.name}.repaired")


def _empty_folder(path: Path) -> Path:
    """Return a new folder for a repair, in place of one of a process that was killed.

    What is not from a repair is never removed.
    """
    folder = path.with_name(f"{path.name}.repairing")
    sqlite = [path.name + suffix for suffix in ("", "-journal", _LOG, "-shm")]
    if _holds_only(folder, _DAMAGED, _DAMAGED + _LOG, *sqlite):
        shutil.rmtree(folder)
    try:
        folder.mkdir()
    except FileExistsError:
        raise InTheWayError(f"{folder} is in the way of its repair") from None
    return folder


def _holds_only(folder: Path, *names: str) -> bool:
    """Return whether there is a folder in which no file has another name."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return all(file.name in names for file in folder.iterdir())


def _same(one: Path, other: Path) -> bool:
    return other.exists() and one.read_bytes() == other.read_bytes()


def _free_name(path: Path, suffix: str) -> Path:
    """Return a path beside the store at which nothing is kept yet."""
    aside, number = path.with_name(f"{path.name}.{suffix}"), 1
    while os.path.lexists(aside):
        number += 1
        aside = path.with_name(f"{path.name}.{suffix}-{number}")
    return aside
