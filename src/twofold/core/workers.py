"""Threads that share the work of a fit, with BLAS at one thread meanwhile.

The arrays of an iteration are too small for BLAS to divide among cores: its threads
wait for each other longer than they compute. Whole sides, or whole runs, are not.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from array_api_compat import is_numpy_array
from threadpoolctl import ThreadpoolController

from twofold.core.arrays import Array

FEWEST_FOR_BLAS = 5000
"""Number of samples from which on BLAS gets the threads: its products are large then,
and what both sides compute would be held at once.
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

_current: ContextVar[Workers | None] = ContextVar("workers", default=None)


@contextmanager
def workers_for(samples: Array) -> Iterator[Workers]:
    """Return as many workers as BLAS has threads here, and give it one for the time.

    Without several threads, on a device, and for many samples there is one worker, and
    BLAS stays as it is. A context within another has the workers of the outer one.
    """
    outer = _current.get()
    if outer is not None:
        yield outer
    elif not is_numpy_array(samples) or samples.shape[0] >= FEWEST_FOR_BLAS:
        yield ALONE
    else:
        with single_threads() as count, ThreadPoolExecutor(count) as pool:
            workers = ALONE if count == 1 else Workers(count, pool)
            token = _current.set(workers)
            try:
                yield workers
            finally:
                _current.reset(token)


@contextmanager
def single_threads() -> Iterator[int]:
    """Limit BLAS and OpenMP to one thread; return the number that BLAS had.

    The limit of BLAS is that of the process. A context within another, or beside one of
    another thread, leaves it to that one, and returns 1: if both took it back, the last
    would restore what the first had set.
    """
    if _limiting.acquire(blocking=False):
        try:
            found = _libraries().select(user_api="blas").info()
            with _libraries().limit(limits=1):
                yield max((each["num_threads"] for each in found), default=1)
        finally:
            _limiting.release()
    else:
        with _libraries().select(user_api="openmp").limit(limits=1):
            yield 1


_limiting = Lock()
"""Held by the context that limits BLAS."""


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that have threads; looking for them takes milliseconds."""
    return ThreadpoolController()
