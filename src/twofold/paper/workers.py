"""Execution of jobs: in this process, in local processes, or on a Dask cluster."""

import importlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

from twofold.paper.jobs import Result, run_job
from twofold.paper.protocol import Job

Done = tuple[Job, list[Result]]
"""A finished job and its results."""


class ClusterError(RuntimeError):
    """A cluster or a worker process cannot be used."""


def run_here(jobs: Iterable[Job], n_jobs: int, device: str | None) -> Iterator[Done]:
    """Run jobs in ``n_jobs`` local processes of one thread each.

    Jobs are drawn from the iterable just fast enough to keep the processes busy.
    Results are returned in the order in which the jobs end.
    """
    if effective_n_jobs(n_jobs) == 1:
        yield from (_run(job, device) for job in jobs)
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        # A job that is drawn is claimed, so no more are drawn than are needed soon.
        parallel = Parallel(
            n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs"
        )
        done = parallel(delayed(_run)(job, device) for job in jobs)
        try:
            with closing(done):
                yield from done
        except TerminatedWorkerError:
            raise ClusterError(
                "a worker process was killed, perhaps for want of memory; run it again "
                "to go on, with fewer --jobs if that is the reason"
            ) from None


def run_on_cluster(
    jobs: Iterable[Job], address: str, device: str | None
) -> Iterator[Done]:
    """Run jobs on the workers of a Dask scheduler.

    Dask gives the job of a dead worker to another worker.
    """
    client, distributed = _client(address)
    jobs = iter(jobs)
    running = distributed.as_completed(with_results=True, raise_errors=False)

    def submit_ahead() -> None:
        """Submit jobs until there are two for each thread of the current workers."""
        # Workers may join and leave, so their threads are counted every time.
        ahead = 2 * sum(client.nthreads().values())
        for job in islice(jobs, max(0, ahead - running.count())):
            # With pure=True Dask would return its cached result of an equal job.
            running.add(client.submit(_run, job, device, pure=False))

    try:
        submit_ahead()
        for future, done in running:
            if future.status != "finished":
                raise ClusterError(
                    f"a job was lost ({future.status}: {done!r}); run it again to go on"
                )
            submit_ahead()
            yield done
    finally:
        client.close()


def _client(address: str) -> tuple[Any, Any]:
    """Connect to a scheduler. Return the client and the module ``distributed``."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise ClusterError(
            "--scheduler needs Dask: pip install 'twofold[dask]'"
        ) from None
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as failure:
        raise ClusterError(
            f"--scheduler {address} cannot be reached: {failure}"
        ) from None
    if not client.nthreads():
        client.close()
        raise ClusterError(f"--scheduler {address} has no workers; start some first")
    return client, distributed


def _run(job: Job, device: str | None) -> Done:
    return job, run_job(job, device)
