"""Tables as Markdown, CSV and LaTeX, ours beside the paper's."""

import csv
import io
from collections.abc import Iterable, Sequence

from twofold.reproduce._objects import find_method
from twofold.reproduce._paper import METRICS, Cell
from twofold.reproduce._summary import Outcome, Table

BLANK, BLANK_LATEX = "-", "---"

_CSV_COLUMNS = (
    *("dataset", "metric", "n_clusters", "method"),
    *("mean", "std", "paper_mean", "paper_std", "difference"),
    *("subsets", "complete", "setting"),
)

LEGEND = (
    "Percent: mean ± standard deviation over the subsets (in brackets the paper's mean "
    "and by how much ours is higher). Bold: the best of ours in a row. "
    "*: fewer subsets or combinations than the protocol has."
)


def markdown(table: Table) -> str:
    """A table with the paper's figures and the differences in brackets."""
    titles = [find_method(method).title for method in table.methods]
    lines = [f"| N | {' | '.join(titles)} |", "| --- " * (len(titles) + 1) + "|"]
    for n in table.rows:
        best = table.best(n)
        cells = [
            _beside(table.ours.get((n, m)), table.paper.get((n, m)), m in best)
            for m in table.methods
        ]
        lines.append(f"| {n} | {' | '.join(cells)} |")
    averages = {m: table.average(m) for m in table.methods}
    top = max((a for a in averages.values() if a is not None), default=None)
    cells = [
        _beside(_cell(mean), _cell(table.paper_average(m)), mean == top)
        for m, mean in averages.items()
    ]
    return "\n".join([*lines, f"| Average | {' | '.join(cells)} |"])


def csv_text(tables: Iterable[Table]) -> str:
    """All cells, one a line."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for table in tables:
        for n in table.rows:
            for method in table.methods:
                ours = table.ours.get((n, method), Outcome(None, complete=False))
                paper = table.paper.get((n, method), Cell(None))
                numbers = ours.mean, ours.std, paper.mean, paper.std
                writer.writerow(
                    [
                        *(table.data, table.metric, n, method),
                        *map(_number, (*numbers, difference(ours, paper))),
                        *(ours.subsets, int(ours.complete), ours.setting or ""),
                    ]
                )
    return file.getvalue()


def latex(tables: Sequence[Table]) -> str:
    """The tables of one data set in the paper's layout, one measure below another.

    Each N has a line of ours, the best of them bold, one of the paper's, and one of
    the differences.
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
        heading = (
            rf"\multicolumn{{{len(titles)}}}{{c|}}{{{METRICS[table.metric]} (\%)}}"
        )
        lines += [
            r"\hline",
            rf"\multirow{{2}}{{*}}{{$N$}} & {heading} \\",
            rf"\cline{{2-{len(titles) + 1}}}",
            " & ".join(["", *map(_escape, titles)]) + r" \\ \hline",
            *(_latex_row(table, n) for n in table.rows),
            _latex_average(table),
        ]
    lines += [r"\end{tabular}", "}", r"\end{table*}", ""]
    return "\n".join(lines)


def difference(ours: Cell | None, paper: Cell | None) -> float | None:
    """By how much ours is higher, where both are there."""
    if not (ours and paper) or ours.mean is None or paper.mean is None:
        return None
    return ours.mean - paper.mean


def _beside(ours: Cell | None, paper: Cell | None, best: bool) -> str:
    if ours is None or ours.mean is None:
        shown = BLANK
    else:
        shown = f"{ours.mean:.2f}"
        if ours.std is not None:
            shown += f" ± {ours.std:.2f}"
        shown = f"**{shown}**" if best else shown
        if isinstance(ours, Outcome) and not ours.complete:
            shown += "\\*"
    if paper is None or paper.mean is None:
        return shown
    gap = difference(ours, paper)
    return f"{shown} ({paper.mean:.2f}" + ("" if gap is None else f", {gap:+.2f}") + ")"


def _latex_row(table: Table, n: int) -> str:
    best = table.best(n)
    ours = [_latex_cell(table.ours.get((n, m)), m in best) for m in table.methods]
    paper = [_latex_cell(table.paper.get((n, m))) for m in table.methods]
    gaps = [
        difference(table.ours.get((n, m)), table.paper.get((n, m)))
        for m in table.methods
    ]
    return _latex_lines(str(n), ours, paper, gaps)


def _latex_average(table: Table) -> str:
    ours = {m: _cell(table.average(m)) for m in table.methods}
    paper = {m: _cell(table.paper_average(m)) for m in table.methods}
    means = [cell.mean for cell in ours.values() if cell and cell.mean is not None]
    cells = [
        _latex_cell(cell, bool(cell and cell.mean == max(means)))
        for cell in ours.values()
    ]
    gaps = [difference(ours[m], paper[m]) for m in table.methods]
    return _latex_lines(
        "Average", cells, [_latex_cell(c) for c in paper.values()], gaps
    )


def _latex_lines(
    name: str, ours: list[str], paper: list[str], gaps: list[float | None]
) -> str:
    shown = [BLANK_LATEX if gap is None else f"${gap:+.2f}$" for gap in gaps]
    return "\n".join(
        [
            " & ".join([rf"\multirow{{3}}{{*}}{{{name}}}", *ours]) + r" \\",
            " & ".join(["", *paper]) + r" \\",
            " & ".join(["", *shown]) + r" \\ \hline",
        ]
    )


def _latex_cell(cell: Cell | None, best: bool = False) -> str:
    if cell is None or cell.mean is None:
        return BLANK_LATEX
    shown = f"{cell.mean:.2f}"
    if cell.std is not None:
        shown += rf"$\pm${cell.std:.2f}"
    return rf"\textbf{{{shown}}}" if best else shown


def _escape(text: str) -> str:
    """Text for LaTeX."""
    return "".join(f"\\{c}" if c in "&%$#_{}" else c for c in text)


def _cell(mean: float | None) -> Cell | None:
    return None if mean is None else Cell(mean)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
