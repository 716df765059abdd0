"""What can be had of a damaged SQLite file, and whether its log is whole."""

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Row = tuple[Any, ...]

_LOOKS, _PAUSE = 4, 0.1
"""How often a log is looked at before it is taken for torn, and seconds between."""

_LOG_HEADER, _FRAME_HEADER = 32, 24
"""Bytes, in the write-ahead log of SQLite."""


def salvage(path: Path) -> tuple[list[Row], list[Row]]:
    """Origins and results that can be read in a damaged file, from either end."""
    with TemporaryDirectory(dir=path.parent) as folder:
        copy = _whole_length(path, Path(folder))
        return _readable(copy, "origins"), _readable(copy, "results")


def _readable(path: Path, table: str) -> list[Row]:
    rows: dict[object, Row] = {}
    for direction in ("ASC", "DESC"):
        query = f"SELECT * FROM {table} ORDER BY rowid {direction}"
        with closing(sqlite3.connect(path)) as connection:
            try:
                for row in connection.execute(query):
                    rows.setdefault(row[0], row)
            except sqlite3.DatabaseError:
                continue
    return list(rows.values())


def _whole_length(path: Path, folder: Path) -> Path:
    """A copy with zeros for what was cut off: SQLite reads no file that is short."""
    for suffix in ("", "-wal"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            shutil.copyfile(part, folder / part.name)
    copy = folder / path.name
    with copy.open("r+b") as file:
        header = file.read(32)
        pages, size = header[28:32], header[16:18]
        file.truncate(int.from_bytes(pages) * (int.from_bytes(size) or 65536))
    return copy


def set_aside(path: Path) -> Path:
    """Rename a damaged store, and drop the files that SQLite keeps beside it."""
    aside, number = path.with_name(f"{path.name}.damaged"), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{number}")
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside


def log_is_torn(path: Path, connection: sqlite3.Connection) -> bool:
    """Whether the write-ahead log of a database goes on beyond what SQLite reads of it.

    It looks again before it says so: another process may be writing.
    """
    for _ in range(_LOOKS):
        before = _frames_in_log(path)
        [(_, read, _)] = connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        if read >= min(before, _frames_in_log(path)):
            return False
        time.sleep(_PAUSE)
    return True


def _frames_in_log(path: Path) -> int:
    """How many pages the current write-ahead log of a database has, whole or torn."""
    log = path.with_name(f"{path.name}-wal")
    content = log.read_bytes() if log.is_file() else b""
    if len(content) <= _LOG_HEADER:
        return 0
    size = _FRAME_HEADER + int.from_bytes(content[8:12])
    salt, frames = content[16:24], 0
    # Beyond the end of the current log there may be frames of earlier ones.
    for begin in range(_LOG_HEADER, len(content), size):
        if content[begin + 8 : begin + 16] != salt:
            break
        frames += 1
    return frames
