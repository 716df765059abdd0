"""Tables of ours beside the paper's: means over subsets, and the best of the grid."""

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

Scores = dict[str, dict[int, float | None]]
"""By grid_point and subset; None where the fit failed."""


@dataclass(frozen=True)
class Outcome(Cell):
    """What was measured of a method for one N.

    Attributes
    ----------
    grid_point : str or None
        The combination of parameters that it is of, as JSON; None where each subset
        has its own.
    subsets : int
        Over how many subsets the mean is.
    complete : bool
        Whether all of the grid was run on all of the protocol's subsets.
    """

    grid_point: str | None = None
    subsets: int = 0
    complete: bool = True


NOT_RUN = Outcome(None, complete=False)


@dataclass(frozen=True)
class Pair:
    """One place of a table.

    Attributes
    ----------
    ours : Outcome
    paper : Cell
        Either without a mean if there is none.
    best : bool
        Whether ours is the highest of its row.
    """

    ours: Outcome
    paper: Cell
    best: bool

    @property
    def difference(self) -> float | None:
        """By how much ours is higher, where both are there."""
        if self.ours.mean is None or self.paper.mean is None:
            return None
        return self.ours.mean - self.paper.mean


@dataclass(frozen=True)
class Table:
    """One measure on one data set, ours and the paper's.

    Attributes
    ----------
    data, title, metric : str
    rows : tuple of int
        The numbers of clusters, N.
    methods : tuple of str
        Their names.
    ours : dict of (int, str) to Outcome
        By N and method; what was not run is not in it.
    paper : dict of (int, str) to Cell
    """

    data: str
    title: str
    metric: str
    rows: tuple[int, ...]
    methods: tuple[str, ...]
    ours: dict[tuple[int, str], Outcome]
    paper: dict[tuple[int, str], Cell]

    def average(self, method: str) -> float | None:
        """Our mean over all rows; None where a row is missing."""
        return self._mean_of_rows(self.ours, method)

    def paper_average(self, method: str) -> float | None:
        """The paper's average as printed, or over the rows of a smaller table."""
        if self.rows == paper_rows(self.data):
            return paper_average(self.data, self.metric, _column(method))
        return self._mean_of_rows(self.paper, method)

    def _mean_of_rows(
        self, cells: Mapping[tuple[int, str], Cell], method: str
    ) -> float | None:
        found = [cells[n, method].mean for n in self.rows if (n, method) in cells]
        means = [mean for mean in found if mean is not None]
        return fmean(means) if means and len(means) == len(self.rows) else None

    def pair(self, n: int, method: str) -> Pair:
        """Ours and the paper's in row N."""
        ours = self.ours.get((n, method), NOT_RUN)
        paper = self.paper.get((n, method), Cell(None))
        means = [self.ours.get((n, m), NOT_RUN).mean for m in self.methods]
        return Pair(ours, paper, _is_highest(ours.mean, means))

    def average_pair(self, method: str) -> Pair:
        """Ours and the paper's over all rows."""
        ours, paper = self.average(method), self.paper_average(method)
        best = _is_highest(ours, map(self.average, self.methods))
        return Pair(Outcome(ours), Cell(paper), best)

    def lines(self) -> Iterator[tuple[str, list[Pair]]]:
        """The rows as they are shown: N or "Average", and a pair for each method."""
        for n in self.rows:
            yield str(n), [self.pair(n, method) for method in self.methods]
        yield "Average", [self.average_pair(method) for method in self.methods]


def build_tables(
    protocol: Protocol, results: Iterable[Result], best: str
) -> list[Table]:
    """The tables of the data sets that have results; see ``summarize``.

    Parameters
    ----------
    protocol : Protocol
    results : iterable of Result
        Of this protocol.
    best : {"combination", "subset"}
    """
    grouped = _group_scores(protocol, results)
    return [
        _table(protocol, grouped, data, metric, best)
        for data in protocol.data
        if any(kind[0] == data for kind in grouped)
        for metric in METRICS
    ]


def _group_scores(
    protocol: Protocol, results: Iterable[Result]
) -> dict[tuple[str, int, str, str], Scores]:
    """Scores of the tables' fits, not of the studies', by data, N, method, measure."""
    grids = {
        (data, method): set(map(as_json, grid_points_of(protocol, data, method)))
        for data in protocol.data
        for method in methods_of(protocol, data)
    }
    found: dict[tuple[str, int, str, str], Scores] = defaultdict(
        lambda: defaultdict(dict)
    )
    for result in results:
        if result.grid_point in grids[result.data, result.method]:
            for metric in METRICS:
                kind = result.data, result.n_clusters, result.method, metric
                score = getattr(result, metric)
                found[kind][result.grid_point][result.subset] = score
    return found


def _table(
    protocol: Protocol,
    grouped: dict[tuple[str, int, str, str], Scores],
    data: str,
    metric: str,
    best: str,
) -> Table:
    pick = _best_combination if best == "combination" else _best_subsets
    ours, theirs = {}, {}
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
            theirs[n, method] = cell
    return Table(data, find_data(data).title, metric, ns, methods, ours, theirs)


def _column(method: str) -> str:
    """The title of the paper's column that a method is set beside."""
    found = find_method(method)
    return found.paper_title or found.title


def _best_combination(scores: Scores, complete: bool) -> Outcome:
    """The highest mean over the subsets, of combinations that saw the most of them.

    A combination that failed on a subset is none.
    """
    most = _most_subsets(scores)
    values = {
        grid_point: [score for score in of.values() if score is not None]
        for grid_point, of in scores.items()
    }
    means = {s: fmean(found) for s, found in values.items() if len(found) == most}
    if not means:
        return Outcome(None, complete=complete)
    # Of equally good ones the first in the order of the JSON, whatever ran first.
    grid_point = max(sorted(means), key=lambda s: means[s])
    deviation = _deviation(values[grid_point])
    return Outcome(means[grid_point], deviation, grid_point, most, complete)


def _best_subsets(scores: Scores, complete: bool) -> Outcome:
    """The mean over the subsets of the highest score in each."""
    highest: dict[int, float] = {}
    for of_grid_point in scores.values():
        for subset, score in of_grid_point.items():
            if score is not None:
                highest[subset] = max(score, highest.get(subset, score))
    values = list(highest.values())
    if len(values) < _most_subsets(scores):
        return Outcome(None, complete=complete)
    return Outcome(fmean(values), _deviation(values), None, len(values), complete)


def _is_highest(mean: float | None, means: Iterable[float | None]) -> bool:
    """Whether a mean is the highest of a row, as far as two decimals show."""
    shown = [round(other, 2) for other in means if other is not None]
    return mean is not None and round(mean, 2) == max(shown)


def _most_subsets(scores: Scores) -> int:
    return max(len(of_grid_point) for of_grid_point in scores.values())


def _deviation(values: list[float]) -> float | None:
    """The sample standard deviation, as MATLAB's ``std``; None of a single run."""
    return stdev(values) if len(values) > 1 else None
