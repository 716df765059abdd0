"""What a kind of graph has to define: ``GraphKind``, and a base for most kinds."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from array_api_compat import array_namespace

from twofold.core.arrays import AnyArray, Array
from twofold.core.graphs.graph import Edges, Graph, is_listed_back
from twofold.core.neighbors.exact import nearest

Listed = tuple[Array, Array]
"""Values and indices of the neighbours of every sample, (batch, n, q) each."""


class GraphKind(ABC):
    """A rule that joins samples by weighted edges.

    Attributes
    ----------
    name : str
        Value of the parameter ``graph``.
    description : str
        One line for the documentation.
    n_neighbors : int
        Default number of neighbours of a sample.
    n_neighbors_of_vectors : int
        The same for samples that are vectors.
    n_neighbors_in_search : int
        The same for the candidates of AutoTSNMF, which compares labels in the graphs
        of several kinds: a graph with few edges falls apart into small pieces.
    min_features : int
        Smallest number of entries of a sample for which the kind makes sense.
    from_distances : bool
        Whether ``build`` starts from nearest neighbours, whose lists can then be
        carried from one iteration to the next.
    from_affinities : bool
        The same for subspace affinities, see ``self_expression``.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    n_neighbors: ClassVar[int] = 3
    n_neighbors_of_vectors: ClassVar[int] = 5
    n_neighbors_in_search: ClassVar[int] = 5
    min_features: ClassVar[int] = 1
    from_distances: ClassVar[bool] = True
    from_affinities: ClassVar[bool] = False

    def points(self, features: AnyArray) -> AnyArray:
        """Return the points (batch, n, d') between which distances are measured."""
        return features

    @abstractmethod
    def build(
        self,
        features: Array,
        n_neighbors: int,
        nearest: Listed | None,
        shares: Listed | None = None,
    ) -> Graph:
        """Build the graph of the samples, ``Graph.from_edges(neighbors, A)``.

        W is A + A'. An edge that should be absent has weight 0 in A, and an edge that
        both of its ends list half of its weight. Samples may be without any edge.

        Parameters
        ----------
        features : array of shape (batch, n, d)
            Projected samples, flattened; n is at least 2.
        n_neighbors : int
            Number of edges listed by every sample, less than n.
        nearest : (array, array) or None
            Squared distances and indices of the nearest neighbours of every sample
            among ``points(features)``, both (batch, n, n_neighbors); None if
            ``from_distances`` is False.
        shares : (array, array) or None
            The largest affinities of every sample and their indices, likewise; None if
            ``from_affinities`` is False.
        """

    def prepared(self, features: Array) -> Any:
        """Return what ``edges_to`` makes of the training samples (n, d), if anything.

        Many calls with the same training samples can share it.
        """
        return None

    @abstractmethod
    def edges_to(
        self,
        features: Array,
        queries: Array,
        n_neighbors: int,
        bandwidth: Array,
        prepared: Any = None,
    ) -> Edges:
        """Join new samples to the training samples.

        A new sample is in no list: a rule about both ends takes its own list alone.

        Parameters
        ----------
        features : array of shape (n, d)
            Projected training samples.
        queries : array of shape (m, d)
            Projected new samples.
        n_neighbors : int
            Number of edges of every new sample, at most n.
        bandwidth : array of shape (1, 1)
            ``Graph.bandwidth`` of the training samples.
        prepared : object
            The result of ``prepared`` for these training samples, if it is known.
        """


class NearestNeighborKind(GraphKind):
    """A kind that joins nearest neighbours by a function of their distance."""

    @abstractmethod
    def affinities(self, squared_distances: Array, bandwidth: Array) -> Array:
        """Return the weights of edges of the given squared lengths."""

    def build(
        self,
        features: Array,
        n_neighbors: int,
        nearest: Listed | None,
        shares: Listed | None = None,
    ) -> Graph:
        """Build W: samples i and j are joined if either of them lists the other."""
        assert nearest is not None
        squared, neighbors = nearest
        xp = array_namespace(squared)
        bandwidth = xp.mean(squared, axis=(1, 2), keepdims=True)
        # An edge that both ends list has half of its weight in each direction.
        halves = xp.where(is_listed_back(neighbors, neighbors), 0.5, 1.0)
        weights = self.affinities(squared, bandwidth)
        weights = xp.astype(halves, weights.dtype) * weights
        return Graph.from_edges(neighbors, weights, bandwidth)

    def edges_to(
        self,
        features: Array,
        queries: Array,
        n_neighbors: int,
        bandwidth: Array,
        prepared: Any = None,
    ) -> Edges:
        """Join every new sample to its nearest training samples."""
        points = self.points(features[None, ...])
        query_points = self.points(queries[None, ...])
        squared, neighbors = nearest(points, n_neighbors, query_points)
        weights = self.affinities(squared, bandwidth)
        return Edges(weights[0, ...], neighbors[0, ...])
