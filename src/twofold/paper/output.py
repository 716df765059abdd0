"""Write a reproduction: tables, figures and an HTML page that contains them all."""

import base64
import io
import warnings
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader

from twofold.io.staging import staged_file
from twofold.paper.comparison import Pair, Table
from twofold.paper.document import markdown_page, options_text
from twofold.paper.objects import find_method
from twofold.paper.provenance import failure_lines
from twofold.paper.published import METRICS
from twofold.paper.studies import studies_csv
from twofold.paper.summary import Reproduction
from twofold.paper.tables import BLANK, cell_text, csv_text, latex


@dataclass(frozen=True)
class Picture:
    """A figure."""

    data: str | None  # name of the data set; None if the figure shows all of them
    name: str  # short name for the file
    caption: str
    svg: str

    @property
    def file(self) -> str:
        """File name without suffix."""
        return f"{_file_name(self.data)}-{self.name}" if self.data else self.name


def write_all(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write tables, figures and the HTML page into a folder.

    Every file is replaced by an atomic rename, so that an interruption leaves either
    the old or the new file. Return the paths of the files, the HTML page last.
    """
    pictures = draw_all(reproduction)
    by_data = groupby(reproduction.tables, key=lambda table: table.data)
    files = {
        "tables.md": markdown_page(reproduction),
        "tables.csv": csv_text(reproduction.tables),
        "tables.tex": "\n".join(latex(list(of_data)) for _, of_data in by_data),
        "studies.csv": studies_csv(reproduction.studies),
        **{f"figures/{picture.file}.svg": picture.svg for picture in pictures},
        "index.html": html_page(reproduction, pictures),
    }
    for name, text in files.items():
        _write(folder / name, text)
    return [folder / name for name in files]


def draw_all(reproduction: Reproduction) -> list[Picture]:
    """Draw all figures. Without matplotlib, warn and return an empty list."""
    try:
        from twofold.paper import figures
    except ImportError:
        warnings.warn(
            "no figures without matplotlib: pip install 'twofold[plot]'", stacklevel=3
        )
        return []
    titles = {table.data: table.title for table in reproduction.tables}
    pictures: list[Picture] = []

    def add(data: str | None, name: str, caption: str, figure: Any) -> None:
        pictures.append(Picture(data, name, caption, svg_text(figure)))

    for table in reproduction.tables:
        caption = f"{table.title}: {METRICS[table.metric].lower()} against N"
        add(table.data, table.metric, caption, figures.against_clusters(table))
    for study in reproduction.studies:
        data, title = study.data, titles[study.data]
        if any(len(curve) > 1 for curve in study.directions.values()):
            figure = figures.against_directions(study, title)
            add(data, "directions", f"{title}: scores against r", figure)
        if study.weights:
            figure = figures.over_weights(study, title)
            add(data, "weights", f"{title}: scores over both weights", figure)
    if any(study.trace for study in reproduction.studies):
        caption = "How far the objective is from its last value, by iteration"
        figure = figures.convergence(reproduction.studies, titles)
        add(None, "convergence", caption, figure)
    return pictures


def html_page(reproduction: Reproduction, pictures: list[Picture]) -> str:
    """Return the HTML page, which embeds all tables and figures."""
    loader = PackageLoader("twofold.paper", "")
    environment = Environment(loader=loader, autoescape=True)
    parts = []
    for data, group in groupby(reproduction.tables, key=lambda table: table.data):
        of_data = list(group)
        parts.append(
            {
                "anchor": _file_name(data),
                "title": of_data[0].title,
                "tables": [_table_view(table) for table in of_data],
                "figures": [_embedded(p) for p in pictures if p.data == data],
            }
        )
    overall = [_embedded(p) for p in pictures if p.data is None]
    return environment.get_template("page.html.j2").render(
        lead=_lead(reproduction),
        parts=parts,
        convergence=overall[0] if overall else None,
        machines=reproduction.provenance.machines,
        failures=failure_lines(reproduction.provenance),
    )


def _lead(reproduction: Reproduction) -> str:
    """Return the first paragraph of the HTML page."""
    provenance = reproduction.provenance
    fits, hours = sum(provenance.fits.values()), sum(provenance.hours.values())
    options = options_text(reproduction.protocol, reproduction.best)
    return (
        f"{options}. {fits:,} fits, {hours:.1f} hours of work of one core or GPU, "
        f"{provenance.days}."
    )


def _table_view(table: Table) -> dict[str, Any]:
    """Return the values of a table for the template."""
    return {
        "heading": METRICS[table.metric],
        "titles": [find_method(method).title for method in table.methods],
        "rows": [
            {"name": name, "cells": [_cell_view(pair) for pair in pairs]}
            for name, pairs in table.lines()
        ],
    }


def _cell_view(pair: Pair) -> dict[str, Any]:
    """Return the values of a cell for the template."""
    ours, paper = pair.ours, pair.paper
    shown = BLANK if ours.mean is None else cell_text(ours, " ± ", 1)
    star = "" if ours.complete or ours.mean is None else "*"
    return {
        "ours": shown + star,
        "paper": "" if paper.mean is None else f"{paper.mean:.1f}",
        "gap": pair.difference,
        "best": pair.best,
    }


def _embedded(picture: Picture) -> dict[str, str]:
    encoded = base64.b64encode(picture.svg.encode()).decode()
    return {"caption": picture.caption, "svg": encoded}


def svg_text(figure: Any) -> str:
    """Return a figure as SVG, the same text for the same figure."""
    from matplotlib import rc_context  # optional

    file = io.StringIO()
    # By default matplotlib makes random element ids.
    with rc_context({"svg.hashsalt": "twofold"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _file_name(data: str) -> str:
    """Replace the characters of an import path that a file name must not contain."""
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in data)


def _write(path: Path, text: str) -> None:
    """Write a file by an atomic rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with staged_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
