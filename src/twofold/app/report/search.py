"""What was tried before the settings of a model were chosen."""

import math
from dataclasses import asdict
from typing import Any

from twofold.app.report.chart import line_chart
from twofold.estimators.auto import AutoTSNMF

Facts = dict[str, Any]

UNSURE = 0.5
"""The confidence in a number of clusters below which it is not clear."""

_MOST_LOOKS = 10

_SHOWN = ("graph", "n_directions", "energy_weight", "score")


def search_facts(search: AutoTSNMF) -> Facts:
    """What a report says of a search.

    Returns
    -------
    dict
        ``tried``: how many settings were looked at with the number of clusters that
        was taken. ``looks``: the best of them, and ``fits``: all fits, the best first,
        each a dict of ``graph``, ``n_directions``, ``energy_weight`` and ``score``,
        None where it is not known. ``out_of_time``. ``numbers``: what ``Curve`` has,
        None where one number of clusters was given.
    """
    rows = _rows(search)
    looks, fits = (_best(rows, stage) for stage in ("preview", "fit"))
    curve = search.cluster_numbers_
    numbers = curve and asdict(curve) | {"likely": list(curve.likely)}
    return {
        "tried": len(looks),
        "looks": looks[:_MOST_LOOKS],
        "fits": fits,
        "out_of_time": search.out_of_time_,
        "numbers": numbers,
    }


def _rows(search: AutoTSNMF) -> list[Facts]:
    """The rows of a search with the number of clusters that was taken."""
    columns = search.search_results_
    rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    return [row for row in rows if row["n_clusters"] == search.n_clusters_]


def _best(rows: list[Facts], stage: str) -> list[Facts]:
    """What is shown of the rows of a stage, by their scores."""
    found = [row for row in rows if row["stage"] == stage]
    known = [{name: row[name] for name in _SHOWN} for row in found]
    for row in known:
        row["score"] = _rounded(row["score"])
    return sorted(known, key=lambda row: -(row["score"] or 0))


def _rounded(score: float) -> float | None:
    return round(score, 4) if math.isfinite(score) else None


def number_chart(numbers: Facts) -> Facts:
    """The scores over numbers of clusters as a ``line_chart``.

    With ``chosen``, the point of the chosen one, and ``likely``: where the range of
    likely ones begins and ends, in pixels.
    """
    chart = line_chart(numbers["scores"], numbers["numbers"])
    points = dict(zip(numbers["numbers"], chart["points"], strict=True))
    low, high = numbers["likely"]
    return chart | {
        "chosen": points[numbers["chosen"]],
        "likely": (points[low][0], points[high][0]),
    }
