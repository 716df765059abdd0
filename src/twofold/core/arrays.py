"""The one small place where NumPy and PyTorch arrays are treated differently."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_numpy_array,
)
from scipy.sparse import csr_array
from sklearn.neighbors import NearestNeighbors

Array: TypeAlias = Any
"""An array of any namespace of the array API standard."""

_BLOCK_ENTRIES = 2**24
"""How many distances PyTorch's neighbour search holds at once."""

_SPARES = (8, 64, 512)
"""Candidates beyond the neighbours asked for, to see all who tie with the last."""


def to_numpy(array: Array) -> np.ndarray:
    """A NumPy view or copy of an array on any device."""
    if is_numpy_array(array):
        return array
    return np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)


def like(values: Any, template: Array) -> Array:
    """``values`` in the namespace, floating dtype and device of ``template``."""
    xp = array_namespace(template)
    if is_array_api_obj(values) and array_namespace(values) is not xp:
        values = to_numpy(values)
    return xp.asarray(values, dtype=template.dtype, device=device(template))


def take(array: Array, indices: Any) -> Array:
    """The given rows of an array, in a copy."""
    xp = array_namespace(array)
    return xp.take(array, xp.asarray(indices, device=device(array)), axis=0)


def take_runs(tree: Any, runs: Array) -> Any:
    """The given runs of an array, or of all arrays in (nested) dataclasses and tuples.

    None stays None.
    """
    if is_dataclass(tree) and not isinstance(tree, type):
        taken = {f.name: take_runs(getattr(tree, f.name), runs) for f in fields(tree)}
        return replace(tree, **taken)
    if isinstance(tree, tuple):
        return tuple(take_runs(branch, runs) for branch in tree)
    return None if tree is None else take(tree, runs)


def nearest(
    features: Array, n_neighbors: int, queries: Array | None = None
) -> tuple[Array, Array]:
    """Exact Euclidean nearest neighbours in every run.

    Of samples that are equally near, but for rounding, the first ones are listed, as
    long as no more than 512 tie. A distance that may be rounding is zero.

    Parameters
    ----------
    features : array of shape (runs, n, d)
    n_neighbors : int
    queries : array of shape (runs, m, d) or None
        With None every row of ``features`` is a query and never its own
        neighbour.

    Returns
    -------
    squared_distances : array of shape (runs, m, n_neighbors)
    neighbors : integer array of shape (runs, m, n_neighbors)
        Nearest first.
    """
    xp = array_namespace(features)
    n = features.shape[1]
    search = _nearest_numpy if is_numpy_array(features) else _nearest_torch
    lengths = xp.max(xp.sum(features**2, axis=-1), axis=1)[:, None, None]
    rounding = 100 * xp.finfo(features.dtype).eps * lengths
    possible = n if queries is not None else n - 1
    for spare in _SPARES:
        count = min(n_neighbors + spare, possible)
        squared, neighbors = search(features, count, queries)
        level = _levels(squared, rounding)
        all_seen = xp.all(level[..., n_neighbors - 1] < level[..., -1])
        if all_seen or count == possible:
            break
    chosen = xp.argsort(level * n + neighbors, axis=-1)[..., :n_neighbors]
    squared = xp.where(squared > rounding, squared, xp.zeros_like(squared))
    return _gather(squared, chosen), _gather(neighbors, chosen)


def _levels(squared: Array, rounding: Array) -> Array:
    """0, 1, ... for rising numbers (runs, m, q), the same where they differ by less."""
    xp = array_namespace(squared)
    farther = xp.astype(squared[..., 1:] - squared[..., :-1] > rounding, xp.int64)
    first = xp.zeros_like(squared[..., :1], dtype=xp.int64)
    return xp.concat([first, xp.cumulative_sum(farther, axis=-1)], axis=-1)


def _gather(array: Array, places: Array) -> Array:
    """``array[..., places]`` along the last axis."""
    if is_numpy_array(array):
        return np.take_along_axis(array, places, axis=-1)
    return array.gather(-1, places)


def _nearest_numpy(
    features: np.ndarray, count: int, queries: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    distances, neighbors = [], []
    for run, points in enumerate(features):
        search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(points)
        found = search.kneighbors(None if queries is None else queries[run])
        distances.append(found[0].astype(features.dtype, copy=False))
        neighbors.append(found[1])
    return np.stack(distances) ** 2, np.stack(neighbors)


def _nearest_torch(
    features: Array, count: int, queries: Array | None
) -> tuple[Array, Array]:
    """By blocks of queries, so that no n x n array is ever held."""
    xp = array_namespace(features)
    runs, n, _ = features.shape
    asked = features if queries is None else queries
    norms = (features**2).sum(-1)[:, None, :]
    step = max(1, _BLOCK_ENTRIES // (runs * n))
    distances, neighbors = [], []
    for begin in range(0, asked.shape[1], step):
        block = asked[:, begin : begin + step, :]
        squared = norms - 2 * block @ features.mT + (block**2).sum(-1, keepdim=True)
        if queries is None:
            own = xp.arange(block.shape[1], device=device(features))
            squared[:, own, own + begin] = xp.inf
        found = squared.topk(count, dim=-1, largest=False)
        distances.append(found.values)
        neighbors.append(found.indices)
    # Rounding leaves distances of duplicates slightly below zero.
    return xp.concat(distances, axis=1).clamp(min=0), xp.concat(neighbors, axis=1)


def symmetric_product(neighbors: Array, weights: Array, dense: Array) -> Array:
    """(A + A') M for each run, A being given by its q entries a row.

    Parameters
    ----------
    neighbors, weights : arrays of shape (runs, n, q)
        Row i of A has ``weights[i, s]`` in column ``neighbors[i, s]``.
    dense : array of shape (runs, n, k)
        M.

    Returns
    -------
    array of shape (runs, n, k)
    """
    runs, n, q = neighbors.shape
    columns = flat_neighbors(neighbors)
    flat = dense.reshape(runs * n, -1)
    if is_numpy_array(dense):
        matrix = sparse_rows(columns, weights.reshape(runs * n, q))
        return (matrix @ flat + matrix.T @ flat).reshape(dense.shape)
    edges = weights.reshape(runs * n, q, 1)
    result = (edges * flat[columns]).sum(1)
    # Rows of A' are reached by adding every row into its neighbours' rows.
    spread = (edges * flat[:, None, :]).reshape(runs * n * q, flat.shape[1])
    result.index_add_(0, columns.reshape(-1), spread)
    return result.reshape(dense.shape)


def flat_neighbors(neighbors: Array) -> Array:
    """Neighbour lists (runs * n, q) of the disjoint union of all runs' graphs."""
    xp = array_namespace(neighbors)
    runs, n, q = neighbors.shape
    offsets = n * xp.arange(runs, dtype=neighbors.dtype, device=device(neighbors))
    return (neighbors + offsets[:, None, None]).reshape(runs * n, q)


def sparse_rows(columns: Array, entries: Array) -> csr_array:
    """The (n, n) SciPy array with ``entries`` (n, q) in ``columns`` (n, q)."""
    n, q = columns.shape
    flat = to_numpy(entries).reshape(-1), to_numpy(columns).reshape(-1)
    return csr_array((*flat, np.arange(0, n * q + 1, q)), shape=(n, n))


def positive_or_one(array: Array) -> Array:
    """1 in place of zeros, to divide by."""
    xp = array_namespace(array)
    return xp.where(array > 0, array, xp.ones_like(array))
