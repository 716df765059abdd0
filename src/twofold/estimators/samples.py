"""Any input to a validated stack of samples (n, c, h, w), and back."""

import math
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse
from array_api_compat import array_namespace, device, is_torch_array
from sklearn.utils.validation import validate_data

from twofold.core.arrays import Array, like, positive_or_one, slices

SCALES = ("auto", "sample", "global")

_HEADROOM = 1e-6
"""Norms stay below this part of the largest number, so that centroids fit as well."""

_BLOCK_ENTRIES = 2**18
"""Numbers of samples that are read at once, so that they stay in the cache."""


def read_samples(
    estimator: Any, X: Any, sample_shape: tuple[int, ...] | None, *, reset: bool
) -> tuple[Array, tuple[int, ...]]:
    """Validated samples of any supported layout.

    Parameters
    ----------
    estimator : estimator
        Receives ``n_features_in_`` with ``reset``, or is checked against.
    X : array-like of shape (n, f), (n, h, w) or (n, h, w, c)
    sample_shape : tuple of int or None
        The shape of one flat sample: (f,), (h, w) or (h, w, c).

    Returns
    -------
    samples : array of shape (n, c, h, w)
        Floats of at least single precision.
    shape : tuple of int
        (f,), (h, w) or (h, w, c).
    """
    rows, _, shape = read_rows(estimator, X, sample_shape, reset=reset)
    check_finite(rows, "X")
    return to_stack(rows, shape), shape


def read_rows(
    estimator: Any, X: Any, sample_shape: tuple[int, ...] | None, *, reset: bool
) -> tuple[Array, tuple[int, ...], tuple[int, ...]]:
    """``read_samples`` before it is known that all numbers are finite.

    Returns
    -------
    rows : array of shape (n, f)
    found : tuple of int
        The shape of one sample in X.
    shape : tuple of int
        (f,), (h, w) or (h, w, c).
    """
    array = read_numbers(X, "X")
    _check_axes(array)
    found = tuple(array.shape[1:])
    if not reset and tuple(array.shape) == sample_shape != (1, *found):
        raise ValueError(
            f"X must be a stack of samples, got a single one of shape {sample_shape}; "
            "give X[None]"
        )
    rows = array.reshape(array.shape[0], math.prod(found))
    # Of a data frame, its names are checked too.
    named = X if hasattr(X, "columns") else rows
    validate_data(estimator, named, reset=reset, skip_check_array=True)
    shape = found if sample_shape is None else _wanted_shape(sample_shape, found)
    return rows, found, shape


def to_stack(flat: Array, shape: tuple[int, ...]) -> Array:
    """Flat samples (n, f) as (n, c, h, w): a vector is one column."""
    xp = array_namespace(flat)
    height, width, channels = (*shape, 1, 1)[:3]
    images = flat.reshape(-1, height, width, channels)
    return xp.permute_dims(images, (0, 3, 1, 2))


def are_vectors(samples: Array) -> bool:
    """Whether samples (n, c, h, w) have but one row or column, and no colour."""
    channels, *sides = samples.shape[1:]
    return channels == 1 and min(sides) == 1


def from_stack(stack: Array, shape: tuple[int, ...]) -> Array:
    """The inverse of ``to_stack``, as (n, *shape)."""
    xp = array_namespace(stack)
    return xp.permute_dims(stack, (0, 2, 3, 1)).reshape(-1, *shape)


def combine(codes: Any, components: Array, name: str) -> Array:
    """Images that the rows of ``codes`` (m, k) make of ``components`` (k, *shape).

    An error calls k ``name``.
    """
    k, *shape = components.shape
    weights = read_codes(codes, k, name)
    flat = like(weights, components) @ components.reshape(k, math.prod(shape))
    return flat.reshape(-1, *shape)


def read_codes(codes: Any, k: int, name: str) -> Array:
    """What ``transform`` may have returned, validated: (m, k)."""
    weights = read_numbers(codes, "X")
    if weights.ndim != 2 or weights.shape[1] != k:
        raise ValueError(
            f"X must be of shape (m, {name}={k}), got {tuple(weights.shape)}"
        )
    check_finite(weights, "X")
    return weights


# Scale


def row_blocks(n: int, f: int) -> list[slice]:
    """Slices of n samples of f entries, to go through them without whole copies."""
    return slices(n, _BLOCK_ENTRIES // max(1, f))


def sample_norms(samples: Array) -> Array:
    """Frobenius norms (n,), whose squares need not be finite."""
    xp = array_namespace(samples)
    n, *shape = samples.shape
    blocks = row_blocks(n, math.prod(shape))
    parts = [_peaks_and_lengths(samples[block]) for block in blocks]
    peaks, relative = (xp.concat(part) for part in zip(*parts, strict=True))
    largest = _HEADROOM * float(xp.finfo(samples.dtype).max)
    if xp.any(peaks > largest / positive_or_one(relative)):
        raise ValueError(
            f"X must have samples of norms up to {largest:.0e} in {samples.dtype}, got "
            f"values up to {float(xp.max(peaks)):.1e}; divide X by a constant"
        )
    return peaks * relative


def _peaks_and_lengths(samples: Array) -> tuple[Array, Array]:
    """The largest size of an entry (m,), 1 for zero, and norms (m,) in terms of it."""
    xp = array_namespace(samples)
    flat = samples.reshape(samples.shape[0], -1)
    peaks = positive_or_one(xp.max(xp.abs(flat), axis=1))
    return peaks, xp.linalg.vector_norm(flat / peaks[:, None], axis=1)


def typical_norm(norms: Array) -> float:
    """The root mean square of the samples' norms, 1 where all are zero."""
    xp = array_namespace(norms)
    peak = positive_or_one(xp.max(norms))
    return float(positive_or_one(peak * xp.sqrt(xp.mean((norms / peak) ** 2))))


def divisors(norms: Array, scale: str, typical: float) -> Array:
    """What each sample is divided by before it is fitted or placed: (n,)."""
    if scale == "sample":
        return positive_or_one(norms)
    return typical * array_namespace(norms).ones_like(norms)


def new_divisors(samples: Array, scale: str, typical: float, dtype: Any) -> Array:
    """What each new sample is divided by: (m,).

    Those that are too large beside the samples of the fit for its dtype are refused.
    """
    norms = sample_norms(samples)
    divisor = divisors(norms, scale, typical)
    limit = float(np.finfo(dtype).max) ** 0.25
    largest = float(array_namespace(norms).max(norms / divisor))
    if largest > limit:
        raise ValueError(
            f"X must have samples of norms up to {limit:.0e} times that of the fitted "
            f"ones, got {largest:.0e}"
        )
    return divisor


def scaled(samples: Array, divisor: Array) -> Array:
    """The samples (n, ...), each divided by its own number."""
    return samples / divisor.reshape(-1, *(1,) * (samples.ndim - 1))


def ordered_and_scaled(samples: Array, order: np.ndarray, divisor: Array) -> Array:
    """``scaled`` of the samples (n, ...) in the given order, in one copy.

    They are read in the order in which they lie, since they may lie on a disk.
    """
    xp = array_namespace(samples)
    result = xp.empty(samples.shape, dtype=samples.dtype, device=device(samples))
    place = xp.asarray(np.argsort(order), device=device(samples))
    for block in row_blocks(samples.shape[0], math.prod(samples.shape[1:])):
        result[place[block]] = scaled(samples[block], divisor[place[block]])
    return result


# Checks


def is_count(value: Any) -> bool:
    """Whether ``value`` is a positive integer, and not True."""
    return (
        isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0
    )


def read_directions(wanted: Any) -> tuple[int, int]:
    """``n_directions`` as a (left, right) pair of positive integers."""
    try:
        pair = (wanted, wanted) if is_count(wanted) else tuple(wanted)
    except TypeError:
        pair = ()
    if len(pair) != 2 or not all(map(is_count, pair)):
        raise ValueError(
            "n_directions must be a positive integer or a (left, right) pair of them, "
            f"got {wanted!r}"
        )
    return int(pair[0]), int(pair[1])


def read_numbers(values: Any, name: str) -> Array:
    """Any array-like as a dense array of float32 or float64, NumPy's or PyTorch's.

    Errors call it ``name``.
    """
    if scipy.sparse.issparse(values):
        raise TypeError(
            f"{name} must be dense, got a sparse {type(values).__name__}; "
            "convert it with toarray()"
        )
    if is_torch_array(values):
        return _float_tensor(values, name)
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} must be complete, got a masked array with {np.sum(values.mask)} "
            "masked entries; fill them or leave these samples out"
        )
    array = _as_numpy(values, name)
    if array.dtype == object and array.ndim == 2:  # read as scikit-learn does
        return _objects_as_numbers(array, name)
    _check_real(array, name)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} must hold numbers, got dtype {array.dtype} and shape {array.shape}"
        )
    single = array.dtype.kind == "f" and array.itemsize == 4  # of any byte order
    return np.asarray(array, dtype=np.float32 if single else np.float64, order="C")


def check_finite(array: Array, name: str, way_out: str = "fill them") -> None:
    """Raise a ValueError that counts what is not finite in ``array`` (n, f)."""
    xp = array_namespace(array)
    blocks = row_blocks(*array.shape)
    if all(xp.all(xp.isfinite(array[block])) for block in blocks):
        return
    finite = xp.isfinite(array)
    n_nan = int(xp.sum(xp.astype(xp.isnan(array), xp.int64)))
    n_bad = int(xp.sum(xp.astype(~finite, xp.int64)))
    first = int(xp.argmax(xp.astype(~xp.all(finite, axis=1), xp.int64)))
    raise ValueError(
        f"{name} must be finite, got {n_nan} NaN and {n_bad - n_nan} infinity (inf) "
        f"entries of {array.shape[0] * array.shape[1]}, the first in sample {first}; "
        f"{way_out} or leave these samples out"
    )


def _as_numpy(values: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(values)
    except Exception as error:  # whatever a foreign container raises
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"{name} must be a stack of samples of one shape, but its samples differ "
            f"in shape or are no numbers ({reason})"
        ) from None


def _objects_as_numbers(objects: np.ndarray, name: str) -> np.ndarray:
    try:
        return objects.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise type(error)(
            f"{name} must hold numbers, got dtype object: {reason}"
        ) from None


def _float_tensor(tensor: Array, name: str) -> Array:
    xp = array_namespace(tensor)
    _check_real(tensor, name)
    if "strided" not in str(tensor.layout):
        raise TypeError(f"{name} must be dense, got a tensor of layout {tensor.layout}")
    keep = tensor.dtype in (xp.float32, xp.float64)
    return xp.astype(tensor.detach(), tensor.dtype if keep else xp.float64, copy=False)


def _check_real(array: Array, name: str) -> None:
    if "complex" in str(array.dtype):
        raise ValueError(
            f"{name} must be real, got {array.dtype}. Complex data not supported"
        )


def _check_axes(X: Array) -> None:
    shape = tuple(X.shape)
    if len(shape) not in (2, 3, 4):
        raise ValueError(
            "X must be of shape (n, f), (n, h, w) or (n, h, w, c), got shape "
            f"{shape}. Reshape your data, one sample with X[None]"
        )
    for count, what in [(shape[0], "sample"), (math.prod(shape[1:]), "feature")]:
        if count == 0:
            raise ValueError(
                f"X must not be empty, got 0 {what}(s) (shape={shape}) while a minimum "
                "of 1 is required."
            )


def _wanted_shape(sample_shape: Any, found: tuple[int, ...]) -> tuple[int, ...]:
    """``sample_shape``, if samples of the shape ``found`` can be read so."""
    wanted = tuple(sample_shape)
    if len(wanted) not in (1, 2, 3) or not all(map(is_count, wanted)):
        raise ValueError(
            "sample_shape must be (f,), (h, w) or (h, w, c) with positive sizes, got "
            f"{sample_shape!r}"
        )
    if found not in (wanted, (math.prod(wanted),)):
        raise ValueError(
            f"X must hold samples of sample_shape={wanted}, or flat ones of "
            f"{math.prod(wanted)} entries, got samples of shape {found}"
        )
    return wanted
