"""Execution of jobs: in this process, or in local processes."""

import importlib
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

from twofold.paper.jobs import Result, run_job
from twofold.paper.protocol import Job

Done = tuple[Job, list[Result]]
"""A finished job and its results."""

_LOOK_EVERY = 1.0
"""Seconds between two looks of a worker at whether its parent is there."""


class ClusterError(RuntimeError):
    """A cluster or a worker process cannot be used."""


def run_here(jobs: Iterable[Job], n_jobs: int, device: str | None) -> Iterator[Done]:
    """Run jobs in ``n_jobs`` local processes of one thread each.

    Jobs are drawn from the iterable just fast enough to keep the processes busy.
    Results are returned in the order in which the jobs end.
    """
    if effective_n_jobs(n_jobs) == 1:
        yield from (run_one(job, device) for job in jobs)
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        # A job that is drawn is claimed, so no more are drawn than are needed soon.
        parallel = Parallel(
            n_jobs,
            return_as="generator_unordered",
            pre_dispatch="2*n_jobs",
            initializer=_end_with_parent,
            initargs=(os.getpid(),),
        )
        tasks = (delayed(run_one)(job, device) for job in jobs)
        try:
            with ExitStack() as stack:
                with _interrupts_held():
                    done = stack.enter_context(closing(parallel(tasks)))
                yield from done
        except TerminatedWorkerError:
            raise ClusterError(
                "a worker process was killed, perhaps for want of memory; run it again "
                "to go on, with fewer --jobs if that is the reason"
            ) from None


def run_one(job: Job, device: str | None) -> Done:
    """Return a job and its results."""
    return job, run_job(job, device)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back for a moment. Processes that are started now never get it.

    A worker that is still starting would print a traceback. The parent ends it.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    # These two processes, when they are started, let Ctrl-C through again.
    for module in ("multiprocessing", "joblib.externals.loky.backend"):
        importlib.import_module(f"{module}.resource_tracker").ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent(parent: int) -> None:
    """End this process soon after its parent, even if that is killed.

    On Windows it goes on: there a process keeps the number of its parent for good.
    """

    def look() -> None:
        # The system gives a process whose parent has ended to another parent.
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()
