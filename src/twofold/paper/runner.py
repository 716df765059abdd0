"""Run a protocol and write its results to a store."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from joblib import effective_n_jobs

from twofold.core.devices import check_device
from twofold.paper.claims import Claims
from twofold.paper.cluster import run_on_cluster
from twofold.paper.estimate import Estimate, rough_seconds
from twofold.paper.jobs import Result
from twofold.paper.protocol import Job, Protocol, all_jobs
from twofold.paper.store import Store
from twofold.paper.workers import ClusterError, run_here
from twofold.progress import report

_POLL_INTERVAL = 0.5
"""Seconds between two checks of the jobs that another process runs."""


@dataclass
class RunStatus:
    """State of a run."""

    jobs: int  # number of jobs to run
    fits: int  # fits of the protocol
    found: int  # fits that were in the store before the run
    remaining: float  # estimated seconds to the end
    jobs_done: int = 0  # jobs and fits that ended in this run
    fits_done: int = 0
    failed: int = 0  # fits that failed in this run
    elapsed: float = 0.0  # seconds since the start
    begin: float = field(default_factory=time.monotonic)

    def advance(self, estimate: Estimate, job: Job, results: list[Result]) -> None:
        """Count a job that has ended. Jobs of other processes have no results here."""
        self.jobs_done += 1
        self.fits_done += len(results)
        self.failed += sum(result.error is not None for result in results)
        self.elapsed = time.monotonic() - self.begin
        estimate.finish(job)
        self.remaining = estimate.seconds_left_after(self.elapsed)


def run(
    protocol: Protocol,
    store: Store,
    *,
    n_jobs: int = -1,
    scheduler: str | None = None,
    shard: tuple[int, int] = (1, 1),
    device: str | None = None,
    retry: bool = False,
) -> RunStatus:
    """Run every job of a protocol that a store does not have yet.

    Parameters
    ----------
    protocol : Protocol
        Protocol to run.
    store : Store
        Store to which the results of each job are added when the job ends. Several
        processes may share a store; each job is run by one of them.
    n_jobs : int, default=-1
        Number of processes of one thread each, as in joblib. -1 means one for each
        core.
    scheduler : str or None
        Address of a Dask scheduler whose workers run the jobs. None runs them here.
    shard : (int, int), default=(1, 1)
        Index of the part of the jobs to run, counted from 1, and number of parts.
    device : str or None
        Device of the methods that accept tensors, such as "cuda".
    retry : bool, default=False
        Whether failed fits are run again.

    Returns
    -------
    RunStatus
        Status at the end.
    """
    if scheduler is None:  # the workers of a cluster may have other devices
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
    _report(status)
    with closing(Claims(store.path)) as claims:
        while waiting:
            queue = Queue(waiting, store, claims, retry)
            if scheduler is not None:
                finished = run_on_cluster(queue, scheduler, device)
            else:
                finished = run_here(queue, n_jobs, device)
            for job, results in finished:
                _check_keys(job, results)
                # The claim is released last, so that no other process repeats the job.
                store.add(results)
                claims.give_back(job)
                status.advance(estimate, job, results)
                _report(status)
            for job in queue.done_elsewhere:
                status.advance(estimate, job, [])
            # Jobs claimed elsewhere are tried again: their process may be killed.
            waiting = queue.claimed_elsewhere
            if waiting:
                _report(status)
                time.sleep(_POLL_INTERVAL)
    return status


def _report(status: RunStatus) -> None:
    """Report the status before the run and after each job, see ``twofold.progress``."""
    report("running", status.jobs_done, status.jobs, status=status)


def part_of(jobs: list[Job], part: int, parts: int) -> list[Job]:
    """Return one of several disjoint parts of the jobs of about equal cost."""
    # Not the measured times: every machine must divide the jobs in the same way.
    costs = [len(job.grid_points) * rough_seconds(job) for job in jobs]
    longest_first = sorted(range(len(jobs)), key=lambda i: -costs[i])
    return [jobs[i] for i in sorted(longest_first[part - 1 :: parts])]


def _check_keys(job: Job, results: list[Result]) -> None:
    """Refuse results that a worker computed from other data or code."""
    if tuple(result.key for result in results) != job.keys:
        raise ClusterError(
            f"a worker has other data for {job.data}, another source of {job.method} "
            "or another version of twofold than this process; make them the same"
        )


class Queue:
    """Iterator over the jobs that this process can claim."""

    def __init__(
        self, jobs: list[Job], store: Store, claims: Claims, retry: bool
    ) -> None:
        self._jobs, self._store, self._claims, self._retry = jobs, store, claims, retry
        # Jobs that another process ran, or had finished, when they were reached.
        self.claimed_elsewhere: list[Job] = []
        self.done_elsewhere: list[Job] = []

    def __iter__(self) -> Iterator[Job]:
        for job in self._jobs:
            if not self._claims.take(job):
                self.claimed_elsewhere.append(job)
            # Another process may have finished the job before the claim was taken.
            elif self._store.has(job.keys, failed=not self._retry):
                self._claims.give_back(job)
                self.done_elsewhere.append(job)
            else:
                yield job
