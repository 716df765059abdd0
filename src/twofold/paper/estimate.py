"""Estimates of the running time that is left."""

import math
from collections.abc import Iterable

from twofold.paper.data import load_data
from twofold.paper.protocol import Job
from twofold.paper.store import Store

_SECONDS = {
    "kmeans": 0.18,
    "pca": 0.06,
    "rpca": 1.3,
    "2dpca": 0.08,
    "nmf": 0.7,
    "sc": 0.3,
    "gnmf": 1.4,
    "rmnmf": 1.0,
    "semi-nmf": 0.5,
    "ts-nmf": 0.4,
    "gnmf-missing": 2.0,
    "semi-nmf-missing": 0.8,
    "ts-nmf-missing": 0.6,
}
"""Seconds of a fit to the 400 images of ORL, 32 x 32, on one core of a server.

A method that is not listed counts as slow as the slowest.
"""


class Estimate:
    """Estimated seconds of work in jobs that have not ended.

    The running times in the store are used for fits of the same data set, method and
    number of clusters, and ``rough_seconds`` for all other fits.
    """

    def __init__(self, store: Store, jobs: Iterable[Job]) -> None:
        self._measured = store.mean_seconds()
        self._left = sum(map(self._expected, jobs))
        self._done = 0.0

    def finish(self, job: Job) -> None:
        """Count a job as done."""
        expected = self._expected(job)
        self._left -= expected
        self._done += expected

    def seconds_left(self, workers: int) -> float:
        """Return the estimate before the first job has ended."""
        return self._left / workers

    def seconds_left_after(self, elapsed: float) -> float:
        """Return the estimate if the finished jobs took ``elapsed`` seconds."""
        # Rounding can leave a sum of differences just below zero.
        return elapsed * max(self._left, 0.0) / self._done

    def _expected(self, job: Job) -> float:
        kind = job.data, job.method, job.n_clusters
        return len(job.grid_points) * (self._measured.get(kind) or rough_seconds(job))


def rough_seconds(job: Job) -> float:
    """Estimate the seconds of one fit, within a factor of about three."""
    loaded = load_data(job.data, job.seed)
    n = len(loaded.target) * job.n_clusters / loaded.n_classes
    pixels = math.prod(loaded.images.shape[1:])
    on_orl = _SECONDS.get(job.method, max(_SECONDS.values()))
    # ORL has 400 images of 1024 pixels.
    return on_orl * (n / 400) ** 0.9 * (pixels / 1024) ** 0.6
