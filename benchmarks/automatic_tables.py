"""Running what benchmarks/automatic.py measures, and tables over data sets."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from defaults import MORE, load
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

SEVEN = ("yale", "orl", "jaffe", "pix", "semeion", "digits", "eyaleb")
TEN = (*SEVEN, "eyaleb-5", "eyaleb-10", "mnist-2000")
SETS = (*TEN, *MORE)

CHOSEN_ON = (
    "yale",
    "jaffe",
    "semeion",
    "eyaleb",
    "eyaleb-5",
    "mnist-2000",
    "coil20",
    "notmnist",
    "spoken_digits",
)
"""Sets on which rules were chosen; the others were looked at once, afterwards."""

Scores = dict[str, float]
Found = dict[str, Scores]
"""The scores of each row of a table, for one data set and one seed."""

Numbers = dict[str, float]
"""A number for each data set."""


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes
    ----------
    sets : sequence of str
    seeds : range
    jobs : int
        Processes, each of which has one thread.
    """

    sets: Sequence[str]
    seeds: range
    jobs: int


def measure(function: Callable[[str, int], Any], plan: Plan) -> dict[str, list[Any]]:
    """What ``function`` finds on every set with every seed, the largest sets first."""
    sizes = {name: len(load(name)[1]) for name in plan.sets}
    work = sorted(product(plan.sets, plan.seeds), key=lambda job: -sizes[job[0]])
    calls = (delayed(alone)(function, *job) for job in work)
    results = Parallel(n_jobs=plan.jobs, batch_size=1, verbose=1)(calls)
    found = dict(zip(work, results, strict=True))
    return {name: [found[name, seed] for seed in plan.seeds] for name in plan.sets}


def alone(function: Callable[[str, int], Any], name: str, seed: int) -> Any:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # corners of the grid need not converge
        return function(name, seed)


def means(found: dict[str, list[Found]], row: str, measured: str) -> Numbers:
    """Of one row of a table, over the seeds."""
    return {
        name: float(np.mean([seed[row][measured] for seed in seeds]))
        for name, seeds in found.items()
    }


def all_means(found: dict[str, list[Found]], measured: str) -> dict[str, Numbers]:
    """Of all rows of a table."""
    rows = next(iter(found.values()))[0]
    return {row: means(found, row, measured) for row in rows}


def lines(rows: Iterable[Sequence[str]]) -> str:
    """A table of a head and rows."""
    head, *rest = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "| --- " * (head.count("|") - 1) + "|", *rest])


def table(
    title: str,
    rows: dict[str, Numbers],
    more: dict[str, dict[str, str]] | None = None,
    digits: int = 1,
) -> str:
    """A number for each set, their means, and columns with a text for some rows."""
    sets = list(next(iter(rows.values())))
    last = {
        "the seven": [name for name in sets if name in SEVEN],
        "the ten": [name for name in sets if name in TEN],
        "chosen on": [name for name in sets if name in CHOSEN_ON],
        "looked at once": [name for name in sets if name not in CHOSEN_ON],
        "all": sets,
    }
    more = more or {}
    shown = [[title, *sets, *last, *more]]
    for label, row in rows.items():
        numbers = [row.get(name, np.nan) for name in sets]
        numbers += [mean_of(row, some) for some in last.values()]
        texts = [column.get(label, "") for column in more.values()]
        shown.append([label, *(shown_number(x, digits) for x in numbers), *texts])
    return lines(shown)


def mean_of(numbers: Numbers, sets: Sequence[str]) -> float:
    """NaN where one of the sets has no number, or there are none."""
    found = [numbers.get(name, np.nan) for name in sets]
    return float(np.mean(found)) if found else np.nan


def shown_number(number: float, digits: int) -> str:
    return "" if np.isnan(number) else f"{number:.{digits}f}"
