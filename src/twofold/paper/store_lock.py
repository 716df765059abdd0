"""Lock of a store: shared by all that have it open, held alone for a repair."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

_SHARE_TIMEOUT = 60.0
"""Seconds to wait for a repair by another process."""

_POLL = 0.1
"""Seconds of one attempt to hold the lock alone."""


class InTheWayError(OSError):
    """Something that is not from a store has a name that the store needs."""


def is_busy(failure: Exception) -> bool:
    """Return whether an error is a lock that another process holds."""
    return "database is locked" in str(failure)


class StoreLock:
    """Lock on an empty file beside a store, which is never deleted or replaced.

    SQLite locks it. Its locks hold wherever those of the store itself do, between
    processes and within one, and the system releases them when their process ends.
    """

    def __init__(self, store: Path) -> None:
        self._path = lock_file(store)
        if self._path.exists() and not self._path.is_file():
            raise InTheWayError(f"{self._path} is in the way of its lock")
        try:
            self._connection = sqlite3.connect(
                self._path, isolation_level=None, check_same_thread=False
            )
        except sqlite3.OperationalError as failure:
            raise self._named(failure) from None

    def share(self) -> None:
        """Hold the lock with others. Wait while another process holds it alone."""
        self._release()
        self._set_timeout(_SHARE_TIMEOUT)
        # A transaction that has read holds SQLite's shared lock until its end.
        self._connection.execute("BEGIN")
        try:
            self._connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.DatabaseError as failure:
            if is_busy(failure):
                raise sqlite3.OperationalError(
                    f"another process may be repairing it ({failure})"
                ) from None
            raise self._named(failure) from None

    def hold_alone(self, patience: float, needless: Callable[[], bool]) -> bool:
        """Try to hold the lock alone. Return whether it is held.

        The attempts end after ``patience`` seconds, or when they are ``needless``.
        """
        self._release()
        self._set_timeout(_POLL)
        end = time.monotonic() + patience
        while not needless():
            try:
                self._connection.execute("BEGIN EXCLUSIVE")
                return True
            except sqlite3.OperationalError as failure:
                if not is_busy(failure):
                    raise self._named(failure) from None
                if time.monotonic() > end:
                    break
        return False

    def close(self) -> None:
        """Release the lock."""
        self._connection.close()

    def _named(self, failure: sqlite3.DatabaseError) -> Exception:
        """Return an error that names the lock, not the store."""
        if "not a database" in str(failure):
            return InTheWayError(f"{self._path} is in the way of its lock")
        return sqlite3.OperationalError(f"its lock {self._path}: {failure}")

    def _release(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _set_timeout(self, seconds: float) -> None:
        self._connection.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")


def lock_file(store: Path) -> Path:
    """Return the file that is locked for a store."""
    return store.with_name(f"{store.name}.lock")
