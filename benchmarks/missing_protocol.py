"""ORL with entries removed: zeros, missing-aware, and nothing removed."""

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import pages

from twofold.paper import Protocol, Result, Store, summarize

MARKER = "<!-- measured by benchmarks/missing_protocol.py -->"

N = tuple(range(2, 21, 2))
"""The rows of the paper's two tables of corrupted images."""

FIXED = '{"energy_weight":1.0,"graph_weight":1.0,"n_directions":5}'
"""The grid point of the paper's convergence study, for all subsets alike."""

METRICS = ("accuracy", "nmi")

RUNS = {
    "nothing removed": ("orl", "ts-nmf"),
    "40% removed, zeros": ("orl-40", "ts-nmf"),
    "40% removed, missing-aware": ("orl-40", "ts-nmf-missing"),
    "60% removed, zeros": ("orl-60", "ts-nmf"),
    "60% removed, missing-aware": ("orl-60", "ts-nmf-missing"),
}


def averages(results: list[Result], data: str, method: str) -> dict[str, list[Any]]:
    """Over all N, of the paper, the best combinations and the fixed one, by measure."""
    protocol = Protocol(data=(data,), methods=(method,), clusters=N)
    found = {}
    for table in summarize(protocol, results).tables:
        if table.metric in METRICS:
            fixed = fixed_average(results, data, method, table.metric)
            pair = table.average_pair(method)
            found[table.metric] = [pair.paper.mean, pair.ours.mean, fixed]
    return found


def fixed_average(
    results: Iterable[Result], data: str, method: str, metric: str
) -> float:
    """The mean over all N of the mean over the subsets at the fixed grid point."""
    wanted = [
        result
        for result in results
        if (result.data, result.method, result.grid_point) == (data, method, FIXED)
    ]
    return fmean(
        fmean(getattr(r, metric) for r in wanted if r.n_clusters == n) for n in N
    )


def report(results: list[Result]) -> str:
    lines = [
        "| ORL, N = 2 to 20 | measure | paper | best of the grid | loss | "
        "r = 5, both weights 1 | loss |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    found = {name: averages(results, *run) for name, run in RUNS.items()}
    for name, scores in found.items():
        for metric, (paper, best, fixed) in scores.items():
            _, whole, fixed_whole = found["nothing removed"][metric]
            shown = "" if paper is None else f"{paper:.1f}"
            losses = [f"{x:.1f}" for x in (whole - best, fixed_whole - fixed)]
            cells = shown, f"{best:.1f}", losses[0], f"{fixed:.1f}", losses[1]
            lines.append(f"| {name} | {metric} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--store", type=Path, required=True)
    options = parser.parse_args()
    with Store(options.store) as store:
        kept = [r for r in store.results() if r.data.startswith("orl")]
    pages.publish(report(kept), MARKER, options.into)
