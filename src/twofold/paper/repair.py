"""Replace a damaged store by one with its readable rows.

Whoever repairs holds the lock of the store alone. A kill at any point leaves the
damaged store, or a complete repair that the next process puts into place.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from twofold.paper.salvage import MAGIC, Row, salvage_rows

Build = Callable[[Path, Iterable[Row]], int]
"""Function that writes a new store with those rows that are whole, and counts them."""

_DAMAGED = "damaged"
_LOG = "-wal"


def repair_is_pending(path: Path) -> bool:
    """Return whether a repair of the store at ``path`` is ready but not in place."""
    return _prepared(path).exists()


def prepare_repair(path: Path, build: Build) -> None:
    """Write a repaired store, and copies of the damaged one and its log.

    They are in a folder that appears only when all of it is on the disk.
    """
    folder = path.with_name(f"{path.name}.repairing")
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    folder.mkdir()
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
        for written in (*folder.iterdir(), folder):
            _sync(written)
        os.rename(folder, _prepared(path))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _sync(path.parent)


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
            aside = _free_name(path)
            kept = aside.with_name(aside.name + suffix)
            os.replace(folder / (_DAMAGED + suffix), kept)
    folder.rmdir()
    _sync(path.parent)
    return aside


def _prepared(path: Path) -> Path:
    """Return the folder of a prepared repair."""
    return path.with_name(f"{path.name}.repaired")


def _free_name(path: Path) -> Path:
    """Return a path beside the store at which nothing is kept yet."""
    aside, number = path.with_name(f"{path.name}.damaged"), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{number}")
    return aside


def _sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk, where the system can."""
    with suppress(PermissionError):  # Windows opens no folders
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
