"""Lists that are carried from one iteration to the next."""

from dataclasses import dataclass

import numpy as np

from twofold.core.neighbors.certified import NeighborLists


@dataclass(frozen=True)
class GraphLists:
    """Lists of a graph, for each entry of the batch; None for what it does not need."""

    nearest: list[NeighborLists] | None = None  # by distance
    products: list[NeighborLists] | None = None  # by the products of whitened samples


@dataclass(frozen=True)
class TrackedLists:
    """Lists of one side, from which the next iteration starts."""

    projection: np.ndarray  # (batch, w, r), rotated towards the iteration before
    lists: GraphLists  # of the samples under each projection
