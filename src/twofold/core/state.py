"""Data classes of the solver: its options, its state, and its result.

Three classes describe one side of the model, the rows or the columns: ``grams.Side``
holds the samples, ``SideState`` the learned projection and graph, and
``updates.Products`` the small products of both that the V step takes.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from twofold.core.arrays import Array, map_arrays, moved
from twofold.core.graphs.graph import Graph
from twofold.core.neighbors.tracked import TrackedLists

TrackedPair = tuple[TrackedLists | None, TrackedLists | None]

NOTHING_TRACKED: TrackedPair = (None, None)


@dataclass(frozen=True)
class SolverOptions:
    """Options that all entries of a batch share."""

    n_directions: tuple[int, int]  # r of the left and of the right side
    n_neighbors: int = 5  # of a sample in the graphs
    graph: str = "heat"  # name of a kind of graph
    neighbors: str = "exact"  # search for nearest neighbours: "exact" or "approximate"
    max_iter: int = 100  # t_max
    # A fit has converged when one iteration changes its objective by at most ``tol``
    # times the energy of the samples, Tr(G_P) + Tr(G_Q).
    tol: float = 1e-2
    # Tolerance of the eigenvalues of the spectral start. Weak edges between clusters
    # bring the leading eigenvalues close to each other.
    eigen_tol: float = 1e-10


@dataclass(frozen=True)
class SideState:
    """The learned projection (batch, d, r) of one side, and its graph."""

    projection: Array
    graph: Graph


@dataclass(frozen=True)
class Factors:
    """Factors with which an iteration starts."""

    coefficients: Array  # V, (batch, n, k)
    centroids: Array  # U, (batch, k, c, h, w)
    # sum_i Lambda_i Lambda_i' and sum_i Lambda_i' Lambda_i for these V and U.
    residuals: tuple[Array, ...]
    tracked: TrackedPair  # neighbour lists of the left and of the right side


@dataclass(frozen=True)
class State(Factors):
    """Factors with which an iteration ends, and the state of both sides."""

    left: SideState
    right: SideState

    @property
    def adjacency(self) -> csr_array:
        """W_P + W_Q; the graphs of a batch are blocks on the diagonal."""
        return self.left.graph.adjacency + self.right.graph.adjacency


@dataclass(frozen=True)
class Solution:
    """Result of the solver for one entry of the batch, before Eq. (adjust)."""

    state: State  # with a batch axis of length 1
    # The terms of Eq. (obj) and their ``total`` after every iteration, (n_iter,) each.
    history: dict[str, np.ndarray]
    converged: bool
    samples: Array | None = None  # (n, c, h, w), filled; None if no entry is missing

    def unweighted(self, roots: Array | None) -> "Solution":
        """Divide the samples and the rows of V by the roots of their weights, if any.

        The graphs stay those of weighted samples.
        """
        if roots is None:
            return self
        state = replace(self.state, coefficients=self.state.coefficients / roots)
        samples = self.samples
        if samples is not None:
            samples = samples / roots[..., None, None]
        return replace(self, state=state, samples=samples)

    def moved(self, template: Array) -> "Solution":
        """Move the arrays to the namespace and device of ``template``."""
        state, samples = map_arrays(
            (self.state, self.samples), lambda array: moved(array, template)
        )
        return replace(self, state=state, samples=samples)
