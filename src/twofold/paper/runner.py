"""From a protocol to a store that has all of its results."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

from joblib import effective_n_jobs

from twofold.core.devices import check_device
from twofold.paper.claims import Claims
from twofold.paper.estimate import Estimate, rough_seconds
from twofold.paper.jobs import Result
from twofold.paper.protocol import Job, Protocol, all_jobs
from twofold.paper.store import Store
from twofold.paper.workers import ClusterError, run_here, run_on_cluster

_PATIENCE = 0.5
"""Seconds between two looks at jobs that another process runs."""


@dataclass
class RunStatus:
    """How far a run is.

    Attributes
    ----------
    jobs, fits : int
        In all, of which ``found`` fits were in the store before.
    found : int
    jobs_done, fits_done, failed : int
        In this run, ``failed`` counting fits.
    elapsed, remaining : float
        Seconds of this run; ``remaining`` is an estimate.
    """

    jobs: int
    fits: int
    found: int
    remaining: float
    jobs_done: int = 0
    fits_done: int = 0
    failed: int = 0
    elapsed: float = 0.0
    begin: float = field(default_factory=time.monotonic)

    def advance(self, estimate: Estimate, job: Job, results: list[Result]) -> None:
        """Count a job that has ended, here or, without results, elsewhere."""
        self.jobs_done += 1
        self.fits_done += len(results)
        self.failed += sum(result.error is not None for result in results)
        self.elapsed = time.monotonic() - self.begin
        estimate.finish(job)
        self.remaining = estimate.seconds_left_after(self.elapsed)


StatusCallback = Callable[[RunStatus], None]


def run(
    protocol: Protocol,
    store: Store,
    *,
    n_jobs: int = -1,
    scheduler: str | None = None,
    shard: tuple[int, int] = (1, 1),
    device: str | None = None,
    retry: bool = False,
    callback: StatusCallback = lambda status: None,
) -> RunStatus:
    """Run every job of a protocol that a store does not have yet.

    Parameters
    ----------
    protocol : Protocol
    store : Store
        Gets the results of each job as it ends. Several processes may share one: each
        job is run by one of them.
    n_jobs : int, default=-1
        Processes of one thread each, as in joblib; -1 is one for every core.
    scheduler : str or None
        Address of a Dask scheduler whose workers run the jobs instead.
    shard : (int, int), default=(1, 1)
        Which part of the jobs this run is to do, from 1, and of how many.
    device : str or None
        Where methods that take tensors fit them, such as "cuda".
    retry : bool, default=False
        Whether fits that failed are run again.
    callback : callable
        Called with the state of the run before it starts and after each job.

    Returns
    -------
    RunStatus
        At the end.
    """
    if scheduler is None:
        check_device(device)
    jobs = part_of(all_jobs(protocol), *shard)
    done = store.keys(failed=not retry)
    waiting = [job for job in jobs if not done.issuperset(job.keys)]
    estimate = Estimate(store, waiting)
    status = RunStatus(
        jobs=len(waiting),
        fits=sum(len(job.grid_points) for job in jobs),
        found=sum(len(done.intersection(job.keys)) for job in jobs),
        remaining=estimate.seconds_left(1 if scheduler else effective_n_jobs(n_jobs)),
    )
    callback(status)
    with closing(Claims(store.path)) as claims:
        while waiting:
            queue = Queue(waiting, store, claims, retry)
            if scheduler is not None:
                finished = run_on_cluster(queue, scheduler, device)
            else:
                finished = run_here(queue, n_jobs, device)
            for job, results in finished:
                _check_keys(job, results)
                store.add(results)
                claims.give_back(job)
                status.advance(estimate, job, results)
                callback(status)
            for job in queue.done_elsewhere:
                status.advance(estimate, job, [])
            waiting = queue.left_to_others
            if waiting:
                callback(status)
                time.sleep(_PATIENCE)
    return status


def part_of(jobs: list[Job], part: int, parts: int) -> list[Job]:
    """One of several disjoint parts of the jobs that take about as long as another."""
    costs = [len(job.grid_points) * rough_seconds(job) for job in jobs]
    longest_first = sorted(range(len(jobs)), key=lambda i: -costs[i])
    return [jobs[i] for i in sorted(longest_first[part - 1 :: parts])]


def _check_keys(job: Job, results: list[Result]) -> None:
    """Refuse results that a worker computed from something else than was asked for."""
    if tuple(result.key for result in results) != job.keys:
        raise ClusterError(
            f"a worker has other data for {job.data}, another source of {job.method} "
            "or another version of twofold than this process; make them the same"
        )


class Queue:
    """Iterates over the jobs that are for this process to run, claiming each.

    Attributes
    ----------
    left_to_others : list of Job
        Those that another process was running when they were to be drawn.
    done_elsewhere : list of Job
        Those that another process had finished by then.
    """

    def __init__(
        self, jobs: list[Job], store: Store, claims: Claims, retry: bool
    ) -> None:
        self._jobs, self._store, self._claims, self._retry = jobs, store, claims, retry
        self.left_to_others: list[Job] = []
        self.done_elsewhere: list[Job] = []

    def __iter__(self) -> Iterator[Job]:
        for job in self._jobs:
            if not self._claims.take(job):
                self.left_to_others.append(job)
            elif self._store.has(job.keys, failed=not self._retry):
                self._claims.give_back(job)
                self.done_elsewhere.append(job)
            else:
                yield job
