"""Store of results: an SQLite file.

SQLite transactions survive a kill at any point and a full disk, several processes may
write to one file, adding a row costs microseconds, and SQLite comes with Python. A
Parquet file cannot be appended to, and a folder of thousands of small files is slow to
read. DuckDB allows only one process to write.
"""

import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from threading import Lock

from twofold.paper.jobs import Result
from twofold.paper.repair import (
    finish_repair,
    prepare_repair,
    repair_fits,
    repair_is_pending,
    set_repair_aside,
)
from twofold.paper.salvage import Row
from twofold.paper.store_file import (
    ADD_ORIGIN,
    ADD_RESULT,
    COLUMNS,
    STORED,
    DamagedError,
    build,
    connect,
    digest,
    is_damage,
    is_store,
    is_whole,
    refuse_others,
    row_of,
)
from twofold.paper.store_lock import InTheWayError, StoreLock, is_busy

_PATIENCE = 5.0
"""Seconds to wait for others to close a damaged store."""


class StoreError(RuntimeError):
    """A store cannot be read or written."""


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
        self._file_and_log = str(self._file), f"{self._file}-wal"
        self._thread_lock = Lock()  # joblib draws jobs in a separate thread
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            refuse_others(self._file)
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
        origins = {(digest(result.origin), result.origin) for result in results}
        rows = [row_of(result) for result in results]
        try:
            with self._thread_lock, self._connection:
                self._connection.executemany(ADD_ORIGIN, origins)
                self._connection.executemany(ADD_RESULT, rows)
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
        names = ", ".join(COLUMNS)
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
            except DamagedError as damage:
                self._repair(damage)
        raise sqlite3.OperationalError("it is damaged again after a repair")

    def _repair(self, damage: DamagedError) -> None:
        """Replace the file by one with its readable rows, unless another process has.

        Results of a process that has the file open would be lost: while there is one,
        a damaged store is refused.
        """
        before = _identity(self._file)

        def replaced() -> bool:
            return _identity(self._file) != before

        if self._lock.hold_alone(_PATIENCE, needless=replaced):
            if repair_is_pending(self._file) and not repair_fits(self._file, is_store):
                self._set_repair_aside()
                return  # the store itself is looked at next
            kept = _repair_alone(self._file)
            if kept is not None:
                self._repairs.append(f"is damaged ({damage}), and is kept as {kept}")
        elif not replaced():
            raise StoreError(
                f"the store {self.path} is damaged ({damage}), and is not repaired "
                "while other processes have it open; what they write is safe: when "
                "they have ended, run the same command again"
            )

    def _set_repair_aside(self) -> None:
        """Keep an interrupted repair out of the way of what is at the path now."""
        aside = set_repair_aside(self._file)
        warnings.warn(
            f"the store {self.path} is not the one whose repair was interrupted, or "
            f"the repair is damaged: the store is taken as it is, and the repair is "
            f"kept in {aside}",
            stacklevel=5,
        )

    def _identify(self) -> list[tuple[int, int] | None]:
        """Return the identities of the file and its log: the same until the close."""
        return list(map(_identity, self._file_and_log))

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
        rows = self._read(f"SELECT rowid, {', '.join(STORED)} FROM results")
        return [(rowid,) for rowid, *row in rows if not is_whole(tuple(row))]


def _identity(path: str | Path) -> tuple[int, int] | None:
    """Return what tells a file from others at the same path; None if there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _way_out(failure: Exception, otherwise: str) -> str:
    """Return what to do after an error."""
    if is_damage(failure):
        return (
            "it is repaired when it is opened and no other process has it open: run "
            "the same command again"
        )
    if isinstance(failure, InTheWayError):
        return "move it away and run the same command again"
    if is_busy(failure):
        return "run the same command again"
    return otherwise


def _repair_alone(path: Path) -> Path | None:
    """Repair a store, with its lock held alone. Return where the damaged one is kept.

    Nothing is done if the store turns out to be whole.
    """
    if not repair_is_pending(path):
        try:
            connect(path).close()
            return None
        except DamagedError:
            prepare_repair(path, build)
    return finish_repair(path)


def _connect_whole(path: Path) -> sqlite3.Connection:
    """Open or create a store. Raise an error if it needs a repair."""
    if repair_is_pending(path):
        raise DamagedError("its repair was interrupted")
    return connect(path)
