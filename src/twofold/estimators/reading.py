"""X read into a validated stack of samples (n, c, h, w), and back."""

import math
import reprlib
import sys
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from array_api_compat import array_namespace, device, is_torch_array
from sklearn.utils.validation import validate_data

from twofold.core.arrays import AnyArray, Array, Tensor, like, to_numpy
from twofold.estimators.scaling import largest_entry, row_blocks, smallest_peak

_WAY_OUT = "set missing_values=np.nan to fit what was observed, or fill them"


class Samples(NamedTuple):
    """Samples read from X."""

    stack: Array  # (n, c, h, w), floats, with zeros for missing entries
    missing: Array | None  # (n, c, h, w); None if neither a value nor a mask marks any
    shape: tuple[int, ...]  # of one sample: (f,), (h, w) or (h, w, c)


def read_samples(
    estimator: Any,
    X: Any,
    sample_shape: tuple[int, ...] | None,
    mask: Any = None,
    *,
    reset: bool,
) -> Samples:
    """Read and validate X of shape (n, f), (n, h, w) or (n, h, w, c).

    The parameter ``missing_values`` of the estimator, if it has one, the masked entries
    of a masked array and ``mask`` mark missing entries. The mask is of the shape of X,
    of X flattened, or of one channel. ``sample_shape`` is the shape of one flat sample.
    In a fit, ``reset`` sets ``n_features_in_``; otherwise X is checked against it. The
    squares of X must be numbers of its precision, see ``check_entries``.
    """
    handles_missing = hasattr(estimator, "missing_values")
    if handles_missing and isinstance(X, np.ma.MaskedArray):
        masked, X = np.ma.getmaskarray(X), X.data
        mask = masked if mask is None else masked | read_mask(mask, masked.shape)
    rows, found, shape = _read_rows(estimator, X, sample_shape, reset=reset)
    marker = estimator.missing_values if handles_missing else None
    missing = marked(rows, marker)
    if mask is not None:
        given = read_mask(mask, (rows.shape[0], *found)).reshape(tuple(rows.shape))
        if is_torch_array(rows):
            given = array_namespace(rows).asarray(given, device=device(rows))
        missing = given if missing is None else missing | given
    if missing is None:
        way_out = _WAY_OUT if handles_missing else "fill them"
        check_entries(rows, "X", way_out, fitted=reset)
        return Samples(to_stack(rows, shape), None, shape)
    xp = array_namespace(rows)
    rows = xp.where(missing, xp.zeros_like(rows), rows)
    way_out = "fill them" if is_nan(marker) else _WAY_OUT
    check_entries(rows, "X", way_out, fitted=reset)
    _check_observed(missing)
    return Samples(to_stack(rows, shape), to_stack(missing, shape), shape)


def _read_rows(
    estimator: Any, X: Any, sample_shape: tuple[int, ...] | None, *, reset: bool
) -> tuple[Array, tuple[int, ...], tuple[int, ...]]:
    """Read X as rows (n, f), which may contain NaN and infinity.

    Also return the shape of one sample in X, and its shape (f,), (h, w) or (h, w, c).
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
    # The column names of a data frame are checked, too.
    named = X if hasattr(X, "columns") else rows
    validate_data(estimator, named, reset=reset, skip_check_array=True)
    shape = found if sample_shape is None else _checked_shape(sample_shape, found)
    return rows, found, shape


def is_nan(value: Any) -> bool:
    """Return whether a parameter is NaN."""
    return isinstance(value, Real) and value != value  # of any size


def check_marker(value: Any) -> None:
    """Raise a ValueError unless ``missing_values`` is None or a float can hold it."""
    # A larger integer has no float value.
    too_large = isinstance(value, Integral) and abs(int(value)) > sys.float_info.max
    if isinstance(value, bool) or too_large:
        raise ValueError(
            f"missing_values must be a number or None, got {reprlib.repr(value)}"
        )


def marked(rows: AnyArray, missing_values: float | None) -> AnyArray | None:
    """Return which entries equal the marker of missing entries, if there is one."""
    if missing_values is None:
        return None
    check_marker(missing_values)
    if is_nan(missing_values):
        return array_namespace(rows).isnan(rows)
    return rows == missing_values


def read_mask(mask: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Read a mask as an array of the given shape, (n, ...)."""
    array = _as_numpy(to_numpy(mask) if is_torch_array(mask) else mask, "mask")
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        raise ValueError(
            f"mask must hold True where an entry is missing and False elsewhere, got "
            f"dtype {array.dtype}"
        )
    array = array.astype(bool)
    if array.shape == shape:
        return array
    if array.size == math.prod(shape) and array.shape[:1] == shape[:1]:
        return array.reshape(shape)
    if array.shape == shape[:-1] and len(shape) == 4:  # one for all channels
        return np.broadcast_to(array[..., None], shape)
    raise ValueError(f"mask must be of the shape of X, {shape}, got {array.shape}")


def _check_observed(missing: Array) -> None:
    """Raise a ValueError for samples (n, f) without any observed entry."""
    empty = np.flatnonzero(to_numpy(missing).all(axis=1))
    if len(empty):
        raise ValueError(
            f"X must have an observed entry in every sample, got {len(empty)} of "
            f"{missing.shape[0]} samples with none, the first is sample {empty[0]}; "
            "leave them out"
        )


def to_stack(flat: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Reshape flat samples (n, f) to (n, c, h, w); a vector becomes one column."""
    images = flat.reshape(-1, *(*shape, 1, 1)[:3])  # (n, h, w, c)
    return array_namespace(flat).permute_dims(images, (0, 3, 1, 2))


def are_vectors(samples: Array) -> bool:
    """Return whether samples (n, c, h, w) have a single row or column and channel."""
    channels, *sides = samples.shape[1:]
    return channels == 1 and min(sides) == 1


def from_stack(stack: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Invert ``to_stack``, to (n, *shape)."""
    images = array_namespace(stack).permute_dims(stack, (0, 2, 3, 1))
    return images.reshape(-1, *shape)


def combine(codes: Any, components: AnyArray, name: str) -> AnyArray:
    """Combine components (k, *shape) by codes (m, k); errors use ``name`` for k."""
    k, *shape = components.shape
    weights = read_codes(codes, k, name, components)
    flat = like(weights, components) @ components.reshape(k, math.prod(shape))
    return flat.reshape(-1, *shape)


def read_codes(codes: Any, k: int, name: str, model: Array | None = None) -> Array:
    """Validate codes as from ``transform``, (m, k), in the precision of ``model``."""
    weights = read_numbers(codes, "X")
    if weights.ndim != 2 or weights.shape[1] != k:
        raise ValueError(
            f"X must be of shape (m, {name}={k}), got {tuple(weights.shape)}"
        )
    check_entries(weights, "X", like=model)
    return weights


def is_count(value: Any) -> bool:
    """Return whether a value is a positive integer, and not True."""
    return isinstance(value, Integral) and value is not True and int(value) > 0


def read_numbers(values: Any, name: str) -> Array:
    """Read an array-like as a dense NumPy array or tensor of float32 or float64."""
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
    with np.errstate(over="ignore"):  # longer floats may become infinite
        return np.asarray(array, dtype=np.float32 if single else np.float64, order="C")


def check_entries(
    array: Array,
    name: str,
    way_out: str = "fill them",
    *,
    fitted: bool = False,
    like: Array | None = None,
    count: int | None = None,
) -> None:
    """Raise a ValueError unless the squares of all entries of (n, f) can be summed.

    The sum must be finite in the precision of ``like``, by default the array itself.
    If the entries are ``fitted``, the largest square must not vanish, unless all are 0:
    variances and distances would be 0. With ``count``, the array has the largest of as
    many entries.
    """
    peak, template = _peak(array), array if like is None else like
    if not math.isfinite(peak):
        check_finite(array, name, way_out)
    most = largest_entry(template, max(1, count or math.prod(array.shape)))
    least = smallest_peak(template) if fitted else 0.0
    if peak == 0 or least <= peak <= most:
        return
    if peak > most:
        expected = f"entries of magnitudes up to {most:.0e}"
        factor = f"divide {name} by {_power_of_ten(peak / most)}"
    else:
        expected = f"a largest magnitude of 0 or from {least:.0e} on"
        factor = f"multiply {name} by {_power_of_ten(least / peak)}"
    dtype = str(template.dtype).rpartition(".")[-1]
    if like is None and dtype == "float32":
        factor += ", or convert it to float64"
    raise ValueError(
        f"{name} must have {expected}, whose squares {dtype} can hold, got "
        f"{peak:.1e}; {factor}"
    )


def _power_of_ten(ratio: float) -> str:
    return f"1e{math.ceil(math.log10(ratio))}"


def _peak(array: Array) -> float:
    """Return the largest magnitude of (n, f); NaN or infinity if there is any."""
    xp, (n, f) = array_namespace(array), array.shape
    # By blocks, and without the copy that ``xp.abs`` makes.
    blocks = [array[block] for block in row_blocks(n, f)] if f else []
    ends = [float(end) for part in blocks for end in (xp.max(part), -xp.min(part))]
    return float(np.max(ends, initial=0.0))


def check_finite(array: Array, name: str, way_out: str = "fill them") -> None:
    """Raise a ValueError that counts the entries of (n, f) that are not finite."""
    xp = array_namespace(array)
    finite = xp.isfinite(array)
    if xp.all(finite):
        return
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
        message = f"{name} must hold numbers, got dtype object: {reason}"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(message) from None


def _float_tensor(tensor: Tensor, name: str) -> Array:
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


def _checked_shape(sample_shape: Any, found: tuple[int, ...]) -> tuple[int, ...]:
    """Validate ``sample_shape`` against samples of the shape ``found``."""
    shape = tuple(sample_shape)
    if len(shape) not in (1, 2, 3) or not all(map(is_count, shape)):
        raise ValueError(
            "sample_shape must be (f,), (h, w) or (h, w, c) with positive sizes, got "
            f"{sample_shape!r}"
        )
    if found not in (shape, (math.prod(shape),)):
        raise ValueError(
            f"X must hold samples of sample_shape={shape}, or flat ones of "
            f"{math.prod(shape)} entries, got samples of shape {found}"
        )
    return shape
