"""The largest groups of near-duplicates."""

from twofold.app.report.clustering import Clustering

MOST_GROUPS = 200
"""Maximum number of groups."""


def build_duplicates(clustering: Clustering) -> list[list[int]]:
    """Return the positions of the samples of each group, the largest group first."""
    groups = clustering.duplicates[:MOST_GROUPS]
    return [clustering.shown_positions(group) for group in groups]


def select_duplicates(groups: list[list[int]], limit: int) -> set[int]:
    """Return the samples that are shown in any case, at most ``limit`` in all."""
    each = limit // MOST_GROUPS
    return {i for group in groups[:MOST_GROUPS] for i in group[:each]}
