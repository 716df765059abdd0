"""Any input to a validated stack of samples (n, c, h, w), and back."""

import math
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse
from array_api_compat import array_namespace, is_torch_array
from sklearn.utils.validation import validate_data

from twofold.core.arrays import Array, positive_or_one

SCALES = ("sample", "global")


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
    if not (is_torch_array(X) or hasattr(X, "iloc") or scipy.sparse.issparse(X)):
        X = _as_numpy(X)
    _check_axes(X)
    found = tuple(X.shape[1:])
    flat = X if len(found) == 1 else X.reshape(X.shape[0], math.prod(found))
    if is_torch_array(X):
        flat = _validated_tensor(estimator, flat, reset)
    else:
        flat = validate_data(
            estimator,
            flat,
            reset=reset,
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
        )
    _check_finite(flat)
    shape = found if sample_shape is None else _wanted_shape(sample_shape, found)
    return to_stack(flat, shape), shape


def to_stack(flat: Array, shape: tuple[int, ...]) -> Array:
    """Flat samples (n, f) as (n, c, h, w): a vector is one column."""
    xp = array_namespace(flat)
    height, width, channels = (*shape, 1, 1)[:3]
    images = flat.reshape(-1, height, width, channels)
    return xp.permute_dims(images, (0, 3, 1, 2))


def from_stack(stack: Array, shape: tuple[int, ...]) -> Array:
    """The inverse of ``to_stack``, as (n, *shape)."""
    xp = array_namespace(stack)
    return xp.permute_dims(stack, (0, 2, 3, 1)).reshape(-1, *shape)


def sample_norms(samples: Array) -> Array:
    """Frobenius norms (n,), whose squares need not be finite."""
    xp = array_namespace(samples)
    flat = samples.reshape(samples.shape[0], -1)
    peaks = positive_or_one(xp.max(xp.abs(flat), axis=1))
    relative = xp.linalg.vector_norm(flat / peaks[:, None], axis=1)
    largest = float(xp.finfo(flat.dtype).max)
    if xp.any(peaks > largest / positive_or_one(relative)):
        raise ValueError(
            f"X must have samples whose norm {flat.dtype} can hold, got values up to "
            f"{float(xp.max(peaks)):.1e}; divide X by a constant"
        )
    return peaks * relative


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


def scaled(samples: Array, divisor: Array) -> Array:
    """The samples (n, c, h, w), each divided by its own number."""
    return samples / divisor[:, None, None, None]


def _as_numpy(X: Any) -> np.ndarray:
    if np.ma.is_masked(X):
        raise ValueError(
            f"X must be complete, got a masked array with {np.sum(X.mask)} masked "
            "entries; fill them or leave these samples out"
        )
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            "X must be a stack of samples of one shape, but its samples differ in "
            f"shape ({error})"
        ) from None
    if array.dtype == object and array.ndim == 2:  # read as scikit-learn does
        return _numbers(array)
    if array.dtype.kind not in "biufc":
        raise ValueError(
            f"X must hold numbers, got dtype {array.dtype} and shape {array.shape}"
        )
    return array


def _numbers(objects: np.ndarray) -> np.ndarray:
    try:
        return objects.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"X must hold numbers, got dtype object: {error}") from None


def _check_axes(X: Array) -> None:
    if hasattr(X, "dtype") and "complex" in str(X.dtype):
        raise ValueError(f"X must be real, got {X.dtype}. Complex data not supported")
    if getattr(X, "layout", None) is not None and "strided" not in str(X.layout):
        raise ValueError(f"X must be dense, got a tensor of layout {X.layout}")
    if len(X.shape) not in (2, 3, 4):
        raise ValueError(
            "X must be of shape (n, f), (n, h, w) or (n, h, w, c), got shape "
            f"{tuple(X.shape)}. Reshape your data, one sample with X[None]"
        )


def _wanted_shape(sample_shape: Any, found: tuple[int, ...]) -> tuple[int, ...]:
    """``sample_shape``, if samples of the shape ``found`` can be read so."""
    wanted = tuple(sample_shape)
    if len(wanted) not in (1, 2, 3) or not all(
        isinstance(size, Integral) and int(size) > 0 for size in wanted
    ):
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


def _validated_tensor(estimator: Any, flat: Array, reset: bool) -> Array:
    """What ``validate_data`` does for arrays, on a PyTorch tensor."""
    xp = array_namespace(flat)
    if 0 in flat.shape:
        raise ValueError(f"X must not be empty, got shape {tuple(flat.shape)}")
    if reset:
        estimator.n_features_in_ = flat.shape[1]
    elif estimator.n_features_in_ != flat.shape[1]:
        raise ValueError(
            f"X has {flat.shape[1]} features, but {type(estimator).__name__} is "
            f"expecting {estimator.n_features_in_} features as input"
        )
    kept = flat.dtype in (xp.float32, xp.float64)
    return xp.astype(flat.detach(), flat.dtype if kept else xp.float64, copy=False)


def _check_finite(flat: Array) -> None:
    xp = array_namespace(flat)
    finite = xp.isfinite(flat)
    if xp.all(finite):
        return
    n_nan = int(xp.sum(xp.astype(xp.isnan(flat), xp.int64)))
    n_bad = int(xp.sum(xp.astype(~finite, xp.int64)))
    first = int(xp.argmax(xp.astype(~xp.all(finite, axis=1), xp.int64)))
    raise ValueError(
        f"X must be finite, got {n_nan} NaN and {n_bad - n_nan} infinity (inf) entries "
        f"of {flat.shape[0] * flat.shape[1]}, the first in sample {first}; fill them "
        "or leave these samples out"
    )
