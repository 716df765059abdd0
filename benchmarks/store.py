"""What adding results to a store costs, for each fit."""

import json
import os
import platform
import tempfile
import time
from pathlib import Path

import pages

from twofold.paper import Result, Store

MARKER = "<!-- measured by benchmarks/store.py -->"


def result(job: int, fit: int) -> Result:
    """One of 49 fits of a job, as TS-NMF leaves them."""
    grid_point = {"energy_weight": 0.001, "graph_weight": fit, "n_directions": 5}
    return Result(
        key=f"{job:016x}{fit:016x}",
        data="orl",
        method="ts-nmf",
        grid_point=json.dumps(grid_point),
        n_clusters=20,
        subset=job,
        seed=0,
        max_iter=None,
        n_samples=200,
        accuracy=81.5,
        nmi=85.25,
        purity=82.0,
        seconds=0.1,
        n_iter=25,
        trace=None,
        error=None,
        origin=json.dumps({"machine": platform.machine()}),
        finished=time.time(),
    )


def milliseconds_per_fit(jobs: int, fits: int) -> float:
    """Of adding ``jobs`` times ``fits`` results, each job in a transaction."""
    batches = [[result(job, fit) for fit in range(fits)] for job in range(jobs)]
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s") as store:
        begin = time.perf_counter()
        for batch in batches:
            store.add(batch)
        return 1000 * (time.perf_counter() - begin) / (jobs * fits)


def report() -> str:
    lines = ["| fits in a job | fits added | ms a fit |", "| --- | --- | --- |"]
    for jobs, fits in ((2000, 1), (1000, 49)):
        cost = milliseconds_per_fit(jobs, fits)
        lines.append(f"| {fits} | {jobs * fits:,} | {cost:.3f} |")
    return f"`make store` on {os.cpu_count()} cores:\n\n" + "\n".join(lines)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)
