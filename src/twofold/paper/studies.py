"""What the parameter studies show, from results: directions, weights, convergence."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from twofold.paper.jobs import Result
from twofold.paper.protocol import Protocol, as_json, grid_points_of, rows
from twofold.paper.published import METRICS

Curve = dict[int, float]
Grid = dict[tuple[float, float], float]


@dataclass(frozen=True)
class Study:
    """The parameter studies on one data set: the first subset of its last row.

    Attributes
    ----------
    data : str
    n_clusters : int
    directions : dict of (str, str) to dict of int to float
        By method and measure, the score against r, best over the weights.
    weights : dict of str to dict of (float, float) to float
        By measure, TS-NMF's score at each energy_weight and graph_weight, best
        over the r of the tables.
    trace : list of float
        The objective of TS-NMF after each iteration; empty if no fit was traced.
    """

    data: str
    n_clusters: int
    directions: dict[tuple[str, str], Curve]
    weights: dict[str, Grid]
    trace: list[float]


def collect_studies(protocol: Protocol, results: Iterable[Result]) -> list[Study]:
    """The studies of every data set that has results of its last row."""
    last = {data: rows(protocol, data)[-1] for data in protocol.data}
    found: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        at_last_row = result.n_clusters == last[result.data] and result.subset == 0
        if at_last_row and result.error is None:
            found[result.data].append(result)
    return [_study(protocol, found[data]) for data in protocol.data if data in found]


def _study(protocol: Protocol, results: list[Result]) -> Study:
    data, n_clusters = results[0].data, results[0].n_clusters
    weights = set(map(as_json, grid_points_of(protocol, data, "ts-nmf")))
    curves: dict[tuple[str, str], Curve] = defaultdict(dict)
    grids: dict[str, Grid] = defaultdict(dict)
    trace: list[float] = []
    for result in results:
        grid_point = json.loads(result.grid_point)
        if "n_directions" not in grid_point:
            continue
        if result.trace:
            trace = json.loads(result.trace)
            continue
        for metric in METRICS:
            score = getattr(result, metric)
            _raise(curves[result.method, metric], grid_point["n_directions"], score)
            if result.method == "ts-nmf" and result.grid_point in weights:
                pair = grid_point["energy_weight"], grid_point["graph_weight"]
                _raise(grids[metric], pair, score)
    return Study(data, n_clusters, dict(curves), dict(grids), trace)


def studies_csv(found: Iterable[Study]) -> str:
    """The figures' numbers, one a line; columns that a line is not about are empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = "method", "metric", "n_directions", "energy_weight", "graph_weight"
    writer.writerow(("dataset", "n_clusters", *columns, "score"))
    for study in found:
        place = study.data, study.n_clusters
        for (method, metric), curve in study.directions.items():
            for r, score in sorted(curve.items()):
                writer.writerow((*place, method, metric, r, "", "", f"{score:.2f}"))
        for metric, grid in study.weights.items():
            for pair, score in sorted(grid.items()):
                writer.writerow((*place, "ts-nmf", metric, "", *pair, f"{score:.2f}"))
    return file.getvalue()


def _raise(best: dict[Any, float], place: Any, score: float) -> None:
    """Keep the best score of a place."""
    best[place] = max(score, best.get(place, score))
