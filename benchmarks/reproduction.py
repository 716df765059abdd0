"""The paper's protocol: what a store has of it, merged into docs/reproduction.md.

The page, its tables and its figures are written from the files in the folder beside it,
into which the results of a store are merged first; without a store from these alone.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import pages
from reproduction_files import (
    Files,
    Row,
    Run,
    merged,
    read_files,
    read_rows,
    write_files,
)
from reproduction_page import BEST, draw, page_text

from twofold.paper import DATA, Protocol, Reproduction, Store, figures, summarize
from twofold.paper.output import svg_text
from twofold.paper.provenance import failure_lines
from twofold.paper.studies import studies_csv
from twofold.paper.tables import csv_text

MARKER = "<!-- written by benchmarks/reproduction.py -->"
PAGE = Path("docs/reproduction.md")

T = TypeVar("T", int, float)


def summary_of(path: Path) -> Reproduction:
    """Summarise a store's results of the protocol, on the data sets that have any."""
    if not path.is_file():
        raise SystemExit(f"--store {path}: there is no such file")
    with Store(path) as store:
        results = list(store.results())
    held = {result.data for result in results}
    data = tuple(name for name in Protocol().data if name in held)
    if not data:
        raise SystemExit(f"--store {path} has no results on the paper's data sets")
    return summarize(Protocol(data=data), results, best=BEST)


def files_of(summary: Reproduction, name: str) -> Files:
    """Return the files that one run makes by itself.

    An empty name stands for the day of its first fit.
    """
    name = name or summary.provenance.days.split()[0]
    cells = read_rows(csv_text(summary.tables))
    points = read_rows(studies_csv(summary.studies))
    return Files(
        [row | {"run": name if _has_fits(row) else ""} for row in cells],
        [row | {"run": name} for row in points],
        [_run(summary, name)],
    )


def _has_fits(row: Row) -> bool:
    # A whole cell of which all fits failed counts no subsets.
    return row["subsets"] != "0" or row["complete"] == "1"


def _run(summary: Reproduction, name: str) -> Run:
    origin, data = summary.provenance, summary.protocol.data
    fits = {each: sum(_of(each, origin.fits)) for each in data}
    hours = {each: round(sum(_of(each, origin.hours)), 2) for each in data}
    failures = failure_lines(origin)
    return Run(name, origin.days, fits, hours, origin.machines, failures)


def _of(data: str, by_method: Mapping[tuple[str, str], T]) -> list[T]:
    """Return the values of all methods on a data set."""
    return [value for (each, _), value in by_method.items() if each == data]


def merge_run(earlier: Files, later: Files) -> Files:
    """Merge a run into the files. End if another run in them has its name."""
    names = {run.name: run for run in earlier.runs}
    for run in later.runs:
        if names.get(run.name, run) != run:
            raise SystemExit(
                f"--run {run.name} names another run in {PAGE.stem}/; name this one "
                "otherwise, or merge it into the files of before that run"
            )
    return merged(earlier, later)


def convergence(summary: Reproduction) -> dict[str, str]:
    """Draw the objective of TS-NMF, which the files do not have, on all data sets.

    Return nothing if the fits of one of them have no trace.
    """
    traced = {study.data for study in summary.studies if study.trace}
    if not traced.issuperset(Protocol().data):
        return {}
    titles = {name: each.title for name, each in DATA.items()}
    return {"convergence": svg_text(figures.convergence(summary.studies, titles))}


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--store", type=Path, help="results that are merged first")
    parser.add_argument("--run", default="", help="name of their run, a day by default")
    options = parser.parse_args()
    folder = (options.into or PAGE).parent / PAGE.stem
    files, drawn = read_files(folder), {}
    if options.store is not None:
        summary = summary_of(options.store)
        files, drawn = (
            merge_run(files, files_of(summary, options.run)),
            convergence(summary),
        )
    if not files.cells:
        raise SystemExit(f"{folder} has no tables; name a store with --store")
    pages.publish(page_text(files), MARKER, options.into)
    if options.into is not None:
        write_files(files, folder)
        for name, svg in (draw(files) | drawn).items():
            (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
