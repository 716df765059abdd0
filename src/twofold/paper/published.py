"""The published tables: every cell of all eight, read from ``paper.csv``."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

METRICS = {
    "accuracy": "Accuracy",
    "nmi": "Normalized Mutual Information",
    "purity": "Purity",
}
"""Titles of the measures by name. The paper has no table of purity."""


@dataclass(frozen=True)
class Cell:
    """A mean and a standard deviation over subsets, in percent."""

    mean: float | None  # None if the cell is empty
    std: float | None = None  # sample standard deviation; None for a single run


@cache
def paper_tables() -> dict[tuple[str, str, int, str], Cell]:
    """Return the paper's cells by data set, measure, N and title of the method.

    Blank cells and averages have no entry.
    """
    return {
        (row["dataset"], row["metric"], int(row["n_clusters"]), row["method"]): Cell(
            float(row["mean"]), float(row["std"]) if row["std"] else None
        )
        for row in _rows()
        if row["mean"] and row["n_clusters"] != "average"
    }


def paper_average(data: str, metric: str, method: str) -> float | None:
    """Return the average in the last row of a table, as printed."""
    for row in _rows():
        kind = row["dataset"], row["metric"], row["n_clusters"], row["method"]
        if kind == (data, metric, "average", method):
            return float(row["mean"]) if row["mean"] else None
    return None


def paper_rows(data: str) -> tuple[int, ...]:
    """Return the numbers of clusters, N, in the rows of a data set's tables."""
    counts = {row["n_clusters"] for row in _rows() if row["dataset"] == data}
    return tuple(sorted(int(count) for count in counts - {"average"}))


@cache
def _rows() -> list[dict[str, str]]:
    text = (files(__package__) / "paper.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
