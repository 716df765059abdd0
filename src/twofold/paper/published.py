"""The paper's tables as data: ``paper.csv``, every cell of all eight."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

METRICS = {
    "accuracy": "Accuracy",
    "nmi": "Normalized Mutual Information",
    "purity": "Purity",
}
"""Names of the measures, and their titles. The paper has no table of purity."""


@dataclass(frozen=True)
class Cell:
    """A mean and a standard deviation over subsets, in percent.

    Attributes
    ----------
    mean, std : float or None
        None where there is no such figure: a single run has no deviation.
    """

    mean: float | None
    std: float | None = None


@cache
def paper_tables() -> dict[tuple[str, str, int, str], Cell]:
    """The paper's cells by data set, measure, N and title of the method.

    Cells that the paper leaves blank, and its averages, are not in it.
    """
    return {
        (row["dataset"], row["metric"], int(row["n_clusters"]), row["method"]): Cell(
            float(row["mean"]), float(row["std"]) if row["std"] else None
        )
        for row in _rows()
        if row["mean"] and row["n_clusters"] != "average"
    }


def paper_average(data: str, metric: str, method: str) -> float | None:
    """The last row of a table as the paper prints it."""
    for row in _rows():
        wanted = {"dataset": data, "metric": metric, "method": method}
        if row["n_clusters"] == "average" and wanted.items() <= row.items():
            return float(row["mean"]) if row["mean"] else None
    return None


def paper_rows(data: str) -> tuple[int, ...]:
    """The numbers of clusters, N, in the rows of a data set's tables."""
    counts = {row["n_clusters"] for row in _rows() if row["dataset"] == data}
    return tuple(sorted(int(count) for count in counts - {"average"}))


@cache
def _rows() -> list[dict[str, str]]:
    text = (files(__package__) / "paper.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
