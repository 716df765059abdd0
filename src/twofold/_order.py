"""An order of the samples by what they hold, so that the given order is no matter."""

import numpy as np

_BLOCK = 1024
"""Rows whose keys are made at once, so that they stay in the processor's cache."""


def content_order(
    flat: np.ndarray, transposed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sort samples (n, f) by what they hold, and tell which of them are identical.

    Whatever draws random numbers for samples in this order is indifferent to the
    order in which they came. Their sorted entries decide, and the arrangement of
    the entries only between samples that hold the same ones.

    Parameters
    ----------
    flat : array of shape (n, f)
    transposed : integer array of shape (f,)
        The columns of ``flat`` in the order that gives the transposed samples. Each
        sample is sorted by the smaller of both, so that transposing all of them does
        not change the order, but for samples that are transposes of each other.

    Returns
    -------
    order : array of shape (n,)
        Indices that sort the samples.
    group : array of shape (n,)
        A number for each sample in that order, the same for identical ones:
        0, 1, ..., never falling.
    """
    keys = _row_keys(flat, sort=True)
    order = np.argsort(keys, kind="stable")
    level = _group(keys[order])
    shared = np.flatnonzero(np.bincount(level)[level] > 1)  # hold the same entries
    rows = order[shared]
    views = [flat[rows], flat[rows][:, transposed]]
    arranged = np.concatenate([_row_keys(view, sort=False) for view in views])
    own, other = np.unique(arranged, return_inverse=True)[1].reshape(2, -1)
    smaller, larger = np.minimum(own, other), np.maximum(own, other)
    finer = np.lexsort((own, larger, smaller, level[shared]))
    order[shared] = rows[finer]
    new = np.diff(level, prepend=-1) > 0
    new[shared] |= np.diff(own[finer], prepend=-1) != 0
    return order, np.cumsum(new) - 1


def _group(keys: np.ndarray) -> np.ndarray:
    """0, 1, ... for sorted keys, the same for equal ones."""
    return np.cumsum(np.concatenate([[0], keys[1:] != keys[:-1]]))[: len(keys)]


def _row_keys(rows: np.ndarray, *, sort: bool) -> np.ndarray:
    """One opaque key a row; keys sort as rows do, their first numbers deciding.

    The bits of a float, read as an integer, grow with it once its sign bit, or all
    bits of a negative number, are flipped; and big-endian bytes compare as numbers
    do, much faster than rows. With ``sort`` the numbers of a row are sorted first.
    """
    size = rows.itemsize
    sign = np.dtype(f"u{size}").type(1 << (8 * size - 1))
    keys = np.empty(rows.shape, dtype=f">u{size}")
    for i in range(0, len(rows), _BLOCK):
        block = rows[i : i + _BLOCK] + 0.0  # -0.0 becomes 0.0
        if sort:
            block.sort(axis=1)
        bits = block.view(sign.dtype)
        keys[i : i + _BLOCK] = np.where(bits & sign, ~bits, bits | sign)
    return keys.view(f"V{rows.shape[1] * size}")[:, 0]
