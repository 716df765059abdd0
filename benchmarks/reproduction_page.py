"""What the page says and shows of the merged runs, from their files alone."""

from collections import Counter
from collections.abc import Iterator
from itertools import product

from reproduction_files import Files, Run, studies_of, tables_of

from twofold.paper import DATA, Protocol, Table, figures, find_method
from twofold.paper.document import (
    comparison_text,
    incomplete_rows,
    options_text,
    text_table,
)
from twofold.paper.output import svg_text
from twofold.paper.studies import Study

BEST = "combination"
"""Score of a grid that is reported, see ``summarize``."""

ACCURACY = ("eyaleb", "orl", "semeion", "yale", "orl-40", "orl-60")
DIRECTIONS = ("yale", "orl", "semeion", "pix")
WEIGHTS = ("yale", "orl", "semeion", "jaffe")
"""Data sets of the page's figures. Those of r and of the weights are the paper's."""

STUDIED = ("2dpca", "ts-nmf")
"""The methods of the study of r."""


def page_text(files: Files) -> str:
    """Return the measured part of the page."""
    tables = tables_of(files.cells)
    return "\n\n".join(
        ["## What was run", what_was_run(files, tables), comparison_text(tables)]
    )


def what_was_run(files: Files, tables: list[Table]) -> str:
    """Describe the runs, how many cells are of each, and which are missing."""
    intro = (
        f"{options_text(Protocol(), BEST)}. The column `run` of the two CSV files says "
        "which run a number is of, and the last column here how many cells of the "
        "tables, a method at one N, are of it. The hours are those of fits that ran "
        "side by side. Averages are those of the means as printed."
    )
    gaps = [*_cell_gaps(tables), *_study_gaps(studies_of(files.points))]
    shown = "\n".join(gaps) or "All cells are whole, and all curves of the study of r."
    return "\n\n".join([intro, _runs(files), shown, *map(_origin, files.runs)])


def _cell_gaps(tables: list[Table]) -> Iterator[str]:
    """Describe the cells that are missing or incomplete, a line for each data set."""
    for table in tables:
        # The tables of one data set differ in the measure, not in the fits.
        rows = incomplete_rows([table]) if table.metric == tables[0].metric else []
        if rows:
            yield f"- Not run, or not whole: {table.title}, {'; '.join(rows)}"


def _study_gaps(studies: list[Study]) -> Iterator[str]:
    """Describe the r at which only the other of the two studied methods has scores."""
    for study, method in product(studies, STUDIED):
        curves = [study.directions.get((name, "accuracy"), {}) for name in STUDIED]
        own = study.directions.get((method, "accuracy"), {})
        lacking = sorted(set().union(*curves).difference(own))
        if lacking:
            names = f"{DATA[study.data].title}, {find_method(method).title}"
            shown = ", ".join(map(str, lacking))
            yield f"- Not in the study of r: {names} for r = {shown}"


def _origin(run: Run) -> str:
    """Describe the days, machines and failures of a run."""
    lines = [f"- {line}" for line in (*run.machines, *run.failures)]
    return "\n".join([f"Run {run.name} ({run.days}):", "", *lines])


def _runs(files: Files) -> str:
    """Return the table of the runs, a line for each of their data sets."""
    metric = files.cells[0]["metric"]
    kept = Counter(
        (row["run"], row["dataset"]) for row in files.cells if row["metric"] == metric
    )
    lines = []
    for run in files.runs:
        for data, fits in run.fits.items():
            numbers = f"{fits:,}", f"{run.hours[data]:.2f}", str(kept[run.name, data])
            lines.append([run.name, DATA[data].title, *numbers])
    header = ["run", "data set", "fits", "hours of a core or GPU", "cells"]
    return text_table(header, lines)


def draw(files: Files) -> dict[str, str]:
    """Return the figures of the page as SVG by name, but for that of convergence."""
    tables = {t.data: t for t in tables_of(files.cells) if t.metric == "accuracy"}
    studies = {study.data: study for study in studies_of(files.points)}
    drawn = {
        f"{data}-accuracy": figures.against_clusters(tables[data])
        for data in ACCURACY
        if data in tables
    }
    for data in DIRECTIONS:
        if data in studies:
            shown = figures.against_directions(studies[data], DATA[data].title)
            drawn[f"{data}-directions"] = shown
    for data in WEIGHTS:
        if data in studies:
            shown = figures.over_weights(studies[data], DATA[data].title)
            drawn[f"{data}-weights"] = shown
    return {name: svg_text(figure) for name, figure in drawn.items()}
