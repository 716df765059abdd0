"""Lists that are carried from one iteration to the next."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

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


def join_lists(tracked: Sequence[TrackedLists | None]) -> TrackedLists | None:
    """Join the lists of several batches to those of one, None if some have none."""
    known = [each for each in tracked if each is not None]
    if len(known) < len(tracked):
        return None
    nearest = [each.lists.nearest for each in known]
    products = [each.lists.products for each in known]
    projections = np.concatenate([each.projection for each in known])
    return TrackedLists(projections, GraphLists(_joined(nearest), _joined(products)))


def _joined(lists: list[list[NeighborLists] | None]) -> list[NeighborLists] | None:
    known = [each for each in lists if each is not None]
    return list(chain(*known)) if len(known) == len(lists) else None
