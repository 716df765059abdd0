"""X with missing entries, marked by a value, a mask or a masked array."""

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import Array, positive_or_one, to_numpy
from twofold.core.missing.completion import Completion, complete, learn_completion
from twofold.estimators.samples import check_finite, from_stack, read_rows, to_stack

_WAY_OUT = "set missing_values=np.nan to fit what was observed, or fill them"


class Incomplete(NamedTuple):
    """Samples of which entries may be missing.

    Attributes
    ----------
    samples : array of shape (n, c, h, w)
        With zeros for what is missing.
    missing : boolean array of shape (n, c, h, w), or None
        None where neither a value nor a mask could mark any.
    shape : tuple of int
        (f,), (h, w) or (h, w, c).
    """

    samples: Array
    missing: Array | None
    shape: tuple[int, ...]


def read_incomplete(
    estimator: Any,
    X: Any,
    sample_shape: tuple[int, ...] | None,
    mask: Any = None,
    *,
    reset: bool,
) -> Incomplete:
    """``read_samples`` for an estimator with ``missing_values``.

    Parameters
    ----------
    estimator : estimator
        Its ``missing_values`` marks what is missing, unless it is None.
    X, sample_shape, reset
        As for ``read_samples``. A masked array marks what is missing, too.
    mask : array-like of bool, or None
        True where an entry is missing: of the shape of X, of X flattened, or of one
        channel.
    """
    if isinstance(X, np.ma.MaskedArray):
        own = np.ma.getmaskarray(X)
        mask = own if mask is None else own | read_mask(mask, own.shape)
        X = X.data
    rows, found, shape = read_rows(estimator, X, sample_shape, reset=reset)
    missing = marked(rows, estimator.missing_values)
    if mask is not None:
        given = read_mask(mask, (rows.shape[0], *found))
        given = given.reshape(tuple(rows.shape))
        if is_torch_array(rows):
            given = array_namespace(rows).asarray(given, device=device(rows))
        missing = given if missing is None else missing | given
    if missing is None:
        check_finite(rows, "X", _WAY_OUT)
        return Incomplete(to_stack(rows, shape), None, shape)
    xp = array_namespace(rows)
    rows = xp.where(missing, xp.zeros_like(rows), rows)
    nan_is_missing = is_nan(estimator.missing_values)
    check_finite(rows, "X", "fill them" if nan_is_missing else _WAY_OUT)
    _check_observed(missing)
    return Incomplete(to_stack(rows, shape), to_stack(missing, shape), shape)


def is_nan(value: Any) -> bool:
    """Whether a parameter is NaN, and not None or anything else."""
    return isinstance(value, Real) and math.isnan(value)


def marked(rows: Array, missing_values: float | None) -> Array | None:
    """Which entries have the value that stands for a missing one; None if none does."""
    if missing_values is None:
        return None
    if isinstance(missing_values, bool):
        raise ValueError(f"missing_values must be a number, got {missing_values}")
    if is_nan(missing_values):
        return array_namespace(rows).isnan(rows)
    return rows == missing_values


def read_mask(mask: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A mask as an array of the given shape, (n, ...)."""
    array = np.asarray(to_numpy(mask))
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
    """Refuse samples (n, f) with nothing observed."""
    empty = np.flatnonzero(to_numpy(missing).all(axis=1))
    if len(empty):
        raise ValueError(
            f"X must have an observed entry in every sample, got {len(empty)} of "
            f"{missing.shape[0]} samples with none, the first is sample {empty[0]}; "
            "leave them out"
        )


def learn_missing(samples: Array, missing: Array) -> Completion:
    """``learn_completion`` of samples in any unit."""
    xp = array_namespace(samples)
    unit = positive_or_one(xp.max(xp.abs(samples)))
    return learn_completion(samples / unit, missing).times(unit)


def completed(
    samples: Array, missing: Array | None, completion: Completion | None
) -> Array:
    """The samples, missing entries being as the completion of the fit has them."""
    if missing is None or not array_namespace(samples).any(missing):
        return samples
    if completion is None:
        raise ValueError(
            "X must be complete for a model that was fitted without missing_values and "
            "mask; fit it with missing_values=np.nan"
        )
    return complete(samples, missing, completion.like(samples))


class ImputingMixin:
    """``impute`` of an estimator with ``missing_values``.

    Attributes
    ----------
    _completion : Completion or None
        None where the fit allowed no missing entries.
    """

    sample_shape_: tuple[int, ...]
    _completion: Completion | None

    def impute(self, X: Any, *, mask: Any = None) -> Array:
        """The samples with their missing entries filled in.

        By the low-rank completion that was learned in the fit, from which the fit
        itself starts. Of images it is closer to the truth than the reconstruction,
        ``inverse_transform`` of ``transform``: see docs/missing.md.

        Parameters
        ----------
        X, mask
            As for ``transform``.

        Returns
        -------
        images : array of shape (m, h, w[, c]) or (m, f)
            X where nothing was missing.
        """
        return from_stack(self._read_completed(X, mask)[0], self.sample_shape_)

    def _read_completed(self, X: Any, mask: Any) -> tuple[Array, Array | None]:
        """Completed new samples (m, c, h, w), and which entries were missing if any."""
        check_is_fitted(self)
        samples, missing, _ = read_incomplete(
            self, X, self.sample_shape_, mask, reset=False
        )
        if missing is not None and not array_namespace(missing).any(missing):
            missing = None
        return self._completed(samples, missing), missing

    def _completed(self, samples: Array, missing: Array | None) -> Array:
        """Samples (m, c, h, w) with what the fit makes of missing entries."""
        return completed(samples, missing, self._completion)
