"""Graphs of projected samples, built anew or from the neighbour lists before."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from array_api_compat import is_numpy_array

from twofold.core.arrays import AnyArray, Array, to_numpy
from twofold.core.graphs import graph_kind
from twofold.core.graphs.graph import Graph
from twofold.core.graphs.kind import GraphKind, Listed
from twofold.core.graphs.self_expression import affinities, to_affinities, whitened
from twofold.core.neighbors.approximate import divide
from twofold.core.neighbors.certified import NeighborLists, update_lists
from twofold.core.neighbors.exact import nearest
from twofold.core.neighbors.products import update_products
from twofold.core.neighbors.tracked import GraphLists


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
    shares = affinities(features, q) if rule.from_affinities else None
    return rule.build(features, q, near, shares).weighted(roots)


def unweighted(rows: AnyArray, roots: Array | None) -> AnyArray:
    """Divide rows (..., n, d) by the square roots of their weights (n, 1), if any."""
    return rows if roots is None else rows / roots


def update_graph(
    features: Array,
    n_neighbors: int,
    kind: str,
    lists: GraphLists | None,
    roots: Array | None = None,
    white: np.ndarray | None = None,
) -> tuple[Graph, GraphLists | None]:
    """Build the same graph from the lists of the last iteration.

    Tensors are searched anew in every iteration, which is faster on a GPU.

    Parameters
    ----------
    features, n_neighbors, kind, roots
        As for ``build_graph``.
    lists : GraphLists or None
        None in the first iteration.
    white : array of shape (batch, n, d') or None
        The ``whitened`` features, if they are known.

    Returns
    -------
    graph : Graph
    lists : GraphLists for the next iteration, or None
    """
    rule, n = graph_kind(kind), features.shape[1]
    if n == 1 or not is_numpy_array(features):
        return build_graph(features, n_neighbors, kind, roots), None
    q, lists = min(n_neighbors, n - 1), lists or GraphLists()
    features = unweighted(features, roots)
    near = shares = nearest_lists = product_lists = None
    if rule.from_distances:
        points = rule.points(features)
        near, nearest_lists = _update_all(update_lists, lists.nearest, points, q)
    if rule.from_affinities:
        white = to_numpy(whitened(features)) if white is None else white
        (products, neighbors), product_lists = _update_all(
            update_products, lists.products, white, q
        )
        shares = to_affinities(products), neighbors
    graph = rule.build(features, q, near, shares)
    return graph.weighted(roots), GraphLists(nearest_lists, product_lists)


def approximate_graph(
    features: Array, n_neighbors: int, kind: str, roots: Array | None = None
) -> Graph:
    """Build nearly the same graph, comparing samples with those in near cells alone.

    The parameters are those of ``build_graph``. Tensors are compared with all others.
    """
    rule, n = graph_kind(kind), features.shape[1]
    if n == 1 or not is_numpy_array(features):
        return build_graph(features, n_neighbors, kind, roots)
    q, features = min(n_neighbors, n - 1), unweighted(features, roots)
    points = rule.points(features)
    white = to_numpy(whitened(features)) if rule.from_affinities else None
    parts = [
        _in_cells(rule, points[i], None if white is None else white[i], q)
        for i in range(len(points))
    ]
    near, shares, found = zip(*parts, strict=True)
    dtype = features.dtype
    graph = rule.build(features, q, _joined(near, dtype), _joined(shares, dtype))
    recall = np.array(found)[:, None, None]
    return replace(graph, recall=recall).weighted(roots)


def _in_cells(
    rule: GraphKind, points: np.ndarray, white: np.ndarray | None, q: int
) -> tuple[Listed | None, Listed | None, float]:
    """Return what ``GraphKind.build`` takes of points (n, d), and the recall."""
    cells = divide(points, q)
    near = cells.nearest(q) if rule.from_distances else None
    shares = None
    if white is not None:
        products, neighbors = cells.largest_products(white, q)
        shares = to_affinities(products), neighbors
    return near, shares, cells.recall


def _joined(parts: Sequence[Listed | None], dtype: np.dtype) -> Listed | None:
    """Join values and indices (n, q) of the entries of a batch: (batch, n, q) each."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    values, neighbors = (np.stack(arrays) for arrays in zip(*known, strict=True))
    return values.astype(dtype, copy=False), neighbors


Update = Callable[
    [NeighborLists | None, np.ndarray, int],
    tuple[np.ndarray, np.ndarray, NeighborLists],
]
"""``update_lists`` or ``update_products``."""


def _update_all(
    update: Update,
    lists: list[NeighborLists] | None,
    points: np.ndarray,
    n_neighbors: int,
) -> tuple[tuple[np.ndarray, np.ndarray], list[NeighborLists]]:
    """Update the lists of points (batch, n, d), one for each entry of the batch.

    In the first iteration every entry starts from the lists of the entry before, since
    the entries of a sweep start from nearly the same projections. Returns the values
    and indices of the neighbours, (batch, n, n_neighbors) each, and the lists.
    """
    found: list[tuple[np.ndarray, np.ndarray]] = []
    updated: list[NeighborLists] = []
    for i, rows in enumerate(points):
        previous = updated[-1] if updated else None
        before = previous if lists is None else lists[i]
        *listed, after = update(before, rows, n_neighbors)
        found.append((listed[0], listed[1]))
        updated.append(after)
    values, neighbors = (np.stack(arrays) for arrays in zip(*found, strict=True))
    return (values, neighbors), updated
