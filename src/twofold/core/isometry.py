"""Few samples with many entries, written in as many coordinates as there are samples.

Distances and inner products of n samples are all in their Gram matrix K = F F'. With
the Cholesky factorisation K = L L' the rows of L (n, n) have the same ones as those of
F (n, d): they are F turned by an isometry of its span. Rounding changes an inner
product by a few units in the last place of the norms, whatever the condition of K.
"""

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
    features whose Gram matrix is singular: fewer dimensions than samples, or copies.
    """
    _, n, d = features.shape
    if d <= _LONGER * n or not is_numpy_array(features):
        return features
    try:
        factors = [np.linalg.cholesky(_gram(rows)) for rows in features]
    except np.linalg.LinAlgError:
        return features
    return np.stack(factors).astype(features.dtype, copy=False)


def _gram(rows: np.ndarray) -> np.ndarray:
    """Compute F F' of F (n, d), the sum over blocks in double precision: (n, n)."""
    n, d = rows.shape
    gram = np.zeros((n, n))
    for part in slices(d, _BLOCK):
        block = rows[:, part]
        gram += block @ block.T
    return gram
