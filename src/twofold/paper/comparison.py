"""Tables of our scores and the paper's: means over subsets at the best grid point."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev

from twofold.paper.data import find_data
from twofold.paper.jobs import Result
from twofold.paper.objects import find_method
from twofold.paper.protocol import (
    Protocol,
    as_json,
    grid_points_of,
    methods_of,
    n_subsets,
    rows,
)
from twofold.paper.published import (
    METRICS,
    Cell,
    paper_average,
    paper_rows,
    paper_tables,
)

Kind = tuple[str, int, str, str]
"""Data set, N, method and measure."""

Scores = dict[str, dict[int, float | None]]
"""Scores by grid point (JSON) and subset. A score is None if its fit failed."""


@dataclass(frozen=True)
class Outcome(Cell):
    """Measured mean and standard deviation of a method for one N."""

    grid_point: str | None = None  # JSON; None if every subset has its own grid point
    subsets: int = 0  # number of subsets in the mean
    complete: bool = True  # whether the whole grid was run on all subsets


NOT_RUN = Outcome(None, complete=False)
"""Outcome of a method without results."""


@dataclass(frozen=True)
class Pair:
    """One cell of a table: our outcome and the paper's."""

    ours: Outcome  # its mean is None if there are no results
    paper: Cell  # its mean is None if the paper has no such cell
    best: bool  # whether our mean is the highest in its row

    @property
    def difference(self) -> float | None:
        """Our mean minus the paper's, or None if either is missing."""
        if self.ours.mean is None or self.paper.mean is None:
            return None
        return self.ours.mean - self.paper.mean


@dataclass(frozen=True)
class Table:
    """One measure on one data set, with our scores and the paper's."""

    data: str
    title: str  # title of the data set
    metric: str  # a key of METRICS
    rows: tuple[int, ...]  # numbers of clusters, N
    methods: tuple[str, ...]
    ours: dict[tuple[int, str], Outcome]  # by N and method, if there are results
    paper: dict[tuple[int, str], Cell]  # by N and method

    def average(self, method: str) -> float | None:
        """Return our mean over all rows, or None if a row is missing."""
        return self._mean_of_rows(self.ours, method)

    def paper_average(self, method: str) -> float | None:
        """Return the printed average, or the mean of the rows if they are fewer."""
        if self.rows == paper_rows(self.data):
            return paper_average(self.data, self.metric, _column(method))
        return self._mean_of_rows(self.paper, method)

    def _mean_of_rows(
        self, cells: Mapping[tuple[int, str], Cell], method: str
    ) -> float | None:
        present = [cells[n, method].mean for n in self.rows if (n, method) in cells]
        means = [mean for mean in present if mean is not None]
        return fmean(means) if means and len(means) == len(self.rows) else None

    def pair(self, n: int, method: str) -> Pair:
        """Return our outcome and the paper's cell in row N."""
        ours = self.ours.get((n, method), NOT_RUN)
        paper = self.paper.get((n, method), Cell(None))
        means = [self.ours.get((n, m), NOT_RUN).mean for m in self.methods]
        return Pair(ours, paper, _is_highest(ours.mean, means))

    def average_pair(self, method: str) -> Pair:
        """Return our average over all rows and the paper's."""
        ours, paper = self.average(method), self.paper_average(method)
        best = _is_highest(ours, map(self.average, self.methods))
        return Pair(Outcome(ours), Cell(paper), best)

    def lines(self) -> Iterator[tuple[str, list[Pair]]]:
        """Iterate over the printed rows: N or "Average", and a pair for each method."""
        for n in self.rows:
            yield str(n), [self.pair(n, method) for method in self.methods]
        yield "Average", [self.average_pair(method) for method in self.methods]


def build_tables(
    protocol: Protocol, results: Iterable[Result], best: str
) -> list[Table]:
    """Build the tables of all data sets that have results. See ``summarize``."""
    grouped = _group_scores(protocol, results)
    return [
        _table(protocol, grouped, data, metric, best)
        for data in protocol.data
        if any(kind[0] == data for kind in grouped)
        for metric in METRICS
    ]


def _group_scores(protocol: Protocol, results: Iterable[Result]) -> dict[Kind, Scores]:
    """Group scores by data, N, method and measure, without the studies."""
    grids = {
        (data, method): set(map(as_json, grid_points_of(protocol, data, method)))
        for data in protocol.data
        for method in methods_of(protocol, data)
    }
    grouped: dict[Kind, Scores] = defaultdict(lambda: defaultdict(dict))
    for result in results:
        if result.grid_point in grids[result.data, result.method]:
            for metric in METRICS:
                kind = result.data, result.n_clusters, result.method, metric
                score = getattr(result, metric)
                grouped[kind][result.grid_point][result.subset] = score
    return grouped


def _table(
    protocol: Protocol,
    grouped: dict[Kind, Scores],
    data: str,
    metric: str,
    best: str,
) -> Table:
    pick = _best_combination if best == "combination" else _best_subsets
    ours, published = {}, {}
    ns, methods = rows(protocol, data), methods_of(protocol, data)
    for n, method in product(ns, methods):
        scores = grouped.get((data, n, method, metric))
        if scores:
            combinations = len(grid_points_of(protocol, data, method))
            expected = combinations * n_subsets(protocol, data, n)
            complete = sum(map(len, scores.values())) == expected
            ours[n, method] = pick(scores, complete)
        cell = paper_tables().get((data, metric, n, _column(method)))
        if cell:
            published[n, method] = cell
    return Table(data, find_data(data).title, metric, ns, methods, ours, published)


def _column(method: str) -> str:
    """Return the title of the paper's column that a method is compared with."""
    definition = find_method(method)
    return definition.paper_title or definition.title


def _best_combination(scores: Scores, complete: bool) -> Outcome:
    """Return the highest mean over the subsets among the complete grid points.

    A grid point is complete if it has a score on as many subsets as were run. A grid
    point whose fit failed on a subset is left out.
    """
    most = _most_subsets(scores)
    values = {
        grid_point: [score for score in by_subset.values() if score is not None]
        for grid_point, by_subset in scores.items()
    }
    means = {point: fmean(v) for point, v in values.items() if len(v) == most}
    if not means:
        return Outcome(None, complete=complete)
    # Sorting makes the choice among equal means independent of the order of the runs.
    grid_point = max(sorted(means), key=lambda point: means[point])
    deviation = _deviation(values[grid_point])
    return Outcome(means[grid_point], deviation, grid_point, most, complete)


def _best_subsets(scores: Scores, complete: bool) -> Outcome:
    """Return the mean over the subsets of the highest score of each subset."""
    highest: dict[int, float] = {}
    for by_subset in scores.values():
        for subset, score in by_subset.items():
            if score is not None:
                highest[subset] = max(score, highest.get(subset, score))
    values = list(highest.values())
    if len(values) < _most_subsets(scores):
        return Outcome(None, complete=complete)
    return Outcome(fmean(values), _deviation(values), None, len(values), complete)


def _is_highest(mean: float | None, means: Iterable[float | None]) -> bool:
    """Return whether a mean is the highest of its row when rounded to two decimals."""
    # Means that are printed alike share the mark of the best.
    shown = [round(other, 2) for other in means if other is not None]
    return mean is not None and round(mean, 2) == max(shown)


def _most_subsets(scores: Scores) -> int:
    """Return the largest number of subsets that any grid point was run on."""
    return max(len(by_subset) for by_subset in scores.values())


def _deviation(values: list[float]) -> float | None:
    """Return the sample standard deviation (n - 1), or None for a single value."""
    return stdev(values) if len(values) > 1 else None
