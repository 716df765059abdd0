"""Markdown page of a reproduction: what was run, agreement with the paper, tables."""

from collections import defaultdict
from itertools import product
from statistics import fmean

from twofold.paper.comparison import Table
from twofold.paper.data import find_data
from twofold.paper.objects import find_method
from twofold.paper.protocol import Protocol
from twofold.paper.provenance import failure_lines
from twofold.paper.published import METRICS
from twofold.paper.summary import Reproduction
from twofold.paper.tables import BLANK, LEGEND, markdown

CLOSE = 5.0
"""Largest difference in percentage points at which a cell agrees with the paper."""

_PAPER_METRICS = ("accuracy", "nmi")
"""Measures for which the paper has tables."""

_TS_NMF = {"ts-nmf": "", "ts-nmf-missing": ", missing-aware"}
"""Names of TS-NMF and its missing-aware form, with the suffix of their rows."""


def markdown_page(reproduction: Reproduction) -> str:
    """Return the Markdown page of a reproduction."""
    what_was_run = f"## What was run\n\n{_what_was_run(reproduction)}"
    return f"{what_was_run}\n\n{comparison_text(reproduction.tables)}"


def comparison_text(tables: list[Table]) -> str:
    """Return the Markdown of the agreement with the paper and of all tables."""
    parts = [
        _section("The averages of TS-NMF", _averages(tables)),
        _section("How far all cells are from the paper's", _agreement(tables)),
        "## The tables",
        LEGEND,
    ]
    for table in tables:
        parts += [f"### {table.title}: {METRICS[table.metric]}", markdown(table)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _what_was_run(reproduction: Reproduction) -> str:
    """Describe options, fits, hours, machines and failures."""
    protocol, provenance = reproduction.protocol, reproduction.provenance
    rows = []
    for data in protocol.data:
        fits = {m: n for (d, m), n in provenance.fits.items() if d == data}
        if fits:
            hours = sum(h for (d, _), h in provenance.hours.items() if d == data)
            of_data = [t for t in reproduction.tables if t.data == data]
            missing = "; ".join(incomplete_rows(of_data))
            title = find_data(data).title
            rows.append([title, f"{sum(fits.values()):,}", f"{hours:.2f}", missing])
    lines = [f"- {line}" for line in (*provenance.machines, *failure_lines(provenance))]
    header = ["data set", "fits", "hours of a core or GPU", "not run, or not whole"]
    intro = (
        f"{options_text(protocol, reproduction.best)}; {provenance.days}. The hours "
        "are those of fits that ran side by side."
    )
    return "\n\n".join([intro, text_table(header, rows), "\n".join(lines)])


def options_text(protocol: Protocol, best: str) -> str:
    """Describe the options that change the scores."""
    parts = [f"Seed {protocol.seed}", f"{protocol.subsets} subsets for each N"]
    if protocol.quick:
        parts.append("every second value of the grids (quick)")
    if protocol.max_iter is not None:
        parts.append(f"at most {protocol.max_iter} iterations")
    parts.append(f"the best {best} is reported")
    return ", ".join(parts)


def incomplete_rows(of_data: list[Table]) -> list[str]:
    """Describe the methods whose rows are missing or incomplete."""
    if not of_data:
        return []
    # The tables of one data set differ in the measure, not in the fits.
    table, missing = of_data[0], defaultdict(list)
    for method in table.methods:
        rows = [n for n in table.rows if not table.pair(n, method).ours.complete]
        if rows:
            missing[", ".join(map(str, rows))].append(find_method(method).title)
    return [f"{', '.join(titles)} for N = {rows}" for rows, titles in missing.items()]


def _averages(tables: list[Table]) -> str:
    """Compare the averages of TS-NMF with the paper's and the best other method."""
    rows = []
    of_paper = (table for table in tables if table.metric in _PAPER_METRICS)
    for table, (method, suffix) in product(of_paper, _TS_NMF.items()):
        pair = table.average_pair(method)
        if pair.ours.mean is not None:
            numbers = pair.ours.mean, pair.paper.mean
            shown = [BLANK if x is None else f"{x:.2f}" for x in numbers]
            gap = BLANK if pair.difference is None else f"{pair.difference:+.2f}"
            name, other = f"{table.title}{suffix}", _best_other(table, method)
            rows.append([name, table.metric, *shown, gap, other])
    return text_table(
        ["data set", "measure", "ours", "paper", "difference", "best other, ours"], rows
    )


def _best_other(table: Table, method: str) -> str:
    """Return the best other method with the same input, and its average."""
    handles_missing = find_method(method).handles_missing
    averages = [
        (mean, other)
        for other in table.methods
        if other != method and find_method(other).handles_missing == handles_missing
        if (mean := table.average(other)) is not None
    ]
    if not averages:
        return ""
    mean, other = max(averages)
    return f"{find_method(other).title} {mean:.2f}"


def _agreement(tables: list[Table]) -> str:
    """Count the cells of each method that are close to, above or below the paper's."""
    rows = []
    for method in dict.fromkeys(m for table in tables for m in table.methods):
        of_method = [table for table in tables if method in table.methods]
        pairs = [table.pair(n, method) for table in of_method for n in table.rows]
        complete = [pair.difference for pair in pairs if pair.ours.complete]
        gaps = [gap for gap in complete if gap is not None]
        if gaps:
            higher = sum(gap > CLOSE for gap in gaps)
            lower = sum(gap < -CLOSE for gap in gaps)
            counts = len(gaps), len(gaps) - higher - lower, higher, lower
            title, mean = find_method(method).title, f"{fmean(gaps):+.1f}"
            rows.append([title, *map(str, counts), mean])
    near = f"within {CLOSE:g} points"
    header = ["method", "cells", near, "ours higher", "ours lower", "mean difference"]
    return text_table(header, rows)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}" if text else ""


def text_table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table, or nothing if it has no rows."""
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
