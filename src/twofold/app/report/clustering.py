"""The clustering that a report describes, as every section receives it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twofold.app.collection import Collection
from twofold.app.results import Assignments
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.tsnmf import TSNMF


@dataclass(frozen=True)
class Clustering:
    """A fitted model with its samples, whose missing entries have been filled in."""

    collection: Collection
    model: TSNMF
    assignments: Assignments  # cluster, confidence and error of each sample
    typical: np.ndarray  # (n,), typicality of each sample
    orders: list[np.ndarray]  # samples of each cluster, the most typical first
    duplicates: list[list[int]]  # groups of near-duplicates, the largest first
    shown: np.ndarray  # sorted indices of the samples that the report shows
    search: AutoTSNMF | None = None  # search that selected the model, if any

    @cached_property
    def positions(self) -> dict[int, int]:
        """Position in ``Report.items`` of every sample that is shown."""
        return {int(i): position for position, i in enumerate(self.shown)}

    def shown_positions(self, samples: list[int]) -> list[int]:
        """Return the positions of ``samples``, without samples that are not shown."""
        return [self.positions[i] for i in samples if i in self.positions]


def select_shown(
    orders: list[np.ndarray], required: set[int], limit: int
) -> np.ndarray:
    """Return the sorted samples to show: all, or an even choice from each cluster.

    The samples in ``required`` are always among them. ``limit`` is approximate.
    """
    n = sum(map(len, orders))
    if n <= limit:
        return np.arange(n)
    selected = set(required)
    share = (limit - len(required)) / n
    for order in orders:
        # At least one sample, so that no cluster is empty on the page.
        count = max(1, int(share * len(order)))
        positions = np.linspace(0, len(order) - 1, count).astype(int)
        selected |= set(order[positions].tolist())
    return np.array(sorted(selected))
