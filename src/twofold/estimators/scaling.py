"""Scaling of the samples, so that the unit of the pixels does not matter."""

import math
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from twofold.core.arrays import AnyArray, Array, positive_or_one, slices

SCALES = ("auto", "sample", "global")

_HEADROOM = 1e-6
"""Largest norm as a fraction of the largest number, so that centroids fit, too."""

_BLOCK_ENTRIES = 2**18
"""Number of entries that are read at once, so that they stay in the cache."""


def row_blocks(n: int, f: int) -> list[slice]:
    """Return slices that divide n samples of f entries into blocks."""
    return slices(n, _BLOCK_ENTRIES // max(1, f))


def sample_norms(samples: AnyArray) -> AnyArray:
    """Compute the Frobenius norms (n,) without overflow of the squares."""
    xp = array_namespace(samples)
    n, *shape = samples.shape
    blocks = row_blocks(n, math.prod(shape))
    parts = [_peaks_and_lengths(samples[block]) for block in blocks]
    peaks, relative = (xp.concat(part) for part in zip(*parts, strict=True))
    largest = _HEADROOM * float(xp.finfo(samples.dtype).max)
    if xp.any(peaks > largest / positive_or_one(relative)):  # the product may overflow
        raise ValueError(
            f"X must have samples of norms up to {largest:.0e} in {samples.dtype}, got "
            f"values up to {float(xp.max(peaks)):.1e}; divide X by a constant"
        )
    return peaks * relative


def _peaks_and_lengths(samples: Array) -> tuple[Array, Array]:
    """Return the largest |entry| of every sample, 1 for zeros, and norms over it."""
    xp = array_namespace(samples)
    flat = samples.reshape(samples.shape[0], -1)
    peaks = positive_or_one(xp.max(xp.abs(flat), axis=1))
    return peaks, xp.linalg.vector_norm(flat / peaks[:, None], axis=1)


def typical_norm(norms: Array) -> float:
    """Return the root mean square of the norms, 1 if all of them are zero."""
    xp = array_namespace(norms)
    peak = positive_or_one(xp.max(norms))  # divided out, so that no square overflows
    return float(positive_or_one(peak * xp.sqrt(xp.mean((norms / peak) ** 2))))


def divisors(norms: AnyArray, scale: str, typical: float) -> AnyArray:
    """Return the divisor of every sample for a scale, given the typical norm: (n,)."""
    if scale == "sample":
        return positive_or_one(norms)
    return typical * array_namespace(norms).ones_like(norms)


def new_divisors(samples: AnyArray, scale: str, typical: float, dtype: Any) -> AnyArray:
    """Return the divisors of new samples: (m,).

    Raise a ValueError if a sample is too large for the dtype of the fit.
    """
    norms = sample_norms(samples)
    divisor = divisors(norms, scale, typical)
    # The fourth power of a scaled norm must not overflow.
    limit = float(np.finfo(dtype).max) ** 0.25
    largest = float(array_namespace(norms).max(norms / divisor))
    if largest > limit:
        raise ValueError(
            f"X must have samples of norms up to {limit:.0e} times that of the fitted "
            f"ones, got {largest:.0e}"
        )
    return divisor


def scaled(samples: AnyArray, divisor: Array) -> AnyArray:
    """Divide every sample (n, ...) by its divisor."""
    return samples / divisor.reshape(-1, *(1,) * (samples.ndim - 1))


def ordered_and_scaled(samples: Array, order: np.ndarray, divisor: Array) -> Array:
    """Sort and scale the samples (n, ...) of the given indices (m,) in one copy.

    The samples are read in the order in which they lie, since they may lie on a disk.
    """
    xp = array_namespace(samples)
    shape = len(order), *samples.shape[1:]
    result = xp.empty(shape, dtype=samples.dtype, device=device(samples))
    sorting = np.argsort(order)  # positions in the result, in the order of the indices
    for block in row_blocks(len(order), math.prod(shape[1:])):
        rows = xp.asarray(sorting[block], device=device(samples))
        given = xp.asarray(order[sorting[block]], device=device(samples))
        # Not ``take``, which would copy a transposed view as a whole.
        result[rows] = scaled(samples[given], divisor[rows])
    return result
