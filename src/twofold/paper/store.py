"""Store of results: an SQLite file.

SQLite transactions survive a kill at any point and a full disk, several processes may
write to one file, adding a row costs microseconds, and SQLite comes with Python. A
Parquet file cannot be appended to, and a folder of thousands of small files is slow to
read. DuckDB allows only one process to write.
"""

import hashlib
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import astuple, fields, replace
from pathlib import Path
from threading import Lock
from typing import Any

from twofold.paper.jobs import Result
from twofold.paper.repair import finish_repair, prepare_repair, repair_is_pending
from twofold.paper.salvage import Row, decode_text
from twofold.paper.store_lock import StoreLock, lock_file

_COLUMNS = tuple(
    "setting" if field.name == "grid_point" else field.name for field in fields(Result)
)
"""Columns of a result, in the order of its fields. The grid point is ``setting``."""

_STORED = (*_COLUMNS, "checksum")
_INTEGERS = ("n_clusters", "subset", "seed", "max_iter", "n_samples", "n_iter")
_REALS = ("accuracy", "nmi", "purity", "seconds", "finished")
_TYPES = dict.fromkeys(_INTEGERS, "INTEGER") | dict.fromkeys(_REALS, "REAL")
_FORMAT = 1
"""Format in the ``user_version`` of the file. Other formats are refused."""

_APPLICATION = 0x32464C44
"""Mark in the ``application_id`` of the file. Files of other programs are refused."""

_ADD_ORIGIN = "INSERT OR IGNORE INTO origins VALUES (?, ?)"
# A result that is already stored is kept, unless its fit failed.
_ADD_RESULT = (
    f"INSERT INTO results VALUES ({', '.join('?' * len(_STORED))}) ON CONFLICT (key) "
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _STORED)} "
    "WHERE error IS NOT NULL"
)

_CREATE = (
    "CREATE TABLE results ("
    + ", ".join(
        f"{name} {_TYPES.get(name, 'TEXT')}" + " PRIMARY KEY" * (name == "key")
        for name in _STORED
    )
    + ")",
    "CREATE TABLE origins (id TEXT PRIMARY KEY, about TEXT)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_FORMAT}",
)

_BUSY_TIMEOUT = 60.0
"""Seconds to wait while another process writes."""

_PATIENCE = 5.0
"""Seconds to wait for others to close a damaged store."""


class StoreError(RuntimeError):
    """A store cannot be read or written."""


class _DamagedError(Exception):
    """Some pages of a store cannot be read."""


class Store:
    """Results by key, in an SQLite file.

    Each row carries a checksum. A row that does not match its checksum, and every row
    on a damaged page, is dropped with a warning when the store is opened. The runner
    then computes the result again. After a crash SQLite itself recovers the write-ahead
    log: it replays every complete commit up to the first damaged frame. A store that
    does not exist is created.

    Several processes may have a store open, each with a shared lock. A damaged file is
    repaired only by a process that holds the lock alone.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = self.path.resolve()  # SQLite follows links too
        self._log = self._file.with_name(f"{self._file.name}-wal")
        self._thread_lock = Lock()  # joblib draws jobs in a separate thread
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            _refuse_others(self._file)
            with ExitStack() as opened:
                self._lock = opened.enter_context(closing(StoreLock(self._file)))
                self._connection = opened.enter_context(closing(self._open()))
                self._identities = self._identify()
                self._warn_of_repairs()
                self._drop_damaged_rows()
                self._opened = opened.pop_all()
        except (sqlite3.Error, OSError) as failure:
            raise StoreError(
                f"cannot open the store {self.path}: {failure}; "
                f"{_way_out(failure, 'name another')}"
            ) from None

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release its lock."""
        self._opened.close()

    def add(self, results: Iterable[Result]) -> None:
        """Add results in one transaction. Stored results stay unless they failed.

        When it returns, the results are in the file at the path of the store.
        """
        results = list(results)
        origins = {(_digest(result.origin), result.origin) for result in results}
        rows = [_row(result) for result in results]
        try:
            with self._thread_lock, self._connection:
                self._connection.executemany(_ADD_ORIGIN, origins)
                self._connection.executemany(_ADD_RESULT, rows)
        except sqlite3.Error as failure:
            way_out = _way_out(failure, "the same command goes on from there")
            raise StoreError(
                f"cannot write to the store {self.path}: {failure}; what was written "
                f"before is safe, and {way_out}"
            ) from None
        # Within the transaction this check could come too early.
        if self._identify() != self._identities:
            raise StoreError(
                f"the store {self.path} or its log was moved, replaced or deleted "
                "while it was open, and the last results are not in it; the same "
                "command goes on from what is there now"
            )

    def keys(self, *, failed: bool = True) -> set[str]:
        """Return the keys of all results, with or without failed fits."""
        where = "" if failed else " WHERE error IS NULL"
        return {key for (key,) in self._read(f"SELECT key FROM results{where}")}

    def has(self, keys: Sequence[str], *, failed: bool = True) -> bool:
        """Return whether all keys have results, with or without failed fits."""
        where = "" if failed else " AND error IS NULL"
        marks = ", ".join("?" * len(keys))
        query = f"SELECT count(*) FROM results WHERE key IN ({marks}){where}"
        [(count,)] = self._read(query, keys)
        return count == len(keys)

    def results(self) -> Iterator[Result]:
        """Iterate over all results in the order in which they were added."""
        origins: dict[str, str] = dict(self._read("SELECT id, about FROM origins"))
        names = ", ".join(_COLUMNS)
        for row in self._read(f"SELECT {names} FROM results ORDER BY rowid"):
            result = Result(*row)
            # The origin may have been on a damaged page.
            yield replace(result, origin=origins.get(result.origin, "{}"))

    def mean_seconds(self) -> dict[tuple[str, str, int], float]:
        """Return the mean seconds of a fit by data set, method and n_clusters."""
        kind = "data, method, n_clusters"
        query = f"SELECT {kind}, avg(seconds) FROM results GROUP BY {kind}"
        return {tuple(kind): mean for *kind, mean in self._read(query)}

    def merge(self, other: "Store") -> int:
        """Add the results of another store. Return how many successful fits are new."""
        before = len(self.keys(failed=False))
        self.add(other.results())
        return len(self.keys(failed=False)) - before

    def _read(self, query: str, values: Sequence[str] = ()) -> list[Row]:
        try:
            with self._thread_lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as failure:
            raise StoreError(
                f"cannot read the store {self.path}: {failure}; "
                f"{_way_out(failure, 'run the same command again')}"
            ) from None

    def _open(self) -> sqlite3.Connection:
        """Connect to the file with a shared lock. Repair a damaged file first."""
        self._repairs: list[str] = []
        for _ in range(3):
            self._lock.share()
            try:
                return _connect_whole(self._file)
            except _DamagedError as damage:
                self._repair(damage)
        raise sqlite3.OperationalError("it is damaged again after a repair")

    def _repair(self, damage: _DamagedError) -> None:
        """Replace the file by one with its readable rows, unless another process has.

        Results of a process that has the file open would be lost: while there is one,
        a damaged store is refused.
        """
        before = _identity(self._file)

        def replaced() -> bool:
            return _identity(self._file) != before

        if self._lock.hold_alone(_PATIENCE, needless=replaced):
            kept = _repair_alone(self._file)
            if kept is not None:
                self._repairs.append(f"is damaged ({damage}), and is kept as {kept}")
        elif not replaced():
            raise StoreError(
                f"the store {self.path} is damaged ({damage}), and is not repaired "
                "while other processes have it open; what they write is safe: when "
                "they have ended, run the same command again"
            )

    def _identify(self) -> list[tuple[int, int] | None]:
        """Return the identities of the file and its log: the same until the close."""
        return [_identity(self._file), _identity(self._log)]

    def _warn_of_repairs(self) -> None:
        for repair in self._repairs:
            warnings.warn(
                f"the store {self.path} {repair}: {len(self.keys())} results were "
                "saved from it, the rest will be run again",
                stacklevel=3,
            )

    def _drop_damaged_rows(self) -> None:
        """Delete the rows that do not match their checksum."""
        if not self._damaged_rows():
            return
        with self._connection:
            # Another process may have dropped them meanwhile, and used their numbers.
            self._connection.execute("BEGIN IMMEDIATE")
            damaged = self._damaged_rows()
            delete = "DELETE FROM results WHERE rowid = ?"
            self._connection.executemany(delete, damaged)
        if damaged:
            warnings.warn(
                f"the store {self.path} has {len(damaged)} damaged record(s), which "
                "are dropped and will be run again",
                stacklevel=3,
            )

    def _damaged_rows(self) -> list[Row]:
        """Return the numbers of the rows that do not match their checksum."""
        rows = self._read(f"SELECT rowid, {', '.join(_STORED)} FROM results")
        return [
            (rowid,)
            for rowid, *row, checksum in rows
            if _checksum(tuple(row)) != checksum
        ]


def _refuse_others(path: Path) -> None:
    """Refuse a file of another program before a lock is written beside it."""
    if path.exists() and not lock_file(path).exists():
        address = f"{path.as_uri()}?immutable=1"  # without locks and the log
        with closing(sqlite3.connect(address, uri=True)) as connection:
            try:
                _check_format(connection)
            except sqlite3.DatabaseError as failure:
                if not _is_damage(failure):
                    raise


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from others at the same path; None if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _is_damage(failure: Exception) -> bool:
    """Return whether an error is damage, and not a lock or a full disk."""
    return "malformed" in str(failure)


def _way_out(failure: Exception, otherwise: str) -> str:
    """Return what to do after an error."""
    if _is_damage(failure):
        return (
            "it is repaired when it is opened and no other process has it open: run "
            "the same command again"
        )
    return otherwise


def _repair_alone(path: Path) -> Path | None:
    """Repair a store, with its lock held alone. Return where the damaged one is kept.

    Nothing is done if the store turns out to be whole.
    """
    if not repair_is_pending(path):
        try:
            _connect(path).close()
            return None
        except _DamagedError:
            prepare_repair(path, _build)
    return finish_repair(path)


def _build(path: Path, rows: Iterable[Row]) -> None:
    """Write a new store with those rows that are whole. Closed, it has no log."""
    with closing(_connect(path)) as connection, connection:
        for row in rows:
            if len(row) == len(_STORED):
                # SQLite keeps a whole number as an integer, whatever its column is.
                row = tuple(map(_as_column, _STORED, row))
                if _checksum(row[:-1]) == row[-1]:
                    connection.execute(_ADD_RESULT, row)
            elif len(row) == 2 and row[0] == _digest(str(row[1])):
                connection.execute(_ADD_ORIGIN, row)


def _as_column(name: str, value: Any) -> Any:
    """Return a value as SQLite returns it from a column."""
    return float(value) if name in _REALS and isinstance(value, int) else value


def _connect_whole(path: Path) -> sqlite3.Connection:
    """Open or create a store. Raise an error if it needs a repair."""
    if repair_is_pending(path):
        raise _DamagedError("its repair was interrupted")
    return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
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
        [(verdict,)] = connection.execute("PRAGMA quick_check(1)")
        if verdict != "ok":
            raise _DamagedError(verdict.splitlines()[-1])
    except sqlite3.DatabaseError as failure:
        connection.close()
        if _is_damage(failure):
            raise _DamagedError(failure) from failure
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


def _row(result: Result) -> Row:
    """Return the row of a result, with a digest of its origin and a checksum.

    Many results share an origin, whose text is stored once in ``origins``.
    """
    row = astuple(replace(result, origin=_digest(result.origin)))
    return (*row, _checksum(row))


def _checksum(row: Row) -> str:
    return _digest(repr(row))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
