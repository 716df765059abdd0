"""Execution of jobs on a Dask cluster."""

import importlib
import logging
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from twofold.paper.protocol import Job
from twofold.paper.workers import ClusterError, Done, run_one

_POLL_INTERVAL = 0.05
"""Seconds between two looks for finished jobs."""

_LOOK_EVERY = 2.0
"""Seconds between two looks at whether there are workers."""

_PATIENCE = 600.0
"""Seconds to wait for a worker when there is none."""

_ANSWER = 60.0
"""Seconds to wait for an answer of the scheduler, which may hang."""


def run_on_cluster(
    jobs: Iterable[Job], address: str, device: str | None
) -> Iterator[Done]:
    """Run jobs on the workers of a Dask scheduler.

    Dask gives the job of a dead worker to another worker. If there is none left, a
    warning says so, and the run ends after ten minutes. It ends after a minute without
    an answer of the scheduler.
    """
    distributed = _import_dask()
    with _dask_logs_nothing(), _connected(distributed, address) as client:
        running = distributed.as_completed(with_results=True, raise_errors=False)
        workers = _Workers(client, address)
        jobs = iter(jobs)

        def submit_ahead() -> None:
            """Submit jobs until there are two for each thread of the workers."""
            ahead = 2 * workers.threads()
            for job in islice(jobs, max(0, ahead - running.count())):
                # With pure=True Dask would return its cached result of an equal job.
                running.add(client.submit(run_one, job, device, pure=False))

        submit_ahead()
        while running.count():
            batch = running.next_batch(block=False)
            for future, done in batch:
                workers.check(future, done)
                submit_ahead()
                yield done
            if not batch:
                workers.look(running.count())
                time.sleep(_POLL_INTERVAL)


class _Workers:
    """The workers of a scheduler, which may join and leave."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._looked = self._seen = time.monotonic()  # seen: when there was one

    def threads(self) -> int:
        """Return the number of threads of all workers."""
        try:
            return sum(self._client.nthreads(callback_timeout=_ANSWER).values())
        except Exception as failure:  # Dask raises errors of many kinds
            raise self._gone() from failure

    def check(self, future: Any, done: Any) -> None:
        """Raise an error if a job has not been run."""
        # A worker may die after its result was fetched: the future is then lost.
        if future.status in ("finished", "lost") and isinstance(done, tuple):
            return
        if self._client.status != "running":
            raise self._gone()
        raise ClusterError(
            f"a job was lost ({future.status}: {done!r}); run it again to go on"
        )

    def look(self, waiting: int) -> None:
        """Say from time to time that there is no worker, and give up in the end."""
        if self._client.status != "running":
            raise self._gone()
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return
        if self.threads():
            self._seen = now
        elif self._seen == self._looked:
            warnings.warn(
                f"--scheduler {self._address} has no workers left, and {waiting} jobs "
                f"wait for one for {_PATIENCE / 60:.0f} minutes; Ctrl-C ends it",
                stacklevel=2,
            )
        elif now - self._seen > _PATIENCE:
            raise ClusterError(
                f"--scheduler {self._address} has had no workers for "
                f"{_PATIENCE / 60:.0f} minutes; start some and run it again to go on"
            )
        self._looked = now

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"--scheduler {self._address} has ended or cannot be reached any more; "
            "when there is one, run it again to go on"
        )


def _import_dask() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise ClusterError(
            "--scheduler needs Dask: pip install 'twofold[dask]'"
        ) from None


@contextmanager
def _connected(distributed: Any, address: str) -> Iterator[Any]:
    """Connect to a scheduler that has workers. Yield the client."""
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as failure:
        raise ClusterError(
            f"--scheduler {address} cannot be reached: {failure}"
        ) from None
    try:
        if not _Workers(client, address).threads():
            raise ClusterError(
                f"--scheduler {address} has no workers; start some first"
            )
        yield client
    finally:
        client.close(timeout=2)


@contextmanager
def _dask_logs_nothing() -> Iterator[None]:
    """Silence Dask for the time of a run: errors are raised, and said in one line."""

    def is_of_another(record: logging.LogRecord) -> bool:
        return not _is_dask(record.name)

    names = filter(_is_dask, list(logging.root.manager.loggerDict))
    handlers = {h for name in names for h in logging.getLogger(name).handlers}
    if logging.lastResort is not None:  # gets what has no handler
        handlers.add(logging.lastResort)
    for handler in handlers:
        handler.addFilter(is_of_another)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_of_another)


def _is_dask(logger: str) -> bool:
    """Return whether a logger is one of Dask and what it stands on."""
    return logger.partition(".")[0] in ("distributed", "tornado", "asyncio")
