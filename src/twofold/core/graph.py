"""Nearest-neighbour graphs of the projected samples, as lists of neighbours."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from scipy.sparse import csr_array

from twofold.core.arrays import (
    Array,
    flat_neighbors,
    positive_or_one,
    row_sums,
    slices,
    sparse_rows,
    symmetric_product,
)
from twofold.core.certified import EXACT, Lists, Search, follow
from twofold.core.neighbors import nearest

GRAPHS = ("heat", "binary", "cosine")

_BLOCK_ENTRIES = 2**24
"""Neighbours of neighbours that are looked at together."""


@dataclass(frozen=True)
class Graph:
    """A symmetric graph W = A + A', kept by the q listed edges of each sample.

    Attributes
    ----------
    neighbors : integer array of shape (runs, n, q)
    weights : array of shape (runs, n, q)
        The entries of A. An edge that both of its ends list has half its weight
        in each direction, so that it counts once in W.
    degree : array of shape (runs, n, 1)
        The diagonal of D, the row sums of W.
    bandwidth : array of shape (runs, 1, 1)
        The scale of the squared distances in the heat kernel.
    """

    neighbors: Array
    weights: Array
    degree: Array
    bandwidth: Array

    @cached_property
    def adjacency(self) -> csr_array:
        """W of all runs, one block after another on the diagonal, in SciPy."""
        entries = self.weights.reshape(-1, self.weights.shape[-1])
        directed = sparse_rows(flat_neighbors(self.neighbors), entries)
        return directed + directed.T

    def product(self, coefficients: Array) -> Array:
        """W V for V of shape (runs, n, k)."""
        if not is_numpy_array(coefficients):
            return symmetric_product(self.neighbors, self.weights, coefficients)
        flat = coefficients.reshape(-1, coefficients.shape[-1])
        return (self.adjacency @ flat).reshape(coefficients.shape)

    def laplacian(self, coefficients: Array) -> Array:
        """L V = D V - W V for V of shape (runs, n, k)."""
        return self.degree * coefficients - self.product(coefficients)


def neighbor_graph(features: Array, n_neighbors: int, kind: str) -> Graph:
    """W_P of the projected samples: i and j are joined if either lists the other.

    Parameters
    ----------
    features : array of shape (runs, n, d)
        Projected samples, flattened.
    n_neighbors : int
        Edges listed by each sample, at most n - 1 being possible.
    kind : {"binary", "heat", "cosine"}
        Weights 1; exp(-distance^2 / bandwidth), the bandwidth being the mean
        squared length of the listed edges; or the cosine of the angle between
        the two, which also decides who is near.
    """
    xp = array_namespace(features)
    runs, n, _ = features.shape
    if n == 1:  # Nobody to be joined to.
        none = xp.zeros((runs, 1, 1), dtype=features.dtype, device=device(features))
        return Graph(xp.zeros_like(none, dtype=xp.int64), none, none, none)
    near = nearest(graph_features(features, kind), min(n_neighbors, n - 1))
    return weighted_graph(*near, kind)


def followed_graph(
    features: Array,
    lists: list[Lists] | None,
    n_neighbors: int,
    kind: str,
    search: Search = EXACT,
) -> tuple[Graph, list[Lists] | None]:
    """``neighbor_graph``, found from the lists of the last iteration.

    On other devices than NumPy's all is searched anew: they are made for that.

    Parameters
    ----------
    features : array of shape (runs, n, d)
    lists : list of Lists, or None
        One for each run; None the first time, when each run goes on from the one
        before it: those of a sweep start alike.
    n_neighbors, kind
        As for ``neighbor_graph``.
    search : Search
        Finds the neighbours that the lists have lost.

    Returns
    -------
    graph : Graph
    lists : list of Lists, or None
        For the next iteration.
    """
    n = features.shape[1]
    if n == 1 or not is_numpy_array(features):
        return neighbor_graph(features, n_neighbors, kind), None
    q = min(n_neighbors, n - 1)
    found: list[tuple[Array, Array]] = []
    kept: list[Lists] = []
    for run, points in enumerate(graph_features(features, kind)):
        last = kept[-1] if kept else None
        before = last if lists is None else lists[run]
        squared, neighbors, now = follow(before, points, q, search)
        found.append((squared, neighbors))
        kept.append(now)
    squared, neighbors = (np.stack(arrays) for arrays in zip(*found, strict=True))
    return weighted_graph(squared, neighbors, kind), kept


def weighted_graph(squared: Array, neighbors: Array, kind: str) -> Graph:
    """W_P from the nearest neighbours (runs, n, q) and their squared distances."""
    xp = array_namespace(squared)
    bandwidth = xp.mean(squared, axis=(1, 2), keepdims=True)
    halves = xp.where(_is_mutual(neighbors), 0.5, 1.0)
    weights = edge_weights(squared, kind, bandwidth)
    weights = xp.astype(halves, weights.dtype) * weights
    return Graph(neighbors, weights, row_sums(neighbors, weights), bandwidth)


def graph_features(features: Array, kind: str) -> Array:
    """The points between which the graph measures distance."""
    if kind != "cosine":
        return features
    xp = array_namespace(features)
    norms = xp.linalg.vector_norm(features, axis=-1, keepdims=True)
    # One more axis keeps zeros at a right angle to all but their like.
    zero = xp.astype(norms == 0, features.dtype)
    return xp.concat([features / positive_or_one(norms), zero], axis=-1)


def edge_weights(squared_distances: Array, kind: str, bandwidth: Array) -> Array:
    """Weights of edges of the given squared length between graph features."""
    xp = array_namespace(squared_distances)
    if kind == "heat":
        # It is zero where all neighbours are duplicates; a new sample meets 1 there.
        return xp.exp(-squared_distances / positive_or_one(bandwidth))
    if kind == "cosine":
        cosines = 1 - squared_distances / 2
        # Rounding must not join samples at a right angle, which zeros are to all.
        right = 100 * xp.finfo(cosines.dtype).eps
        return xp.where(cosines > right, cosines, xp.zeros_like(cosines))
    return xp.ones_like(squared_distances)


def _is_mutual(neighbors: Array) -> Array:
    """Which edges i -> j have i among the neighbours of j: (runs, n, q) bool."""
    xp = array_namespace(neighbors)
    lists = flat_neighbors(neighbors)
    n, q = lists.shape
    owners = xp.arange(n, dtype=lists.dtype, device=device(lists))[:, None, None]
    parts = []
    for some in slices(n, _BLOCK_ENTRIES // q**2):
        theirs = xp.take(lists, lists[some, :].reshape(-1), axis=0).reshape(-1, q, q)
        parts.append(xp.any(theirs == owners[some], axis=-1))
    return xp.concat(parts, axis=0).reshape(neighbors.shape)
