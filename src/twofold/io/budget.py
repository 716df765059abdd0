"""A budget of memory that all decoding threads of a call share."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

DEFAULT = 2**30
"""Bytes for decoding images unless ``max_memory`` says otherwise."""


class StoppedError(Exception):
    """The call that the budget belongs to has ended."""


class Budget:
    """Bytes that threads take before they decode an image, and give back after.

    Threads are served in the order in which they ask, so that a large image does not
    wait for ever. A thread that holds a part must not ask for another: then all threads
    that hold one go on, and those that wait get theirs.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._free = total
        self._closed = False
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, amount: int, claim: str) -> Iterator[None]:
        """Wait until ``amount`` bytes are free, and hold them.

        Raise a ValueError if the whole budget is smaller; ``claim`` says what asks.
        """
        if amount > self.total:
            raise ValueError(
                f"{claim} take about {as_size(amount)} to read, more than the limit "
                f"of {as_size(self.total)}; raise it with max_memory, on the command "
                "line --max-memory"
            )
        turn = object()
        with self._changed:
            self._waiting.append(turn)
            try:
                self._changed.wait_for(lambda: self._served(turn, amount))
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()
            self.check()
            self._free -= amount
        try:
            yield
        finally:
            with self._changed:
                self._free += amount
                self._changed.notify_all()

    def _served(self, turn: object, amount: int) -> bool:
        first = self._waiting[0] is turn
        return self._closed or (first and amount <= self._free)

    def check(self) -> None:
        """Raise a ``StoppedError`` if the budget was closed."""
        if self._closed:
            raise StoppedError("stopped")

    def close(self) -> None:
        """Send away all threads that wait or will ask."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def as_size(n_bytes: int) -> str:
    """Return a number of bytes as text, such as '1.5 GiB'."""
    steps = min(max(n_bytes.bit_length() - 1, 0) // 10, 4)
    unit = ("bytes", "KiB", "MiB", "GiB", "TiB")[steps]
    return f"{n_bytes / 1024**steps:.{min(steps, 1)}f} {unit}"
