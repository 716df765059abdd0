"""Neighbours that are nearly always the nearest, for more samples than can be compared.

The lists are those of ``certified``. What is lost to them is not looked for among all
points, but by an index the first time, and later among the candidates of candidates:
who is near a point is near those that are near it. Nothing is certain then, and of
samples that are equally near any may be listed.
"""

import importlib
from functools import partial
from typing import Any

import numpy as np

from twofold.core.arrays import gather, slices
from twofold.core.neighbors.certified import SPARES, Bounds, Scene, Search, look_at_all
from twofold.core.neighbors.exact import pair_squares

_LINKS, _BUILT_FROM, _SEARCHED = 16, 40, 64
"""Of the index: links of a point, and points considered to set and to follow them."""

_FEWEST = 5000
"""With fewer points all are looked at, which takes less time."""

_BLOCK = 2048
"""Rows whose candidates' candidates are compared at once."""


def load_index_library() -> Any:
    """Faiss, or an error that says how to get it."""
    try:
        return importlib.import_module("faiss")
    except ImportError:
        raise ImportError(
            "neighbors='approximate' needs Faiss: pip install 'twofold[approximate]', "
            "or leave it at 'exact'"
        ) from None


def look_around(
    scene: Scene, numbers: np.ndarray, spare: int, known: Bounds | None
) -> Bounds:
    """The bounds of the points of these numbers, as far as can be told quickly."""
    n = scene.points.shape[1]
    if n < _FEWEST:
        return look_at_all(scene, numbers, spare, known)
    count = scene.n_neighbors + SPARES[0]
    if known is None:
        near = partial(np.take, _indexed(scene.points[0], count), axis=0)
    else:
        near = partial(_around, known.candidates)
    parts = []
    for some in slices(len(numbers), _BLOCK):
        part = numbers[some]
        parts.append(_nearest_of(scene, part, near(part), count))
    bounds = Bounds(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    short = np.flatnonzero(~np.isfinite(bounds.radius))  # too few were found
    if len(short):
        bounds.put(short, look_at_all(scene, numbers[short], spare, known))
    return bounds


def _nearest_of(
    scene: Scene, numbers: np.ndarray, candidates: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds that hold if no others are near: the nearest of candidates (b, m)."""
    asked, own = scene.points[:, numbers], scene.squares[:, numbers]
    squared = pair_squares(scene.points, scene.squares, asked, own, candidates[None])[0]
    squared[_is_repeated(candidates) | (candidates == numbers[:, None])] = np.inf
    order = np.argsort(squared, axis=1)[:, :count]
    lower = np.sqrt(gather(squared, order))
    return gather(candidates, order), lower, lower[:, -1]


def _indexed(points: np.ndarray, count: int) -> np.ndarray:
    """The nearest ``count`` and each point itself, by a graph to walk on (HNSW)."""
    faiss = load_index_library()
    rows = np.ascontiguousarray(points, dtype=np.float32)
    index = faiss.IndexHNSWFlat(rows.shape[1], _LINKS)
    index.hnsw.efConstruction = _BUILT_FROM
    index.add(rows)
    index.hnsw.efSearch = max(_SEARCHED, 2 * count)
    found = index.search(rows, count + 1)[1]
    # Where the walk has found too few, the point itself stands for nobody.
    return np.where(found < 0, np.arange(len(rows))[:, None], found)


def _around(candidates: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The candidates of the points of these numbers, and theirs: (b, c + c^2)."""
    own = candidates[numbers]
    return np.hstack([own, candidates[own].reshape(len(own), -1)])


def _is_repeated(rows: np.ndarray) -> np.ndarray:
    """Which numbers of each row have come before in it."""
    order = np.argsort(rows, axis=1, kind="stable")
    ranked = gather(rows, order)
    again = np.zeros(rows.shape, dtype=bool)
    again[:, 1:] = ranked[:, 1:] == ranked[:, :-1]
    repeated = np.empty_like(again)
    np.put_along_axis(repeated, order, again, axis=1)
    return repeated


APPROXIMATE = Search(look_around, SPARES[:1])
