"""The Markdown page of a run: what was run, how it agrees, and all tables."""

from collections import defaultdict
from itertools import product
from statistics import fmean

from twofold.paper.comparison import Table
from twofold.paper.data import find_data
from twofold.paper.objects import find_method
from twofold.paper.provenance import failure_lines
from twofold.paper.published import METRICS
from twofold.paper.summary import Reproduction
from twofold.paper.tables import BLANK, LEGEND, markdown

CLOSE = 5.0
"""Points within which a cell agrees with the paper's."""

_OF_THE_PAPER = ("accuracy", "nmi")

_OURS = {"ts-nmf": "", "ts-nmf-missing": ", missing-aware"}
"""TS-NMF in both ways, and how a row of the second is marked."""


def markdown_page(summary: Reproduction) -> str:
    """What was run, how it agrees with the paper, and all tables, as Markdown."""
    found = summary.tables
    parts = [
        "## What was run",
        _what_was_run(summary),
        _section("The averages of TS-NMF", _averages(found)),
        _section("How far all cells are from the paper's", _agreement(found)),
        "## The tables",
        LEGEND,
    ]
    for table in found:
        parts += [f"### {table.title}: {METRICS[table.metric]}", markdown(table)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _what_was_run(summary: Reproduction) -> str:
    protocol, found, origin = summary.protocol, summary.tables, summary.provenance
    rows = []
    for data in protocol.data:
        fits = {m: n for (d, m), n in origin.fits.items() if d == data}
        if fits:
            hours = sum(h for (d, _), h in origin.hours.items() if d == data)
            missing = "; ".join(_missing([t for t in found if t.data == data]))
            title = find_data(data).title
            rows.append([title, f"{sum(fits.values()):,}", f"{hours:.2f}", missing])
    lines = [f"- {line}" for line in (*origin.machines, *failure_lines(origin))]
    header = ["data set", "fits", "hours of a core or GPU", "not run, or not whole"]
    intro = (
        f"{options_text(summary)}; {origin.days}. The hours are those of fits that ran "
        "side by side."
    )
    return "\n\n".join([intro, _table(header, rows), "\n".join(lines)])


def options_text(summary: Reproduction) -> str:
    """Everything that changes the figures."""
    protocol = summary.protocol
    parts = [f"Seed {protocol.seed}", f"{protocol.subsets} subsets for each N"]
    if protocol.quick:
        parts.append("every second value of the grids (quick)")
    if protocol.max_iter is not None:
        parts.append(f"at most {protocol.max_iter} iterations")
    parts.append(f"the best {summary.best} is reported")
    return ", ".join(parts)


def _missing(of_data: list[Table]) -> list[str]:
    """Which methods lack which rows, or part of them."""
    if not of_data:
        return []
    table, lacking = of_data[0], defaultdict(list)
    for method in table.methods:
        rows = [n for n in table.rows if not table.pair(n, method).ours.complete]
        if rows:
            lacking[", ".join(map(str, rows))].append(find_method(method).title)
    return [f"{', '.join(titles)} for N = {rows}" for rows, titles in lacking.items()]


def _averages(found: list[Table]) -> str:
    rows = []
    tables = (table for table in found if table.metric in _OF_THE_PAPER)
    for table, (method, how) in product(tables, _OURS.items()):
        pair = table.average_pair(method)
        if pair.ours.mean is not None:
            numbers = pair.ours.mean, pair.paper.mean
            shown = [BLANK if x is None else f"{x:.2f}" for x in numbers]
            gap = BLANK if pair.difference is None else f"{pair.difference:+.2f}"
            name, other = f"{table.title}{how}", _best_other(table, method)
            rows.append([name, table.metric, *shown, gap, other])
    return _table(
        ["data set", "measure", "ours", "paper", "difference", "best other, ours"], rows
    )


def _best_other(table: Table, method: str) -> str:
    """The highest average of the others that know as much, and whose it is."""
    handles_missing = find_method(method).handles_missing
    others = [
        m
        for m in table.methods
        if m != method and find_method(m).handles_missing == handles_missing
    ]
    averages = ((table.average(other), other) for other in others)
    known = [(mean, other) for mean, other in averages if mean is not None]
    if not known:
        return ""
    mean, other = max(known)
    return f"{find_method(other).title} {mean:.2f}"


def _agreement(found: list[Table]) -> str:
    rows = []
    for method in dict.fromkeys(m for table in found for m in table.methods):
        pairs = [
            table.pair(n, method)
            for table in found
            if method in table.methods
            for n in table.rows
        ]
        gaps = [
            pair.difference
            for pair in pairs
            if pair.ours.complete and pair.difference is not None
        ]
        if gaps:
            near = sum(abs(gap) <= CLOSE for gap in gaps)
            higher = sum(gap > CLOSE for gap in gaps)
            lower = sum(gap < -CLOSE for gap in gaps)
            counts = [f"{count}" for count in (len(gaps), near, higher, lower)]
            rows.append([find_method(method).title, *counts, f"{fmean(gaps):+.1f}"])
    header = [
        *("method", "cells", f"within {CLOSE:g} points", "ours higher", "ours lower"),
        "mean difference",
    ]
    return _table(header, rows)


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}" if text else ""


def _table(header: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
