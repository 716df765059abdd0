"""What the solver is told, what it carries from one iteration to the next, and returns.

Four classes speak of one side of the model. ``grams.Side`` is what the samples
give, ``SideState`` what has been learned, ``updates.Products`` the small products of
both that the V step takes, and ``placement.FittedSide`` what is kept for new samples
when the fit is over.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from twofold.core.arrays import Array, map_arrays, moved
from twofold.core.graphs.graph import Graph
from twofold.core.neighbors.certified import TrackedLists

FollowedPair = tuple[TrackedLists | None, TrackedLists | None]

NOTHING_FOLLOWED: FollowedPair = (None, None)


@dataclass(frozen=True)
class Settings:
    """What is common to all runs.

    Attributes
    ----------
    n_directions : (int, int)
        r of the left and of the right side.
    n_neighbors : int
    graph : {"shared", "heat", "binary", "cosine", "self"}
    neighbors : {"exact", "approximate"}
    max_iter : int
        t_max.
    tol : float
        A run has converged when one iteration changes its objective by no more
        than ``tol`` times the energy of the samples, Tr(G_P) + Tr(G_Q).
    """

    n_directions: tuple[int, int]
    n_neighbors: int = 5
    graph: str = "heat"
    neighbors: str = "exact"
    max_iter: int = 100
    tol: float = 1e-2


@dataclass(frozen=True)
class SideState:
    """P (runs, d, r) and the graph of the samples projected by it; or those of Q."""

    projection: Array
    graph: Graph


@dataclass(frozen=True)
class Factors:
    """Where an iteration starts from.

    Attributes
    ----------
    coefficients : array of shape (runs, n, k)
        V.
    centroids : array of shape (runs, k, c, h, w)
        U.
    residuals : (array, array)
        sum_i Lambda_i Lambda_i' and sum_i Lambda_i' Lambda_i for these V and U.
    followed : (TrackedLists or None, TrackedLists or None)
        What is known of the neighbours on the left and on the right side.
    """

    coefficients: Array
    centroids: Array
    residuals: tuple[Array, ...]
    followed: FollowedPair


@dataclass(frozen=True)
class State(Factors):
    """Where an iteration ended: V, U and what each side has learned."""

    left: SideState
    right: SideState

    @property
    def adjacency(self) -> csr_array:
        """W_P + W_Q, of all runs one after another on the diagonal."""
        return self.left.graph.adjacency + self.right.graph.adjacency


@dataclass(frozen=True)
class Solution:
    """Where one run ended, before Eq. (adjust).

    Attributes
    ----------
    state : State
        With a ``runs`` axis of length 1.
    history : dict of str to array of shape (n_iter,)
        The terms of Eq. (obj) and their ``total`` after every iteration.
    converged : bool
    samples : array of shape (n, c, h, w) or None
        With their missing entries as the run filled them; None where none were.
    """

    state: State
    history: dict[str, np.ndarray]
    converged: bool
    samples: Array | None = None

    def moved(self, template: Array) -> "Solution":
        """In the namespace and on the device of ``template``."""
        state, samples = map_arrays(
            (self.state, self.samples), lambda array: moved(array, template)
        )
        return replace(self, state=state, samples=samples)
