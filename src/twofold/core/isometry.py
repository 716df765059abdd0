"""Few samples with many entries, written in as many coordinates as there are samples.

Distances and inner products of n samples are all in their Gram matrix K = F F'. With
the Cholesky factorisation K = L L' the rows of L (n, n) have the same ones as those of
F (n, d): they are F turned by an isometry of its span. Rounding changes an inner
product by a few units in the last place of the norms, whatever the condition of K.
"""

import hashlib

import numpy as np
from array_api_compat import is_numpy_array

from twofold.core.arrays import Array, slices

_LONGER = 2
"""Samples with more than so many times n entries are written shorter."""

_BLOCK = 2048
"""Number of entries of a sample whose products are summed in its own precision."""


def shortened(features: Array) -> Array:
    """Turn features (batch, n, d) isometrically to (batch, n, n) if d is far above n.

    Features that are not much longer are returned as they are, and so are tensors, and
    features whose Gram matrix is singular for another reason than copies and zeros.
    """
    _, n, d = features.shape
    if d <= _LONGER * n or not is_numpy_array(features):
        return features
    try:
        factors = [_coordinates(rows) for rows in features]
    except np.linalg.LinAlgError:
        return features
    return np.stack(factors).astype(features.dtype, copy=False)


def _coordinates(rows: np.ndarray) -> np.ndarray:
    """Return L (n, n) with L L' = F F' for F (n, d); copies have the same row."""
    n, eps = len(rows), float(np.finfo(rows.dtype).eps)
    try:
        return _factor(_gram(rows), eps)
    except np.linalg.LinAlgError:
        nonzero = np.flatnonzero(rows.any(axis=1))
        first, place = _different(rows, nonzero)
        if len(first) == n:
            raise
    found = np.zeros((n, n))
    found[nonzero, : len(first)] = _factor(_gram(rows, first), eps)[place]
    return found


def _factor(gram: np.ndarray, eps: float) -> np.ndarray:
    """Return the Cholesky factor of K; raise a LinAlgError if K is singular.

    Rounding, of relative size ``eps``, may leave a tiny pivot where there is none.
    """
    factor, diagonal = np.linalg.cholesky(gram), np.diagonal(gram)
    least = len(gram) * eps * diagonal.max(initial=0.0)
    if (np.diagonal(factor) ** 2 <= least).any():
        raise np.linalg.LinAlgError("the Gram matrix is singular")
    return factor


def _different(rows: np.ndarray, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an index of each different row of ``some``, and which of them each is."""
    first: dict[bytes, int] = {}
    keys = [hashlib.sha256(rows[i].tobytes()).digest() for i in some]
    for i, key in zip(some.tolist(), keys, strict=True):
        first.setdefault(key, i)
    places = {key: place for place, key in enumerate(first)}
    place = [places[key] for key in keys]
    return np.array(list(first.values()), int), np.array(place, int)


def _gram(rows: np.ndarray, some: np.ndarray | None = None) -> np.ndarray:
    """Compute F F' of F (n, d), or of some rows, summed in double precision."""
    n, d = rows.shape if some is None else (len(some), rows.shape[1])
    gram = np.zeros((n, n))
    for part in slices(d, _BLOCK):
        block = rows[:, part] if some is None else rows[some, part]
        gram += block @ block.T
    return gram
