"""Scaling of the samples, so that the unit of the pixels does not matter."""

import math
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from twofold.core.arrays import AnyArray, Array, positive_or_one, slices, to_numpy

SCALES = ("auto", "sample", "global")

_HEADROOM = 4
"""Factor by which entries stay below the root of the largest number, for products."""

_BLOCK_ENTRIES = 2**18
"""Number of entries that are read at once, so that they stay in the cache."""


def row_blocks(n: int, f: int) -> list[slice]:
    """Return slices that divide n samples of f entries into blocks."""
    return slices(n, _BLOCK_ENTRIES // max(1, f))


def largest_entry(like: Array, count: int) -> float:
    """Return up to which number ``count`` entries can be squared and added.

    It has one digit. ``like`` is an array of the precision of the entries.
    """
    largest = float(array_namespace(like).finfo(like.dtype).max)
    root = math.sqrt(largest / count) / _HEADROOM
    exponent = math.floor(math.log10(root))
    return float(f"{int(root / 10.0**exponent)}e{exponent}")


def smallest_peak(like: Array) -> float:
    """Return the power of ten from which on squares do not vanish."""
    smallest = float(array_namespace(like).finfo(like.dtype).smallest_normal)
    return float(f"1e{math.ceil(math.log10(math.sqrt(smallest) * _HEADROOM))}")


def sample_norms(samples: AnyArray) -> AnyArray:
    """Compute the Frobenius norms (n,); squares neither overflow nor vanish."""
    xp = array_namespace(samples)
    n, *shape = samples.shape
    blocks = row_blocks(n, math.prod(shape))
    parts = [_peaks_and_lengths(samples[block]) for block in blocks]
    peaks, relative = (xp.concat(part) for part in zip(*parts, strict=True))
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
    xp = array_namespace(norms)
    numbers = xp.finfo(norms.dtype)
    if not float(numbers.smallest_normal) <= typical <= float(numbers.max):
        norms = xp.astype(norms, xp.float64)  # which has the typical norm
    divisor = divisors(norms, scale, typical)
    # The fourth power of a scaled norm must not overflow.
    limit = float(np.finfo(dtype).max) ** 0.25
    if (to_numpy(norms) > limit * to_numpy(divisor).astype(np.float64)).any():
        raise ValueError(
            f"X must have samples of norms up to {limit * typical:.0e}, {limit:.0e} "
            f"times that of the fitted ones, got {to_numpy(norms).max():.0e}; fit the "
            "model to samples of this unit"
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


def standardized(images: np.ndarray) -> np.ndarray:
    """Return images as float32 rows of mean 0 and norm 1; blank images become 0."""
    rows = images.reshape(len(images), -1)
    standard = np.empty(rows.shape, dtype=np.float32)
    # A row whose norm is due to rounding alone is blank.
    rounding = 8 * float(np.finfo(np.result_type(rows, np.float32)).eps)
    for some in row_blocks(*rows.shape):
        block = rows[some].astype(np.float64)
        # Scaled to a largest entry of 1: squares cannot overflow.
        block /= positive_or_one(np.abs(block).max(axis=1, keepdims=True))
        block -= block.mean(axis=1, keepdims=True)
        norms = np.linalg.norm(block, axis=1, keepdims=True)
        blank = norms <= rounding * rows.shape[1] ** 0.5
        standard[some] = np.where(blank, 0, block / np.where(blank, 1, norms))
    return standard
