"""The files beside docs/reproduction.md: cells, curves, and the runs they are of.

``tables.csv`` has a line for each cell of the tables and ``studies.csv`` one for each
point of the studies; the column ``run`` of both names an entry of ``runs.json``. A
later run is merged into them, so that no earlier store is needed.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from twofold.paper import METRICS, Cell, Outcome, Table
from twofold.paper.data import DATA, find_data
from twofold.paper.methods import all_methods
from twofold.paper.studies import Study

Row = dict[str, str]
"""A line of a CSV file."""

FILES = TABLES, STUDIES, RUNS = "tables.csv", "studies.csv", "runs.json"


@dataclass(frozen=True)
class Run:
    """A run that cells are of."""

    name: str
    days: str  # of its first and its last fit
    fits: dict[str, int]  # number of fits by data set, studies included
    hours: dict[str, float]  # of one core or GPU, by data set
    machines: list[str]  # description of each machine, with its number of fits
    failures: list[str]  # description of the fits that failed


@dataclass(frozen=True)
class Files:
    """What the files hold."""

    cells: list[Row]
    points: list[Row]  # of the studies
    runs: list[Run]


def read_files(folder: Path) -> Files:
    """Return what the files of a folder hold; one that is not there holds nothing."""
    cells, points, runs = (
        path.read_text(encoding="utf-8") if path.is_file() else ""
        for path in (folder / name for name in FILES)
    )
    found = [Run(**each) for each in json.loads(runs or "[]")]
    return Files(read_rows(cells), read_rows(points), found)


def read_rows(text: str) -> list[Row]:
    """Return the lines of a CSV file by its header."""
    return list(csv.DictReader(text.splitlines()))


def write_files(files: Files, folder: Path) -> None:
    """Write all files."""
    folder.mkdir(exist_ok=True)
    _write_rows(files.cells, folder / TABLES)
    _write_rows(files.points, folder / STUDIES)
    runs = json.dumps([asdict(run) for run in files.runs], indent=1)
    (folder / RUNS).write_text(f"{runs}\n", encoding="utf-8")


def _write_rows(rows: Sequence[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        fields = list(rows[0]) if rows else []
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def merged(earlier: Files, later: Files) -> Files:
    """Return the files with what a later run adds, by the rules of this module.

    Runs of which nothing is left are dropped.
    """
    cells = merged_cells(earlier.cells, later.cells)
    points = merged_points(earlier.points, later.points)
    left = {row["run"] for row in (*cells, *points)}
    runs = {run.name: run for run in (*earlier.runs, *later.runs)}
    return Files(cells, points, [run for run in runs.values() if run.name in left])


def merged_cells(earlier: Iterable[Row], later: Iterable[Row]) -> list[Row]:
    """Return the cells of two runs, in the order of the paper.

    Of a cell that is in both, the later one stands if it is whole, on all subsets and
    combinations of the protocol; otherwise the earlier one does, if it has any fits. A
    mean of some subsets of one run and some of another is never made.
    """
    cells = {_cell_key(row): row for row in earlier}
    for row in later:
        key = _cell_key(row)
        if row["complete"] == "1" or not cells.get(key, {}).get("run"):
            cells[key] = row
    return [cells[key] for key in sorted(cells)]


def merged_points(earlier: Iterable[Row], later: Iterable[Row]) -> list[Row]:
    """Return the points of the studies of two runs, in the order of the paper.

    Of a curve (or grid of weights) that is in both, the later one stands if it has as
    many points as the earlier one. All points of a curve are of one run.
    """
    curves = _curves(earlier)
    for key, rows in _curves(later).items():
        if len(rows) >= len(curves.get(key, [])):
            curves[key] = rows
    return [row for key in sorted(curves) for row in sorted(curves[key], key=_point)]


def _cell_key(row: Row) -> tuple[int, int, int, int]:
    data, metric, method = _places(row)
    return data, metric, int(row["n_clusters"]), method


def _curves(rows: Iterable[Row]) -> dict[tuple[int, bool, int, int], list[Row]]:
    """Group points by data set, study (that of r is the first), method and measure."""
    curves = defaultdict(list)
    for row in rows:
        data, metric, method = _places(row)
        curves[data, not row["n_directions"], method, metric].append(row)
    return dict(curves)


def _places(row: Row) -> tuple[int, int, int]:
    """Return the places of data set, measure and method in the paper's order."""
    return (
        list(DATA).index(row["dataset"]),
        list(METRICS).index(row["metric"]),
        list(all_methods()).index(row["method"]),
    )


def _point(row: Row) -> tuple[float, ...]:
    """Return the parameters of a point of a study."""
    names = "n_directions", "energy_weight", "graph_weight"
    return tuple(float(row[name]) for name in names if row[name])


def tables_of(cells: Iterable[Row]) -> list[Table]:
    """Return the tables that cells in the order of the paper make."""
    groups = groupby(cells, key=itemgetter("dataset", "metric"))
    return [_table(data, metric, list(rows)) for (data, metric), rows in groups]


def _table(data: str, metric: str, rows: list[Row]) -> Table:
    keys = [(int(row["n_clusters"]), row["method"]) for row in rows]
    by_key = dict(zip(keys, rows, strict=True))
    ours = {key: _outcome(row) for key, row in by_key.items() if row["run"]}
    paper = {
        key: Cell(float(row["paper_mean"]), _number(row["paper_std"]))
        for key, row in by_key.items()
        if row["paper_mean"]
    }
    ns, methods = (tuple(dict.fromkeys(part)) for part in zip(*keys, strict=True))
    return Table(data, find_data(data).title, metric, ns, methods, ours, paper)


def _outcome(row: Row) -> Outcome:
    return Outcome(
        _number(row["mean"]),
        _number(row["std"]),
        row["setting"] or None,
        int(row["subsets"]),
        row["complete"] == "1",
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def studies_of(points: Iterable[Row]) -> list[Study]:
    """Return the studies that points in the order of the paper make, without traces."""
    groups = groupby(points, key=itemgetter("dataset"))
    return [_study(data, list(rows)) for data, rows in groups]


def _study(data: str, rows: list[Row]) -> Study:
    curves: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    grids: dict[str, dict[tuple[float, float], float]] = defaultdict(dict)
    for row in rows:
        score, metric = float(row["score"]), row["metric"]
        if row["n_directions"]:
            curves[row["method"], metric][int(row["n_directions"])] = score
        else:
            pair = float(row["energy_weight"]), float(row["graph_weight"])
            grids[metric][pair] = score
    return Study(data, int(rows[0]["n_clusters"]), dict(curves), dict(grids), [])
