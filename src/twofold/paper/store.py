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
from dataclasses import astuple, fields, replace
from pathlib import Path
from threading import Lock

from twofold.paper.jobs import Result
from twofold.paper.salvage import Row, salvage_rows, set_aside

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
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = Lock()  # joblib draws jobs in a separate thread
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._open()
        except (sqlite3.Error, OSError) as failure:
            raise StoreError(
                f"cannot open the store {self.path}: {failure}; name another"
            ) from None
        self._drop_damaged_rows()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add(self, results: Iterable[Result]) -> None:
        """Add results in one transaction. Stored results stay unless they failed."""
        results = list(results)
        origins = {(_digest(result.origin), result.origin) for result in results}
        rows = [_row(result) for result in results]
        try:
            with self._lock, self._connection:
                self._connection.executemany(_ADD_ORIGIN, origins)
                self._connection.executemany(_ADD_RESULT, rows)
        except sqlite3.Error as failure:
            raise StoreError(
                f"cannot write to the store {self.path}: {failure}; what was written "
                "before is safe, and the same command goes on from there"
            ) from None

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
            with self._lock:
                return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as failure:
            raise StoreError(f"cannot read the store {self.path}: {failure}") from None

    def _open(self) -> sqlite3.Connection:
        """Connect to the file. Replace a damaged file by one with its readable rows."""
        try:
            return _connect(self.path)
        except _DamagedError as damage:
            origins, kept = salvage_rows(self.path)
            damaged = set_aside(self.path)
            connection = _connect(self.path)  # creates a new file
            warnings.warn(
                f"the store {self.path} is damaged ({damage}): {len(kept)} results "
                f"were saved from it, the rest will be run again; the damaged file is "
                f"kept as {damaged}",
                stacklevel=3,
            )
            with connection:
                connection.executemany(_ADD_ORIGIN, origins)
                connection.executemany(_ADD_RESULT, kept)
            return connection

    def _drop_damaged_rows(self) -> None:
        """Delete the rows that do not match their checksum."""
        rows = self._read(f"SELECT rowid, {', '.join(_STORED)} FROM results")
        damaged = [
            (rowid,)
            for rowid, *row, checksum in rows
            if _checksum(tuple(row)) != checksum
        ]
        if damaged:
            warnings.warn(
                f"the store {self.path} has {len(damaged)} damaged record(s), which "
                "are dropped and will be run again",
                stacklevel=3,
            )
            delete = "DELETE FROM results WHERE rowid = ?"
            with self._connection:
                self._connection.executemany(delete, damaged)


def _connect(path: Path) -> sqlite3.Connection:
    """Open a store, or create one in a single transaction."""
    connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT, check_same_thread=False)
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
        # Errors such as a lock or a full disk are no damage.
        if "malformed" in str(failure):
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
