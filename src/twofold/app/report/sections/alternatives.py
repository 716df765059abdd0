"""Other ways to cluster the samples, with images of what each of them groups."""

from typing import Annotated

import numpy as np
from msgspec import Meta

from twofold.app.collection import Collection
from twofold.app.report.clustering import Clustering
from twofold.app.report.schema import Count, Number, Part
from twofold.app.results import typicality
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.search.alternatives import Alternative

_MOST_CLUSTERS, _MOST_IMAGES = 4, 5
"""Maximum number of clusters that are shown of a way, and of images of a cluster."""

Name = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]*\Z")]
"""A name that the page offers for a command line."""


class Strip(Part, frozen=True):
    """A cluster of another way."""

    size: Count  # number of samples, shown or not
    items: list[Count]  # positions of some of them


class Way(Part, frozen=True):
    """Another way to cluster the samples."""

    channels: Name
    graph: Name
    n_neighbors: Count
    n_directions: Count
    energy_weight: Number
    score: Number
    agreement: Number  # adjusted Rand index with the clusters of the report
    clusters: list[Strip]  # the largest first

    def options(self, n_clusters: int, compared_by: str = "") -> list[str]:
        """Return the options of ``twofold cluster`` for this way.

        ``compared_by`` is the option for features, if these are compared.
        """
        return [
            f"-k {n_clusters}",
            compared_by or f"--channels {self.channels}",
            f"--graph {self.graph}",
            f"--neighbors {self.n_neighbors}",
            f"--directions {self.n_directions}",
            f"--energy-weight {self.energy_weight:g}",
        ]


def build_alternatives(clustering: Clustering) -> list[Way] | None:
    """Return other ways to cluster, or None if no search has seen any."""
    if clustering.search is None or not clustering.search.alternatives_:
        return None
    return [
        Way(
            channels=_channels_name(alternative),
            graph=alternative.parameters["graph"],
            n_neighbors=alternative.parameters["n_neighbors"],
            n_directions=alternative.parameters["n_directions"],
            energy_weight=float(alternative.parameters["energy_weight"]),
            score=round(alternative.score, 4),
            agreement=round(alternative.agreement, 4),
            clusters=[
                Strip(int(size), clustering.shown_positions(some))
                for size, some in _strips(
                    clustering.collection.samples,
                    alternative.labels,
                    clustering.assignments.clusters,
                )
            ],
        )
        for alternative in clustering.search.alternatives_
    ]


def select_alternatives(
    collection: Collection, search: AutoTSNMF | None, clusters: np.ndarray
) -> set[int]:
    """Return the samples that the section shows."""
    return {
        i
        for alternative in ([] if search is None else search.alternatives_)
        for _, some in _strips(collection.samples, alternative.labels, clusters)
        for i in some
    }


def _strips(
    samples: np.ndarray, labels: np.ndarray, clusters: np.ndarray
) -> list[tuple[int, list[int]]]:
    """Return the size and some samples of each of the largest clusters of ``labels``.

    The samples are typical ones of different ``clusters``, those of the report, where
    there are such: what they share is what the other way groups by.
    """
    sizes = np.bincount(labels[labels >= 0])
    strips = []
    for cluster in np.argsort(-sizes, kind="stable")[:_MOST_CLUSTERS]:
        members = np.flatnonzero(labels == cluster)
        typical = typicality(samples[members], np.zeros(len(members), dtype=int))
        order = members[np.argsort(-typical, kind="stable")]
        strips.append((int(sizes[cluster]), _spread(order, clusters)))
    return strips


def _spread(order: np.ndarray, clusters: np.ndarray) -> list[int]:
    """Return the first samples of an order, those of clusters not seen yet before."""
    seen: dict[int, int] = {}
    rounds = []
    for cluster in clusters[order].tolist():
        rounds.append(seen.get(cluster, 0))
        seen[cluster] = rounds[-1] + 1
    chosen = np.argsort(rounds, kind="stable")[:_MOST_IMAGES]
    return order[chosen].tolist()


def _channels_name(alternative: Alternative) -> str:
    channels = alternative.parameters["channels"]
    return channels if isinstance(channels, str) else type(channels).__name__
