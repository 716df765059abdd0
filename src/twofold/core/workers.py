"""Threads that share the work of a fit, each with BLAS and OpenMP of one thread.

The arrays of an iteration are too small for BLAS to divide among cores: its threads
wait for each other longer than they compute. Whole sides, or whole runs, are not.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from array_api_compat import is_numpy_array
from threadpoolctl import ThreadpoolController

from twofold.core.arrays import Array

MOST_SAMPLES = 20_000
"""Number of samples from which on BLAS gets the threads.

Its products are large enough then, and what both sides compute would be held at once.
"""


@dataclass(frozen=True)
class Workers:
    """A number of threads, and a ``map`` that divides its calls among them."""

    count: int = 1
    pool: ThreadPoolExecutor | None = None

    def map(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a function for all arguments; the calls must not share what they change.

        The calls must not divide their own work among the same workers.
        """
        run = map if self.pool is None else self.pool.map
        return list(run(function, *arguments))


ALONE = Workers()
"""The calling thread, for all that is not divided."""


@contextmanager
def workers_for(samples: Array) -> Iterator[Workers]:
    """Return as many workers as BLAS has threads here, and give it one for the time.

    Without several threads, on a device, and for many samples there is one worker.
    """
    if not is_numpy_array(samples) or samples.shape[0] >= MOST_SAMPLES:
        yield ALONE
        return
    with single_threads as count:
        if count == 1:
            yield ALONE
        else:
            with ThreadPoolExecutor(count) as pool:
                yield Workers(count, pool)


class _SingleThreads:
    """Context in which BLAS and OpenMP have one thread; it returns how many BLAS had.

    The setting is that of the process: of several contexts at once, as of fits in
    threads of the user's, the first sets it and the last one takes it back.
    """

    def __init__(self) -> None:
        self.lock, self.users, self.before = Lock(), 0, 1
        self.limit: Any = None

    def __enter__(self) -> int:
        with self.lock:
            self.users += 1
            if self.users == 1:
                libraries = _libraries()
                found = libraries.select(user_api="blas").info()
                self.before = max((each["num_threads"] for each in found), default=1)
                self.limit = libraries.limit(limits=1)
            return self.before

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.limit.restore_original_limits()


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that have threads; looking for them takes milliseconds."""
    return ThreadpoolController()


single_threads = _SingleThreads()
"""Context in which BLAS and OpenMP have one thread."""
