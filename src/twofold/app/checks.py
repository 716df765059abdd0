"""Check that samples of a collection are numbers that can be clustered."""

import math
from typing import NamedTuple

import numpy as np

from twofold.app.collection import Collection
from twofold.estimators.reading import check_entries, marked, read_numbers
from twofold.estimators.scaling import row_blocks


def missing_entries(images: np.ndarray, missing_values: float | None) -> np.ndarray:
    """Return a mask (n, f) of the entries that are missing."""
    rows = read_numbers(images, "images").reshape(len(images), -1)
    mask = marked(rows, missing_values)
    return np.zeros(rows.shape, dtype=bool) if mask is None else mask


def check_collection(
    collection: Collection, missing_values: float | None, *, fitted: bool
) -> None:
    """Raise a ValueError for samples that are not finite or completely missing.

    Their squares must be numbers, too: ``fitted`` is as for ``check_entries``. The
    samples are read by blocks.
    """
    _check_features(collection)
    samples, names = collection.samples, collection.names
    if missing_values is None and samples.dtype.kind in "biu":
        return  # integers are finite, never too large, and none of them is missing
    title = collection.title
    if collection.features is not None:
        title = f"features of {title}"
    n, f = len(samples), math.prod(samples.shape[1:])
    blocks = row_blocks(n, f)
    found = [_entries_of(samples[block], missing_values) for block in blocks]
    starts = [block.start for block in blocks]
    wrong = [i + j for i, each in zip(starts, found, strict=True) for j in each.wrong]
    if wrong:
        n_nan = sum(each.n_nan for each in found)
        way_out = "cluster with --missing nan to fit what was observed, or "
        raise ValueError(
            f"{title} must be finite, got {n_nan} NaN and "
            f"{sum(each.n_infinite for each in found)} infinite entries, the first in "
            f"{names[wrong[0]]}; "
            f"{way_out if n_nan and collection.features is None else ''}leave these "
            "samples out"
        )
    empty = [i + j for i, each in zip(starts, found, strict=True) for j in each.empty]
    if empty:
        others = f" and {len(empty) - 1} others" if len(empty) > 1 else ""
        raise ValueError(
            f"{names[empty[0]]}{others} must have an observed entry, got "
            f"{missing_values:g}, which stands for missing ones, alone; leave such "
            "samples out"
        )
    if samples.dtype.kind == "f":  # integers are never too large
        peaks = np.array([[each.peak for each in found]])
        check_entries(peaks, title, fitted=fitted, count=n * f)


class _Entries(NamedTuple):
    """What is odd in some samples, counted from the first of them."""

    wrong: list[int]  # samples with entries that are neither finite nor missing
    n_nan: int  # such entries
    n_infinite: int
    empty: list[int]  # samples with missing entries alone
    peak: np.floating  # largest magnitude of an observed entry


def _entries_of(samples: np.ndarray, missing_values: float | None) -> _Entries:
    """Return what is odd in samples, some of a collection."""
    rows = read_numbers(samples, "X").reshape(len(samples), -1)
    missing = missing_entries(rows, missing_values)
    is_nan = np.isnan(rows) & ~missing  # missing entries may be NaN
    is_infinite = np.isinf(rows) & ~missing
    return _Entries(
        np.flatnonzero((is_nan | is_infinite).any(axis=1)).tolist(),
        int(is_nan.sum()),
        int(is_infinite.sum()),
        np.flatnonzero(missing.all(axis=1)).tolist(),
        np.abs(rows).max(where=~missing, initial=0),
    )


def _check_features(collection: Collection) -> None:
    """Raise a ValueError unless there are features of each sample, or none at all."""
    features, n = collection.features, len(collection.images)
    if features is None:
        return
    if not 2 <= np.ndim(features) <= 4 or len(features) != n:
        raise ValueError(
            f"features must be a row (n, d) or a matrix (n, p, c) for each of the {n} "
            f"samples, got shape {np.shape(features)}"
        )
