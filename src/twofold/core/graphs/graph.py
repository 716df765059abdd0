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
from twofold.core.graphs.self_expression import shares
from twofold.core.neighbors.certified import EXACT, NeighborLists, Search, update_lists
from twofold.core.neighbors.exact import nearest

GRAPHS = ("shared", "heat", "binary", "cosine", "self")

SHARES = ("shared", "self")
"""Those of shares in each other."""

_FAR = 1e-3
"""What an edge of the shared graph weighs between samples that are not near."""

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
    kind : {"shared", "heat", "binary", "cosine", "self"}
        Weights exp(-distance^2 / bandwidth), the bandwidth being the mean squared
        length of the listed edges; 1; the cosine of the angle between the two, which
        then also decides who is near; their share in each other, as
        ``self_expression.shares`` has it, the mean of both ways; or that share again,
        a thousandth of it where neither lists the other among its nearest.
    """
    xp = array_namespace(features)
    runs, n, _ = features.shape
    if n == 1:  # Nobody to be joined to.
        none = xp.zeros((runs, 1, 1), dtype=features.dtype, device=device(features))
        return Graph(xp.zeros_like(none, dtype=xp.int64), none, none, none)
    q = min(n_neighbors, n - 1)
    if kind == "self":
        return share_graph(features, q)
    near = nearest(graph_features(features, kind), q)
    return weighted_graph(features, *near, kind)


def share_graph(features: Array, n_neighbors: int, near: Array | None = None) -> Graph:
    """W_P = (A + A') / 2, A having the largest |Z_ij| in each row, row-scaled.

    With the nearest neighbours ``near`` (runs, n, q) an edge counts in full only if one
    of its ends lists the other there.
    """
    xp = array_namespace(features)
    weights, neighbors = shares(features, n_neighbors)
    weights = weights / 2
    if near is not None:
        are_near = _lists(near, neighbors) | _lists_back(near, neighbors)
        weights = xp.where(are_near, weights, _FAR * weights)
    degree = row_sums(neighbors, weights)
    return Graph(neighbors, weights, degree, xp.zeros_like(degree[:, :1, :]))


def followed_graph(
    features: Array,
    lists: list[NeighborLists] | None,
    n_neighbors: int,
    kind: str,
    search: Search = EXACT,
) -> tuple[Graph, list[NeighborLists] | None]:
    """``neighbor_graph``, found from the lists of the last iteration.

    On other devices than NumPy's all is searched anew: they are made for that. So are
    self-expressive graphs, whose lists hold inner products and no distances.

    Parameters
    ----------
    features : array of shape (runs, n, d)
    lists : list of NeighborLists, or None
        One for each run; None the first time, when each run goes on from the one
        before it: those of a sweep start alike.
    n_neighbors, kind
        As for ``neighbor_graph``.
    search : Search
        Finds the neighbours that the lists have lost.

    Returns
    -------
    graph : Graph
    lists : list of NeighborLists, or None
        For the next iteration.
    """
    n = features.shape[1]
    if n == 1 or kind == "self" or not is_numpy_array(features):
        return neighbor_graph(features, n_neighbors, kind), None
    q = min(n_neighbors, n - 1)
    found: list[tuple[Array, Array]] = []
    kept: list[NeighborLists] = []
    for run, points in enumerate(graph_features(features, kind)):
        last = kept[-1] if kept else None
        before = last if lists is None else lists[run]
        squared, neighbors, now = update_lists(before, points, q, search)
        found.append((squared, neighbors))
        kept.append(now)
    squared, neighbors = (np.stack(arrays) for arrays in zip(*found, strict=True))
    return weighted_graph(features, squared, neighbors, kind), kept


def weighted_graph(
    features: Array, squared: Array, neighbors: Array, kind: str
) -> Graph:
    """W_P from the nearest neighbours (runs, n, q) and their squared distances."""
    if kind == "shared":
        return share_graph(features, neighbors.shape[-1], neighbors)
    xp = array_namespace(squared)
    bandwidth = xp.mean(squared, axis=(1, 2), keepdims=True)
    halves = xp.where(_lists_back(neighbors, neighbors), 0.5, 1.0)
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


def shares_in(trained: Array, asked: Array, q: int, kind: str) -> tuple[Array, Array]:
    """Weights and numbers (runs, m, q) of those that new samples have a share in."""
    xp = array_namespace(trained)
    weights, neighbors = shares(trained, q, asked)
    if kind == "shared":
        are_near = _lists(nearest(trained, q, asked)[1], neighbors)
        weights = xp.where(are_near, weights, _FAR * weights)
    return weights, neighbors


def _lists(lists: Array, edges: Array) -> Array:
    """Which edges i -> j (runs, n, e) have j in the list of i (runs, n, q): bool."""
    xp = array_namespace(lists)
    return xp.any(edges[..., :, None] == lists[..., None, :], axis=-1)


def _lists_back(lists: Array, edges: Array) -> Array:
    """Which edges i -> j (runs, n, e) have i in the list of j (runs, n, q): bool."""
    xp = array_namespace(lists)
    flat_lists, flat_edges = flat_neighbors(lists), flat_neighbors(edges)
    n, q = flat_lists.shape
    e = flat_edges.shape[1]
    owners = xp.arange(n, dtype=lists.dtype, device=device(lists))[:, None, None]
    parts = []
    for some in slices(n, _BLOCK_ENTRIES // (e * q)):
        ends = flat_edges[some, :].reshape(-1)
        theirs = xp.take(flat_lists, ends, axis=0).reshape(-1, e, q)
        parts.append(xp.any(theirs == owners[some], axis=-1))
    return xp.concat(parts, axis=0).reshape(edges.shape)
