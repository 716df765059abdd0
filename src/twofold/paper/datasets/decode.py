"""Recognise a data set by the digests of its pixels and labels."""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from twofold.io.arrays import open_arrays, unflatten
from twofold.paper.datasets.catalogue import Entry


def decode_file(path: Path, entry: Entry) -> tuple[np.ndarray, np.ndarray]:
    """Read the images (n, h, w), uint8 and upright, and the classes (n,) of a data set.

    The names and axes of the arrays in the file, the order and scale of the pixels and
    the base of the labels may vary. The decoded pixels and labels must match the
    digests of the entry.
    """
    with open_arrays(path) as file:
        shapes = {name: array.shape for name, array in file.arrays.items()}
        # An array that is larger than all pixels and labels is not worth reading.
        most = entry.n_samples * (entry.height * entry.width + entry.n_classes)
        fitting = [name for name, s in shapes.items() if math.prod(s) <= most]
        arrays = _joined(file.read(fitting), entry)
    images = _matching(_image_candidates(arrays, entry), entry.pixel_digest)
    if images is None:
        raise ValueError(f"{path}: is not {entry.title}: {_difference(shapes, entry)}")
    target = _matching(_label_candidates(arrays, entry), entry.label_digest)
    if target is None:
        raise ValueError(
            f"{path}: has the pixels of {entry.title}, but not its labels: expected "
            f"{entry.n_samples} labels of {entry.n_classes} classes in the known order"
        )
    return images, target


def digest(array: np.ndarray) -> str:
    """Return half of the SHA-256 of shape and entries, the same on all platforms."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    content = repr(array.shape).encode() + little.tobytes()
    return hashlib.sha256(content).hexdigest()[:32]


def _matching(candidates: Iterator[np.ndarray], expected: str) -> np.ndarray | None:
    """Return the first candidate with the expected digest, or None."""
    return next((c for c in candidates if digest(c) == expected), None)


def _joined(arrays: dict[str, np.ndarray], entry: Entry) -> dict[str, np.ndarray]:
    """Concatenate training and test parts, and split label columns off a table."""
    joined = dict(arrays)
    for name in [n for n in arrays if n.endswith("_train")]:
        test = name.removesuffix("_train") + "_test"
        if test in arrays and arrays[name].shape[1:] == arrays[test].shape[1:]:
            joined[name] = np.concatenate([joined.pop(name), joined.pop(test)])
    f = entry.height * entry.width
    for name, array in list(joined.items()):
        if array.ndim == 2 and array.shape[1] in (f + 1, f + entry.n_classes):
            extra = array.shape[1] - f  # label columns, after or before the pixels
            joined |= {
                f"{name}[:, :{f}]": array[:, :f],
                f"{name}[:, {f}:]": array[:, f:],
                f"{name}[:, {extra}:]": array[:, extra:],
                f"{name}[:, :{extra}]": array[:, :extra],
            }
    return joined


def _image_candidates(
    arrays: dict[str, np.ndarray], entry: Entry
) -> Iterator[np.ndarray]:
    """Yield all arrays of the right size as images, in both orders of the pixels."""
    shape = entry.height, entry.width
    for array in arrays.values():
        if array.size != entry.n_samples * entry.height * entry.width:
            continue
        pixels = _as_bytes(array)
        if pixels is None:
            continue
        # MATLAB files may have the samples along the last axis.
        for rows in (pixels, np.moveaxis(pixels, -1, 0)):
            if len(rows) == entry.n_samples:
                flat = rows.reshape(entry.n_samples, -1)
                # MATLAB flattens images by columns ("F"), most others by rows.
                yield np.ascontiguousarray(unflatten(flat, shape, "F"))
                yield np.ascontiguousarray(unflatten(flat, shape, "C"))


def _as_bytes(array: np.ndarray) -> np.ndarray | None:
    """Return pixels as uint8, or None if they are not whole numbers in a usual unit."""
    if array.dtype == np.uint8:
        return array
    if not (array.min() >= 0 and array.max() <= 255):
        return None
    # Some files store the pixels divided by 255 or 256, rounded to single precision.
    for unit in (1, 255, 256):
        scaled = unit * array.astype(np.float64)
        whole = np.round(scaled)
        if whole.max() <= 255 and np.abs(scaled - whole).max() <= 0.01:
            return whole.astype(np.uint8)
    return None


def _label_candidates(
    arrays: dict[str, np.ndarray], entry: Entry
) -> Iterator[np.ndarray]:
    """Yield all arrays of the right size as classes; (n, k) arrays are one-hot."""
    n, k = entry.n_samples, entry.n_classes
    for array in arrays.values():
        if array.size == n:
            yield np.unique(array.ravel(), return_inverse=True)[1].astype(np.int32)
        elif array.shape == (n, k):
            yield array.argmax(axis=1).astype(np.int32)
        elif array.shape == (k, n):
            yield array.argmax(axis=0).astype(np.int32)


def _difference(shapes: dict[str, tuple[int, ...]], entry: Entry) -> str:
    """Describe how the arrays of a file differ from the expected images."""
    f = entry.height * entry.width
    if any(math.prod(shape) == entry.n_samples * f for shape in shapes.values()):
        return "there are as many pixels as expected, but their values differ"
    found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    return (
        f"expected {entry.n_samples} images of {entry.height} x {entry.width} pixels, "
        f"got {found}"
    )
