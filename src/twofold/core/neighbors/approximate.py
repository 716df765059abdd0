"""Approximate neighbours, for more points than can be compared with each other.

The lists are those of ``certified`` and ``products``, but rows that are not certified
are not searched among all points. If they are many, an index finds their candidates:
HNSW of Faiss, by distance, or by inner product for points and for points of the
opposite sign. If they are few, the candidates of their candidates are measured, because
neighbours of neighbours are likely to be near. The result is nearly always exact, but
without a guarantee. Of points at equal distance any may be listed.
"""

import importlib.util
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

MANY_SAMPLES = 20_000
"""Number of samples from which on the approximate search is clearly faster."""

_MIN_POINTS = 5000
"""Minimum number of points. With fewer points a search of all points is faster."""

_BLOCK_ROWS = 2048
"""Maximum number of rows in a block of queries."""

_EXTRA = 25
"""Number of candidates beyond the neighbours."""

_EFFORTS = ((1, (1,)), (1, (1, -1)), (2, (1, -1)), (4, (1, -1)))
"""Factors of efSearch, and signs of the products, that are tried in turn."""

_N_PROBES, _RECALL = 300, 0.98
"""Number of points that are searched exactly as well, and the least fraction of their
neighbours that the index must find.
"""

_LOSS_SHARE = 0.3
"""Fraction of the largest possible loss of bounds that is counted. Of many dimensions
few are those in which points approach each other.
"""

_FEW = 0.02
"""Fraction of the rows up to which candidates of candidates cost less than an index."""


def index_library_exists() -> bool:
    """Return whether Faiss is installed."""
    return importlib.util.find_spec("faiss") is not None


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
    if n < _MIN_POINTS:
        return search_all(point_set, indices, extra, known)
    count = min(point_set.n_neighbors + _EXTRA, n - 1)
    if known is None or len(indices) > _FEW * n:
        find = partial(np.take, _find_many(point_set, indices, count, known), axis=0)
    else:
        find = partial(_candidates_of_candidates, known.candidates, indices)
    parts = []
    for rows in slices(len(indices), _BLOCK_ROWS):
        candidates = find(np.arange(len(indices))[rows])
        parts.append(_best_candidates(point_set, indices[rows], candidates, count))
    bounds = Bounds(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    # Rows with fewer distinct candidates than ``count`` are searched among all points.
    too_few = np.flatnonzero(~np.isfinite(bounds.radius))
    if len(too_few):
        every = search_all(point_set, indices[too_few], _EXTRA, known)
        bounds.put(too_few, every)
    return bounds


def _best_candidates(
    point_set: PointSet, indices: np.ndarray, candidates: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bounds of the ``count`` best of candidates (b, m).

    They are valid only if no point outside the candidates is better.
    """
    values = point_set.values(indices, candidates)
    values[_is_repeated(candidates) | (candidates == indices[:, None])] = np.inf
    order = np.argsort(values, axis=1)[:, :count]
    lower = point_set.lower(gather(values, order), indices)
    return gather(candidates, order), lower, lower[:, -1]


def _find_many(
    point_set: PointSet, indices: np.ndarray, count: int, known: Bounds | None
) -> np.ndarray:
    """Return near points of those of these indices, themselves among them: (b, m).

    They are the candidates that are known if these still have nearly all neighbours of
    some points, for which a search of all points tells.
    """
    n = point_set.points.shape[1]
    some = np.unique(np.linspace(0, n - 1, min(n, _N_PROBES)).astype(int))
    every = search_all(point_set, some, _EXTRA, None)
    neighbors = point_set.select(some, every, always=True).neighbors
    lists = None if known is None else known.candidates
    if lists is not None and lists.shape[1] < count:
        lists = None
    if lists is not None and _recall(neighbors, lists[some]) >= _RECALL:
        return lists[indices]
    return _search_index(point_set, indices, count, some, neighbors)


def _search_index(
    point_set: PointSet,
    indices: np.ndarray,
    count: int,
    some: np.ndarray,
    neighbors: np.ndarray,
) -> np.ndarray:
    """Return near points, as ``_find_many`` does, by an HNSW index.

    It is searched as thoroughly as some points, whose neighbours are known, need it:
    with a larger efSearch, and by products of either sign.
    """
    points = np.ascontiguousarray(point_set.points[0], dtype=np.float32)
    by_distance = isinstance(point_set, DistanceSet)
    index = _build_index(points, by_distance=by_distance)

    def search(rows: np.ndarray, effort: int, signs: tuple[int, ...]) -> np.ndarray:
        index.hnsw.efSearch = effort * max(_EF_SEARCH, 2 * count)
        found = [index.search(sign * points[rows], count + 1)[1] for sign in signs]
        # A missing result is -1. The point itself replaces it, and is excluded later.
        return np.where(np.hstack(found) < 0, rows[:, None], np.hstack(found))

    for effort, signs in _EFFORTS:
        signs = signs[:1] if by_distance else signs
        if _recall(neighbors, search(some, effort, signs)) >= _RECALL:
            break
    return search(indices, effort, signs)


def _recall(neighbors: np.ndarray, found: np.ndarray) -> float:
    """Return the fraction of neighbours (b, q) that are in their row of (b, m)."""
    return float(np.mean((neighbors[..., None] == found[:, None, :]).any(axis=-1)))


def _build_index(points: np.ndarray, *, by_distance: bool) -> Any:
    """Return an HNSW index of points (n, d), by distance or by inner product."""
    faiss = load_index_library()
    metric = faiss.METRIC_L2 if by_distance else faiss.METRIC_INNER_PRODUCT
    index = faiss.IndexHNSWFlat(points.shape[1], _M, metric)
    index.hnsw.efConstruction = _EF_CONSTRUCTION
    index.add(points)
    return index


def _candidates_of_candidates(
    candidates: np.ndarray, indices: np.ndarray, positions: np.ndarray
) -> np.ndarray:
    """Return the candidates of ``indices[positions]`` and theirs: (b, c + c^2)."""
    direct = candidates[indices[positions]]
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


APPROXIMATE = Search(search_approximately, once=True, loss_share=_LOSS_SHARE)
"""Search that keeps the lists nearly exact, at a lower cost."""
