"""How long jobs will take: from the store, from rough rules, and from those done."""

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
"""Of a fit to the 400 images of 32 x 32 pixels of ORL, on one core of a server."""


class Estimate:
    """Seconds of work in jobs that have not ended.

    Parameters
    ----------
    store : Store
        Where it has fits of the same method to subsets of the same size, they tell
        how long one takes; a rough rule does elsewhere.
    jobs : iterable of Job
    """

    def __init__(self, store: Store, jobs: Iterable[Job]) -> None:
        self._seen = store.mean_seconds()
        self._left = sum(map(self._expected, jobs))
        self._done = 0.0

    def finish(self, job: Job) -> None:
        """Count a job as done."""
        expected = self._expected(job)
        self._left -= expected
        self._done += expected

    def seconds_left(self, workers: int) -> float:
        """Before anything has been measured."""
        return self._left / workers

    def seconds_left_after(self, elapsed: float) -> float:
        """When what is done took ``elapsed`` seconds."""
        return elapsed * max(self._left, 0.0) / self._done

    def _expected(self, job: Job) -> float:
        kind = job.data, job.method, job.n_clusters
        return len(job.grid_points) * (self._seen.get(kind) or rough_seconds(job))


def rough_seconds(job: Job) -> float:
    """A guess at the seconds of one fit, within a factor of about three."""
    loaded = load_data(job.data, job.seed)
    n = len(loaded.target) * job.n_clusters / loaded.n_classes
    pixels = math.prod(loaded.images.shape[1:])
    per_orl = _SECONDS.get(job.method, max(_SECONDS.values()))
    return per_orl * (n / 400) ** 0.9 * (pixels / 1024) ** 0.6
