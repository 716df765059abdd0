"""Approximate neighbours, for more points than can be compared with each other.

The lists are those of ``certified``, but rows that are not certified are not searched
among all points. The first search uses an index. Later searches are restricted to the
candidates of the candidates, because neighbours of neighbours are likely to be near.
The result is nearly always exact, but without a guarantee. Of points at equal distance
any may be listed.
"""

import importlib
from functools import partial
from typing import Any

import numpy as np

from twofold.core.arrays import gather, slices
from twofold.core.neighbors.certified import (
    Bounds,
    DistanceSet,
    PointSet,
    Search,
    search_all,
)

_M, _EF_CONSTRUCTION, _EF_SEARCH = 16, 40, 64
"""Parameters M, efConstruction and the minimum efSearch of the HNSW index."""

_MIN_POINTS = 5000
"""Minimum number of points. With fewer points a search of all points is faster."""

_BLOCK_ROWS = 2048
"""Maximum number of rows in a block of queries."""


def load_index_library() -> Any:
    """Import Faiss, or raise an error with the way to install it."""
    try:
        return importlib.import_module("faiss")
    except ImportError:
        raise ImportError(
            "neighbors='approximate' needs Faiss: pip install 'twofold[approximate]', "
            "or leave it at 'exact'"
        ) from None


def search_approximately(
    point_set: PointSet, indices: np.ndarray, extra: int, known: Bounds | None
) -> Bounds:
    """Return the approximate bounds of the points of these indices."""
    n = point_set.points.shape[1]
    if n < _MIN_POINTS or not isinstance(point_set, DistanceSet):
        return search_all(point_set, indices, extra, known)
    count = point_set.n_neighbors + point_set.extra_candidates[0]
    if known is None:
        find = partial(np.take, _search_index(point_set.points[0], count), axis=0)
    else:
        find = partial(_candidates_of_candidates, known.candidates)
    parts = []
    for rows in slices(len(indices), _BLOCK_ROWS):
        block = indices[rows]
        parts.append(_nearest_candidates(point_set, block, find(block), count))
    bounds = Bounds(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    # Rows with fewer distinct candidates than ``count`` are searched among all points.
    too_few = np.flatnonzero(~np.isfinite(bounds.radius))
    if len(too_few):
        bounds.put(too_few, search_all(point_set, indices[too_few], extra, known))
    return bounds


def _nearest_candidates(
    point_set: PointSet, indices: np.ndarray, candidates: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bounds of the ``count`` nearest of candidates (b, m).

    They are valid only if no point outside the candidates is nearer.
    """
    values = point_set.values(indices, candidates)
    values[_is_repeated(candidates) | (candidates == indices[:, None])] = np.inf
    order = np.argsort(values, axis=1)[:, :count]
    lower = point_set.lower(gather(values, order), indices)
    return gather(candidates, order), lower, lower[:, -1]


def _search_index(points: np.ndarray, count: int) -> np.ndarray:
    """Return ``count`` near points and each point itself, by an HNSW index."""
    faiss = load_index_library()
    rows = np.ascontiguousarray(points, dtype=np.float32)
    index = faiss.IndexHNSWFlat(rows.shape[1], _M)
    index.hnsw.efConstruction = _EF_CONSTRUCTION
    index.add(rows)
    index.hnsw.efSearch = max(_EF_SEARCH, 2 * count)
    found = index.search(rows, count + 1)[1]
    # A missing result is -1. The point itself replaces it, and is excluded later.
    return np.where(found < 0, np.arange(len(rows))[:, None], found)


def _candidates_of_candidates(
    candidates: np.ndarray, indices: np.ndarray
) -> np.ndarray:
    """Return the candidates of points and of their candidates: (b, c + c^2)."""
    direct = candidates[indices]
    return np.hstack([direct, candidates[direct].reshape(len(direct), -1)])


def _is_repeated(rows: np.ndarray) -> np.ndarray:
    """Mark the entries that occur earlier in their row."""
    order = np.argsort(rows, axis=1, kind="stable")
    ascending = gather(rows, order)
    again = np.zeros(rows.shape, dtype=bool)
    again[:, 1:] = ascending[:, 1:] == ascending[:, :-1]
    repeated = np.empty_like(again)
    np.put_along_axis(repeated, order, again, axis=1)
    return repeated


APPROXIMATE = Search(search_approximately, once=True)
"""Search that keeps the lists nearly exact, at a lower cost."""
