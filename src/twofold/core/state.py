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
from twofold.core.neighbors.certified import TrackedLists

TrackedPair = tuple[TrackedLists | None, TrackedLists | None]

NOTHING_TRACKED: TrackedPair = (None, None)


@dataclass(frozen=True)
class SolverOptions:
    """Options that all entries of a batch share.

    Attributes
    ----------
    n_directions : (int, int)
        Number of directions r of the left and of the right side.
    n_neighbors : int
        Number of neighbours of a sample in the graphs.
    graph : str
        Name of a kind of graph.
    neighbors : {"exact", "approximate"}
        Search for nearest neighbours.
    max_iter : int
        Maximum number of iterations, t_max.
    tol : float
        Tolerance: a fit has converged when one iteration changes its objective by at
        most ``tol`` times the energy of the samples, Tr(G_P) + Tr(G_Q).
    eigen_tol : float
        Tolerance of the eigenvalues of the spectral start. Weak edges between clusters
        bring the leading eigenvalues close to each other.
    """

    n_directions: tuple[int, int]
    n_neighbors: int = 5
    graph: str = "heat"
    neighbors: str = "exact"
    max_iter: int = 100
    tol: float = 1e-2
    eigen_tol: float = 1e-10


@dataclass(frozen=True)
class SideState:
    """The learned projection (batch, d, r) of one side, and its graph."""

    projection: Array
    graph: Graph


@dataclass(frozen=True)
class Factors:
    """Factors with which an iteration starts.

    Attributes
    ----------
    coefficients : array of shape (batch, n, k)
        V.
    centroids : array of shape (batch, k, c, h, w)
        U.
    residuals : (array, array)
        sum_i Lambda_i Lambda_i' and sum_i Lambda_i' Lambda_i for these V and U.
    tracked : (TrackedLists or None, TrackedLists or None)
        Neighbour lists of the left and of the right side.
    """

    coefficients: Array
    centroids: Array
    residuals: tuple[Array, ...]
    tracked: TrackedPair


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
    """Result of the solver for one entry of the batch, before Eq. (adjust).

    Attributes
    ----------
    state : State
        With a batch axis of length 1.
    history : dict of str to array of shape (n_iter,)
        The terms of Eq. (obj) and their ``total`` after every iteration.
    converged : bool
    samples : array of shape (n, c, h, w) or None
        The samples with their missing entries filled; None if no entry is missing.
    """

    state: State
    history: dict[str, np.ndarray]
    converged: bool
    samples: Array | None = None

    def moved(self, template: Array) -> "Solution":
        """Move the arrays to the namespace and device of ``template``."""
        state, samples = map_arrays(
            (self.state, self.samples), lambda array: moved(array, template)
        )
        return replace(self, state=state, samples=samples)
