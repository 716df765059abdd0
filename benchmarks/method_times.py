"""How long one fit of each method takes, each in a process of its own."""

import os
import platform
import resource
import time
import warnings
from multiprocessing import get_context

import pages

from twofold import datasets
from twofold.methods import METHODS, build

MARKER = "<!-- measured by benchmarks/method_times.py -->"


def measure(name: str, data: str) -> tuple[float, float]:
    """Seconds of a fit at the method's defaults, and MiB beyond those before it."""
    bunch = datasets.load(data, download=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = build(name, len(set(bunch.target)), random_state=0)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit_predict(bunch.images)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, (after - before) / 1024


def report(data: str) -> str:
    rows = []
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for name in METHODS:
            seconds, mebibytes = pool.apply(measure, (name, data))
            rows.append((name, seconds, mebibytes))
            print(*rows[-1])
    yardstick = rows[0][1]
    lines = ["| method | seconds | times K-means | MiB |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {name} | {seconds:.1f} | {seconds / yardstick:.1f} | {mebibytes:.0f} |"
        for name, seconds, mebibytes in rows
    ]
    bunch = datasets.load(data, download=False)
    text = (
        f"`make methods` on {os.cpu_count()} cores, Python "
        f"{platform.python_version()}: one fit to {data}, "
        f"{len(bunch.target):,} images in {len(set(bunch.target))} classes, at the "
        "defaults of each method, with the K-means that follows. Memory is the peak "
        "beyond the data."
    )
    return text + "\n\n" + "\n".join(lines)


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--data", default="eyaleb")
    options = parser.parse_args()
    pages.publish(report(options.data), MARKER, options.into)
