"""Graphs of projected samples, built anew or from the neighbour lists before."""

import numpy as np
from array_api_compat import is_numpy_array

from twofold.core.arrays import AnyArray, Array
from twofold.core.graphs import graph_kind
from twofold.core.graphs.graph import Graph
from twofold.core.neighbors.certified import EXACT, NeighborLists, Search, update_lists
from twofold.core.neighbors.exact import nearest


def build_graph(
    features: Array, n_neighbors: int, kind: str, roots: Array | None = None
) -> Graph:
    """Build the graph W of projected samples.

    Parameters
    ----------
    features : array of shape (batch, n, d)
        Projected samples, flattened.
    n_neighbors : int
        Number of edges listed by every sample, capped at n - 1.
    kind : str
        Name of a kind of graph in ``KINDS``.
    roots : array of shape (n, 1) or None
        Square roots of the weights of the samples, by which the features are
        multiplied; None if all are 1. Whom a sample lists does not depend on them.
    """
    rule, n = graph_kind(kind), features.shape[1]
    if n == 1:
        return Graph.of_single_sample(features)
    q = min(n_neighbors, n - 1)
    features = unweighted(features, roots)
    near = nearest(rule.points(features), q) if rule.from_distances else None
    return rule.build(features, q, near).weighted(roots)


def unweighted(rows: AnyArray, roots: Array | None) -> AnyArray:
    """Divide rows (..., n, d) by the square roots of their weights (n, 1), if any."""
    return rows if roots is None else rows / roots


def update_graph(
    features: Array,
    n_neighbors: int,
    kind: str,
    lists: list[NeighborLists] | None,
    search: Search = EXACT,
    roots: Array | None = None,
) -> tuple[Graph, list[NeighborLists] | None]:
    """Build the same graph from the neighbour lists of the last iteration.

    Tensors are searched anew in every iteration, which is faster on a GPU. So are
    graphs without distances, whose lists would hold inner products.

    Parameters
    ----------
    features, n_neighbors, kind, roots
        As for ``build_graph``.
    lists : list of NeighborLists, or None
        One for each entry of the batch. None in the first iteration: every entry then
        starts from the lists of the entry before, since the entries of a sweep start
        from nearly the same projections.
    search : Search
        Search for the rows whose lists are no longer certain.

    Returns
    -------
    graph : Graph
    lists : list of NeighborLists for the next iteration, or None
    """
    rule, n = graph_kind(kind), features.shape[1]
    if n == 1 or not rule.from_distances or not is_numpy_array(features):
        return build_graph(features, n_neighbors, kind, roots), None
    q = min(n_neighbors, n - 1)
    features = unweighted(features, roots)
    near: list[tuple[Array, Array]] = []
    updated: list[NeighborLists] = []
    for i, points in enumerate(rule.points(features)):
        previous = updated[-1] if updated else None
        before = previous if lists is None else lists[i]
        squared, neighbors, after = update_lists(before, points, q, search)
        near.append((squared, neighbors))
        updated.append(after)
    squared, neighbors = (np.stack(arrays) for arrays in zip(*near, strict=True))
    graph = rule.build(features, q, (squared, neighbors))
    return graph.weighted(roots), updated
