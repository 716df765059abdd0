"""The SQLite file of a store: its tables, its rows and the checks of both."""

import hashlib
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any

from twofold.paper.jobs import Result
from twofold.paper.salvage import Row, decode_text
from twofold.paper.store_lock import lock_file

COLUMNS = tuple(
    "setting" if field.name == "grid_point" else field.name for field in fields(Result)
)
"""Columns of a result, in the order of its fields. The grid point is ``setting``."""

STORED = (*COLUMNS, "checksum")
_INTEGERS = ("n_clusters", "subset", "seed", "max_iter", "n_samples", "n_iter")
_REALS = ("accuracy", "nmi", "purity", "seconds", "finished")
_TYPES = dict.fromkeys(_INTEGERS, "INTEGER") | dict.fromkeys(_REALS, "REAL")
_FORMAT = 1
"""Format in the ``user_version`` of the file. Other formats are refused."""

_APPLICATION = 0x32464C44
"""Mark in the ``application_id`` of the file. Files of other programs are refused."""

ADD_ORIGIN = "INSERT OR IGNORE INTO origins VALUES (?, ?)"
# A result that is already stored is kept, unless its fit failed.
ADD_RESULT = (
    f"INSERT INTO results VALUES ({', '.join('?' * len(STORED))}) ON CONFLICT (key) "
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in STORED)} "
    "WHERE error IS NOT NULL"
)

_CREATE = (
    "CREATE TABLE results ("
    + ", ".join(
        f"{name} {_TYPES.get(name, 'TEXT')}" + " PRIMARY KEY" * (name == "key")
        for name in STORED
    )
    + ")",
    "CREATE TABLE origins (id TEXT PRIMARY KEY, about TEXT)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_FORMAT}",
)

_BUSY_TIMEOUT = 60.0
"""Seconds to wait while another process writes."""


class DamagedError(Exception):
    """Some pages of a store cannot be read."""


def refuse_others(path: Path) -> None:
    """Refuse a file of another program before a lock is written beside it."""
    if path.exists() and not lock_file(path).exists():
        with closing(_look_at(path)) as connection:
            try:
                _check_format(connection)
            except sqlite3.DatabaseError as failure:
                if not is_damage(failure):
                    raise


def is_store(path: Path) -> bool:
    """Return whether a file is a whole store. Nothing is written."""
    with closing(_look_at(path)) as connection:
        try:
            return not _check_format(connection) and _verdict(connection) == "ok"
        except sqlite3.DatabaseError:
            return False


def _look_at(path: Path) -> sqlite3.Connection:
    """Open a file without locks and the log."""
    return sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)


def _verdict(connection: sqlite3.Connection) -> str:
    """Return what SQLite finds on the pages of a file."""
    [(verdict,)] = connection.execute("PRAGMA quick_check(1)")
    return str(verdict)


def is_damage(failure: Exception) -> bool:
    """Return whether an error is damage, and not a lock or a full disk."""
    return "malformed" in str(failure)


def connect(path: Path) -> sqlite3.Connection:
    """Open a store, or create one in a single transaction."""
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT, check_same_thread=False)
    connection.text_factory = decode_text
    try:
        _check_format(connection)
        # In WAL mode readers and the writer do not wait for each other. With NORMAL no
        # commit waits for the disk: a power failure may lose the last commits, but
        # never part of a commit.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        with connection:
            # The write lock is taken before the check, which would be stale otherwise.
            connection.execute("BEGIN IMMEDIATE")
            if _check_format(connection):  # no other process has created it
                for statement in _CREATE:
                    connection.execute(statement)
        if (verdict := _verdict(connection)) != "ok":
            raise DamagedError(verdict.splitlines()[-1])
    except sqlite3.DatabaseError as failure:
        connection.close()
        # A store whose first page is lost looks like the file of another program.
        if is_damage(failure) or "not a database" in str(failure):
            raise DamagedError(failure) from failure
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def _check_format(connection: sqlite3.Connection) -> bool:
    """Refuse a file of another program or format. Return whether it is empty."""
    [(tables,)] = connection.execute("SELECT count(*) FROM sqlite_master")
    [(application,)] = connection.execute("PRAGMA application_id")
    [(version,)] = connection.execute("PRAGMA user_version")
    if tables and application != _APPLICATION:
        raise sqlite3.OperationalError("it is not a store of twofold")
    if tables and version != _FORMAT:
        raise sqlite3.OperationalError(
            f"its format is {version}, this version of twofold reads {_FORMAT}"
        )
    return not tables


def build(path: Path, rows: Iterable[Row]) -> int:
    """Write a new store with those rows that are whole. Return the number of results.

    Closed, the store has no log.
    """
    with closing(connect(path)) as connection, connection:
        for row in rows:
            if len(row) == len(STORED):
                # SQLite keeps a whole number as an integer, whatever its column is.
                row = tuple(map(_as_column, STORED, row))
                if is_whole(row):
                    connection.execute(ADD_RESULT, row)
            elif len(row) == 2 and row[0] == digest(str(row[1])):
                connection.execute(ADD_ORIGIN, row)
        [(count,)] = connection.execute("SELECT count(*) FROM results")
    return count


def _as_column(name: str, value: Any) -> Any:
    """Return a value as SQLite returns it from a column."""
    return float(value) if name in _REALS and isinstance(value, int) else value


def row_of(result: Result) -> Row:
    """Return the row of a result, with a digest of its origin and a checksum.

    Many results share an origin, whose text is stored once in ``origins``.
    """
    row = astuple(replace(result, origin=digest(result.origin)))
    return (*row, _checksum(row))


def is_whole(row: Row) -> bool:
    """Return whether a row matches its checksum."""
    return _checksum(row[:-1]) == row[-1]


def _checksum(row: Row) -> str:
    return digest(repr(row))


def digest(text: str) -> str:
    """Return 16 characters that stand for a text."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
