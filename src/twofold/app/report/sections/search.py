"""The candidates that were tried before the settings of the model were chosen."""

import math
from itertools import pairwise
from typing import Any

from twofold.app.collection import Collection
from twofold.app.report.chart import line_chart
from twofold.app.report.clustering import Clustering
from twofold.app.report.schema import Count, Fraction, Number, Part
from twofold.app.results import tried_by
from twofold.channels import PIXELS
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.search.cluster_numbers import is_wide

_MAX_PREVIEWS = 10
"""Maximum number of candidates in the table."""


class Trial(Part, frozen=True):
    """Settings that were tried."""

    graph: str
    n_directions: Count | None  # None for the default
    energy_weight: Number | None  # likewise
    score: Number | None  # None if it is not known
    channels: str = PIXELS  # older files have no others


class ClusterNumbers(Part, frozen=True):
    """Scores by number of clusters; see ``Curve`` of the search."""

    numbers: list[Count]  # in rising order
    scores: list[Number]  # score of each number
    chosen: Count
    likely: tuple[Count, Count]  # smallest and largest likely number
    confidence: Fraction | None = None  # of older files, which had another rule

    def __post_init__(self) -> None:
        rising = all(one < other for one, other in pairwise(self.numbers))
        if not self.numbers or not rising or len(self.numbers) != len(self.scores):
            raise ValueError("its numbers of clusters do not rise, each with a score")
        if self.likely[0] > self.likely[1]:
            raise ValueError("its likely numbers of clusters are no range")
        if not {self.chosen, *self.likely} <= set(self.numbers):
            raise ValueError(
                "its choice of a number of clusters is none of those tried"
            )

    @property
    def unsure(self) -> bool:
        """Whether the number of clusters is unclear."""
        return is_wide(self.likely)

    def chart(self) -> dict[str, Any]:
        """Return the scores over the numbers of clusters as a ``line_chart``.

        The entry ``chosen`` is the point of the chosen number. The entry ``likely``
        has the x coordinates at which the range of likely numbers begins and ends.
        """
        chart = line_chart(self.scores, self.numbers)
        points = dict(zip(self.numbers, chart["points"], strict=True))
        low, high = self.likely
        return chart | {
            "chosen": points[self.chosen],
            "likely": (points[low][0], points[high][0]),
        }


class Compared(Part, frozen=True):
    """Edge information of clusters of images and of features, in the graphs of both."""

    images: Number | None  # None if nothing could be compared
    network: Number | None


class Search(Part, frozen=True):
    """Search for the settings."""

    tried: Count  # number of candidates with the chosen number of clusters
    previews: list[Trial]  # best of these candidates by their preview
    fits: list[Trial]  # all candidates that were fitted, the best first
    out_of_time: bool  # whether the time limit ended the search
    numbers: ClusterNumbers | None  # None if a single number was given
    compared: Compared | None = None  # None if no network was tried


def build_search(clustering: Clustering) -> Search | None:
    """Return a description of the search, or None if there was none."""
    if clustering.search is None:
        return None
    return describe_search(clustering.search, clustering.collection)


def describe_search(search: AutoTSNMF, collection: Collection) -> Search:
    """Return a description of a search that was fitted to a collection."""
    rows, compared = _rows(search, collection), collection.compared
    previews, fits = (_best_trials(rows, stage) for stage in ("preview", "fit"))
    curve = search.cluster_numbers_
    return Search(
        tried=len(previews),
        previews=previews[:_MAX_PREVIEWS],
        fits=fits,
        out_of_time=search.out_of_time_,
        numbers=None
        if curve is None
        else ClusterNumbers(
            numbers=curve.numbers,
            scores=list(map(float, curve.scores)),
            chosen=curve.chosen,
            likely=curve.likely,
        ),
        compared=Compared(**{name: _rounded(each) for name, each in compared.items()})
        if compared
        else None,
    )


def _rows(search: AutoTSNMF, collection: Collection) -> list[dict[str, Any]]:
    """Return the rows of the search table that have the chosen number of clusters."""
    columns = tried_by(search, collection)
    rows = [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    return [row for row in rows if row["n_clusters"] == search.n_clusters_]


def _best_trials(rows: list[dict[str, Any]], stage: str) -> list[Trial]:
    """Return the trials of a stage, the best score first."""
    trials = [_trial(row) for row in rows if row["stage"] == stage]
    # An unknown score ranks like 0, the score of chance.
    return sorted(trials, key=lambda trial: -(trial.score or 0))


def _trial(row: dict[str, Any]) -> Trial:
    weight, score = row["energy_weight"], row["score"]
    return Trial(
        graph=row["graph"],
        n_directions=row["n_directions"],
        energy_weight=None if weight is None else float(weight),
        score=_rounded(score),
        channels=row["channels"],
    )


def _rounded(score: float) -> float | None:
    """Return a score as a file has it, None if it is not known."""
    return round(score, 4) if math.isfinite(score) else None
