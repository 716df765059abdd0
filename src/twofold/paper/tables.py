"""Comparison tables as Markdown, CSV and LaTeX."""

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import product

from twofold.io.cells import to_cell
from twofold.paper.comparison import Pair, Table
from twofold.paper.objects import find_method
from twofold.paper.published import METRICS, Cell

BLANK, _LATEX_BLANK = "-", "---"

_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}

_CSV_COLUMNS = (
    *("dataset", "metric", "n_clusters", "method"),
    *("mean", "std", "paper_mean", "paper_std", "difference"),
    *("subsets", "complete", "setting"),
)
"""Columns of the CSV; "setting" is the grid point as JSON."""

LEGEND = (
    "Percent: mean ± standard deviation over the subsets (in brackets the paper's mean "
    "and by how much ours is higher). Bold: the best of ours in a row. "
    "*: fewer subsets or combinations than the protocol has."
)


def markdown(table: Table) -> str:
    """Return a Markdown table, the paper's means and the differences in brackets."""
    titles = [find_method(m).title.replace("|", r"\|") for m in table.methods]
    lines = [f"| N | {' | '.join(titles)} |", "| --- " * (len(titles) + 1) + "|"]
    for name, pairs in table.lines():
        lines.append(f"| {name} | {' | '.join(map(_markdown_cell, pairs))} |")
    return "\n".join(lines)


def _markdown_cell(pair: Pair) -> str:
    shown = BLANK if pair.ours.mean is None else cell_text(pair.ours, " ± ", 2)
    if pair.best:
        shown = f"**{shown}**"
    if pair.ours.mean is not None and not pair.ours.complete:
        shown += "\\*"
    if pair.paper.mean is None:
        return shown
    gap = "" if pair.difference is None else f", {pair.difference:+.2f}"
    return f"{shown} ({pair.paper.mean:.2f}{gap})"


def cell_text(cell: Cell, between: str, digits: int) -> str:
    """Return a mean and, if there is one, its standard deviation."""
    shown = f"{cell.mean:.{digits}f}"
    return shown if cell.std is None else f"{shown}{between}{cell.std:.{digits}f}"


def csv_text(tables: Iterable[Table]) -> str:
    """Return all cells as CSV, one a line."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for table in tables:
        for n, method in product(table.rows, table.methods):
            pair = table.pair(n, method)
            ours, paper = pair.ours, pair.paper
            kind = to_cell(table.data), table.metric, n, to_cell(method)
            numbers = ours.mean, ours.std, paper.mean, paper.std, pair.difference
            shown = ["" if number is None else f"{number:.2f}" for number in numbers]
            last = ours.subsets, int(ours.complete), ours.grid_point or ""
            writer.writerow([*kind, *shown, *last])
    return file.getvalue()


def latex(tables: Sequence[Table]) -> str:
    """Return the tables of one data set in the paper's layout, one below another.

    Each N has three lines: our scores with the best one in bold, the paper's scores,
    and the differences.
    """
    titles = [find_method(method).title for method in tables[0].methods]
    columns = "|c||" + "c|" * len(titles)
    lines = [
        r"% Needs \usepackage{multirow,graphicx}",
        r"\begin{table*}",
        r"\centering",
        rf"\caption{{{_escape(tables[0].title)}: measured, the paper's, difference}}",
        r"\resizebox{\textwidth}{!}{",
        rf"\begin{{tabular}}{{{columns}}}",
    ]
    for table in tables:
        measure = rf"{{{METRICS[table.metric]} (\%)}}"
        heading = rf"\multicolumn{{{len(titles)}}}{{c|}}{measure}"
        lines += [
            r"\hline",
            rf"\multirow{{2}}{{*}}{{$N$}} & {heading} \\",
            rf"\cline{{2-{len(titles) + 1}}}",
            " & ".join(["", *map(_escape, titles)]) + r" \\ \hline",
            *(_latex_lines(name, pairs) for name, pairs in table.lines()),
        ]
    lines += [r"\end{tabular}", "}", r"\end{table*}", ""]
    return "\n".join(lines)


def _latex_lines(name: str, pairs: list[Pair]) -> str:
    ours = [_latex_cell(pair.ours, pair.best) for pair in pairs]
    paper = [_latex_cell(pair.paper) for pair in pairs]
    numbers = [pair.difference for pair in pairs]
    gaps = [_LATEX_BLANK if x is None else f"${x:+.2f}$" for x in numbers]
    # The first cell spans all three lines, so it is empty in the other two.
    first = rf"\multirow{{3}}{{*}}{{{name}}}"
    lines = [" & ".join(cells) for cells in ([first, *ours], ["", *paper], ["", *gaps])]
    return " \\\\\n".join(lines) + r" \\ \hline"


def _latex_cell(cell: Cell, best: bool = False) -> str:
    if cell.mean is None:
        return _LATEX_BLANK
    shown = cell_text(cell, r"$\pm$", 2)
    shown = rf"\textbf{{{shown}}}" if best else shown
    # Only our outcomes can be incomplete; the paper's cells have no such field.
    return shown if getattr(cell, "complete", True) else f"{shown}$^*$"


def _escape(text: str) -> str:
    """Escape the special characters of LaTeX."""
    return "".join(_SPECIAL.get(c, c) for c in text)
