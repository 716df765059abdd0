"""Scores of the clusters against known classes, and the confusion table."""

from typing import Annotated

import numpy as np
from msgspec import Meta
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from twofold.app.report.clustering import Clustering
from twofold.app.report.items import printable
from twofold.app.report.schema import Count, Fraction, Part
from twofold.metrics import score_all

_MOST_CELLS = 20_000
"""Maximum number of cells of a confusion table."""


class Values(Part, frozen=True):
    """Scores: 1 is best."""

    accuracy: Fraction
    nmi: Fraction
    purity: Fraction
    ari: Annotated[float, Meta(ge=-1, le=1)]


class Confusion(Part, frozen=True):
    """Number of samples of each class in each cluster.

    The clusters are ordered so that a class and its best match are on the diagonal.
    """

    classes: list[str]  # names of the rows
    clusters: list[Count]  # numbers of the columns
    counts: list[list[Count]]  # rows of the table

    def __post_init__(self) -> None:
        widths = {len(row) for row in self.counts}
        if len(self.counts) != len(self.classes) or widths - {len(self.clusters)}:
            raise ValueError("its confusion table is not one count for each pair")


class Scores(Part, frozen=True):
    """Agreement of the clusters with known classes."""

    values: Values
    confusion: Confusion | None  # None if the table would be too large to read


def build_scores(clustering: Clustering) -> Scores | None:
    """Return the scores, or None if the classes are not known."""
    collection, clusters = clustering.collection, clustering.assignments.clusters
    if collection.target is None:
        return None
    scores = score_all(collection.target, clusters)
    names = [printable(str(name)) for name in collection.target_names]
    return Scores(
        values=Values(**{name: round(float(v), 4) for name, v in scores.items()}),
        confusion=tabulate(collection.target, clusters, names),
    )


def tabulate(
    target: np.ndarray, clusters: np.ndarray, names: list[str]
) -> Confusion | None:
    """Count the samples of each class in each cluster.

    ``target`` (n,) has indices of ``names``; classes without samples are left out. The
    numbers in ``clusters`` (n,) are 0, 1, ... without a gap.
    """
    counts = contingency_matrix(target, clusters)
    if counts.size > _MOST_CELLS:
        return None
    rows, columns = linear_sum_assignment(counts, maximize=True)
    unmatched = np.setdiff1d(np.arange(counts.shape[1]), columns)
    # Matched clusters in the order of their classes, then the others.
    order = np.concatenate([columns[np.argsort(rows)], unmatched])
    return Confusion(
        classes=[names[i] for i in np.unique(target)],
        clusters=order.tolist(),
        counts=counts[:, order].tolist(),
    )
