"""Parameter studies of the paper: directions, weights and convergence."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from twofold.io.cells import to_cell
from twofold.paper.jobs import Result
from twofold.paper.protocol import Protocol, as_json, grid_points_of, rows
from twofold.paper.published import METRICS

Curve = dict[int, float]
Grid = dict[tuple[float, float], float]


@dataclass(frozen=True)
class Study:
    """Parameter studies on one data set, on the first subset of its last row."""

    data: str
    n_clusters: int
    # Best score over the weights at each r, by method and measure.
    directions: dict[tuple[str, str], Curve]
    # Best score of TS-NMF over the r of the tables, by measure and by the pair of
    # energy_weight and graph_weight.
    weights: dict[str, Grid]
    trace: list[float]  # objective after each iteration; empty if no fit was traced


def collect_studies(protocol: Protocol, results: Iterable[Result]) -> list[Study]:
    """Collect the studies of all data sets that have results in their last row."""
    last = {data: rows(protocol, data)[-1] for data in protocol.data}
    by_data: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        at_last_row = result.n_clusters == last[result.data] and result.subset == 0
        if at_last_row and result.error is None:
            by_data[result.data].append(result)
    return [_study(protocol, by_data[d]) for d in protocol.data if d in by_data]


def _study(protocol: Protocol, results: list[Result]) -> Study:
    """Build the studies of one data set from the results of its last row."""
    data, n_clusters = results[0].data, results[0].n_clusters
    in_tables = set(map(as_json, grid_points_of(protocol, data, "ts-nmf")))
    curves: dict[tuple[str, str], Curve] = defaultdict(dict)
    grids: dict[str, Grid] = defaultdict(dict)
    trace: list[float] = []
    for result in results:
        grid_point = json.loads(result.grid_point)
        if "n_directions" not in grid_point:
            continue
        if result.trace:  # the traced fit is no part of the curves
            trace = json.loads(result.trace)
            continue
        for metric in METRICS:
            score = getattr(result, metric)
            _keep_best(curves[result.method, metric], grid_point["n_directions"], score)
            if result.method == "ts-nmf" and result.grid_point in in_tables:
                pair = grid_point["energy_weight"], grid_point["graph_weight"]
                _keep_best(grids[metric], pair, score)
    return Study(data, n_clusters, dict(curves), dict(grids), trace)


def studies_csv(studies: Iterable[Study]) -> str:
    """Return the scores of the studies as CSV, one a line.

    The columns that do not apply to a line are empty.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = "method", "metric", "n_directions", "energy_weight", "graph_weight"
    writer.writerow(("dataset", "n_clusters", *columns, "score"))
    for study in studies:
        first = to_cell(study.data), study.n_clusters
        for (method, metric), curve in study.directions.items():
            name = to_cell(method)
            for r, score in sorted(curve.items()):
                writer.writerow((*first, name, metric, r, "", "", f"{score:.2f}"))
        for metric, grid in study.weights.items():
            for pair, score in sorted(grid.items()):
                writer.writerow((*first, "ts-nmf", metric, "", *pair, f"{score:.2f}"))
    return file.getvalue()


def _keep_best(best: dict[Any, float], key: Any, score: float) -> None:
    """Store a score if it is the best one of its key."""
    best[key] = max(score, best.get(key, score))
