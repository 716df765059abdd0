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
    """A fitted model with its samples.

    Attributes
    ----------
    collection : Collection
        The samples; missing entries have been filled in.
    model : TSNMF
        Model fitted to the samples.
    assignments : Assignments
        Cluster, confidence and reconstruction error of every sample.
    typical : ndarray of shape (n,)
        Typicality of every sample.
    orders : list of int arrays
        Samples of each cluster, the most typical sample first.
    duplicates : list of list of int
        All groups of near-duplicates, the largest group first.
    shown : int array
        Sorted indices of the samples that the report shows.
    search : AutoTSNMF or None
        Search that selected the model, if there was one.
    """

    collection: Collection
    model: TSNMF
    assignments: Assignments
    typical: np.ndarray
    orders: list[np.ndarray]
    duplicates: list[list[int]]
    shown: np.ndarray
    search: AutoTSNMF | None = None

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
    """Select the samples to show: all, or an even choice from each cluster.

    Parameters
    ----------
    orders : list of int arrays
        Samples of each cluster, the most typical sample first.
    required : set of int
        Samples that are shown in any case.
    limit : int
        Approximate maximum number of samples.

    Returns
    -------
    int array
        Sorted indices of the selected samples.
    """
    n = sum(map(len, orders))
    if n <= limit:
        return np.arange(n)
    selected = set(required)
    share = (limit - len(required)) / n
    for order in orders:
        count = max(1, int(share * len(order)))
        positions = np.linspace(0, len(order) - 1, count).astype(int)
        selected |= set(order[positions].tolist())
    return np.array(sorted(selected))
