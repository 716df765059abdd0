"""Read numeric arrays from .mat, .npy, .npz, CSV and text files, without pickle."""

import itertools
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from twofold.io.mat5 import check_tags

_DELIMITERS = (";", "\t", ",")
"""Delimiters of text files, in the order in which they are tried."""


def read_stack(
    path: str | Path,
    *,
    key: str | None = None,
    sample_shape: tuple[int, ...] | None = None,
    order: str = "C",
) -> np.ndarray:
    """Read a stack of samples from an array file.

    Parameters
    ----------
    path : str or Path
        A .mat (version 5 or 7.3), .npy, .npz, .csv, .txt, .tsv or .data file. Empty
        cells of a text file become NaN.
    key : str or None, default=None
        Name of the array in the file. None takes the only array, or the only array
        with at least two axes longer than 1.
    sample_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the samples in the rows of a flat array.
    order : {"C", "F"}, default="C"
        Whether flat rows hold samples row by row, or column by column as in MATLAB.

    Returns
    -------
    ndarray of shape (n, f), (n, h, w) or (n, h, w, c)
        Samples.
    """
    stack = chosen_array(read_arrays(path), key, path)
    return shaped(stack, sample_shape, order, path)


def shaped(
    stack: np.ndarray, sample_shape: tuple[int, ...] | None, order: str, path: Any
) -> np.ndarray:
    """Return the samples of an array from ``path``; flat rows are reshaped."""
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', got {order!r}")
    if sample_shape is None or stack.shape[1:] == tuple(sample_shape):
        return stack
    whole = min(sample_shape, default=0) > 0
    if not whole or stack.ndim != 2 or stack.shape[1] != math.prod(sample_shape):
        raise ValueError(
            f"sample_shape={sample_shape!r} must fit the rows of {path}, which has "
            f"shape {stack.shape}"
        )
    return unflatten(stack, tuple(sample_shape), order)


def unflatten(rows: np.ndarray, shape: tuple[int, ...], order: str) -> np.ndarray:
    """Reshape rows (n, f) to samples (n, *shape), in C or in Fortran order."""
    if order == "C":
        return rows.reshape(len(rows), *shape)
    turned = rows.reshape(len(rows), *shape[::-1])
    return turned.transpose(0, *range(len(shape), 0, -1))


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Read all numeric arrays of a file.

    Parameters
    ----------
    path : str or Path
        A file as for ``read_stack``.

    Returns
    -------
    dict of str to ndarray
        Arrays by name; the array of a file without names is called "data". Objects,
        text and structures are left out.
    """
    path = Path(path)
    if path.suffix.lower() not in READERS:
        raise ValueError(
            f"{path}: expected a file ending in {', '.join(READERS)}, got "
            f"{path.suffix or 'no ending'!r}"
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        arrays = READERS[path.suffix.lower()](path)
    except (ImportError, MemoryError, PermissionError):
        raise
    except Exception as error:  # a damaged file can raise any exception
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(
            f"{path}: cannot be read as {path.suffix} ({reason})"
        ) from error
    numeric = {k: a for k, a in arrays.items() if a.dtype.kind in "biuf" and a.size}
    if not numeric:
        raise ValueError(f"{path}: holds no array of numbers")
    return numeric


def chosen_array(
    arrays: dict[str, np.ndarray], key: str | None, path: Any
) -> np.ndarray:
    """Return the array ``key`` of the file ``path``, or its only stack of samples."""
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    if key is not None:
        if key not in arrays:
            raise ValueError(f"key={key!r} is not in {path}, which has {shapes}")
        return arrays[key]
    stacks = [name for name, a in arrays.items() if sum(s > 1 for s in a.shape) > 1]
    if len(arrays) == 1:
        stacks = list(arrays)
    if len(stacks) != 1:
        raise ValueError(f"key must name one of the arrays of {path}: {shapes}")
    return arrays[stacks[0]]


def _read_mat(path: Path) -> dict[str, np.ndarray]:
    """Read a MATLAB file."""
    try:
        check_tags(path.read_bytes())
        content = loadmat(path)
    except NotImplementedError:  # raised by SciPy for version 7.3
        return _read_hdf5(path)
    except (MatReadError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"not a MATLAB file, or a damaged one: {error}") from error
    return {k: v for k, v in content.items() if isinstance(v, np.ndarray)}


def _read_hdf5(path: Path) -> dict[str, np.ndarray]:
    """Read a MATLAB file of version 7.3, which is an HDF5 file."""
    try:
        import h5py
    except ImportError:
        raise ImportError(
            f"{path}: is a .mat file of version 7.3, which takes h5py to read: "
            'pip install "twofold[mat73]"'
        ) from None
    with h5py.File(path, "r") as file:
        # MATLAB stores arrays in column-major order: HDF5 has the axes reversed.
        return {
            name: np.asarray(item).T
            for name, item in file.items()
            if isinstance(item, h5py.Dataset) and _is_numeric(item.attrs)
        }


def _is_numeric(attributes: Any) -> bool:
    """Return whether an HDF5 data set is numeric, by MATLAB's attributes if present."""
    # An empty array is stored as its shape, which must not be read as its content.
    kind = attributes.get("MATLAB_class", b"double")
    other = kind in (b"char", b"cell", b"struct", b"function_handle")
    return not (other or attributes.get("MATLAB_empty", 0))


def _read_npy(path: Path) -> dict[str, np.ndarray]:
    with path.open("rb") as file:
        return {"data": np.lib.format.read_array(file, allow_pickle=False)}


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read the members of an .npz file that are arrays."""
    arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(path) as members:
        for name in members.namelist():
            with members.open(name) as member:
                if member.read(6) == np.lib.format.MAGIC_PREFIX:
                    member.seek(0)
                    arrays |= _read_member(name.removesuffix(".npy"), member)
    return arrays


def _read_member(name: str, member: Any) -> dict[str, np.ndarray]:
    """Read an array of an .npz file, or nothing if the array needs pickle."""
    try:
        return {name: np.lib.format.read_array(member, allow_pickle=False)}
    except ValueError as error:
        if "allow_pickle" in str(error):
            return {}
        raise


def _read_text(path: Path) -> dict[str, np.ndarray]:
    """Read a table of numbers, with or without a header."""
    with path.open(encoding="utf-8-sig") as file:
        lines = (line for line in file if line.strip() and not line.startswith("#"))
        first = next(lines, None)
        if first is None:
            raise ValueError("it is empty")
        delimiter = next((d for d in _DELIMITERS if d in first), None)
        # A row that contains a number is not a header, even if other cells are empty.
        header = not any(map(_is_number, first.strip().split(delimiter)))
        rows: Iterator[str] = itertools.chain([] if header else [first], lines)
        if delimiter is not None:
            rows = _fill_empty_cells(rows, delimiter)
        return {"data": np.loadtxt(rows, delimiter=delimiter, ndmin=2)}


def _fill_empty_cells(lines: Iterator[str], delimiter: str) -> Iterator[str]:
    """Write NaN into empty cells, which is how pandas and spreadsheets store it."""
    for line in lines:
        cells = [cell.strip() for cell in line.rstrip("\r\n").split(delimiter)]
        yield delimiter.join(cell or "nan" for cell in cells) if "" in cells else line


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


READERS: dict[str, Callable[[Path], dict[str, np.ndarray]]] = {
    ".mat": _read_mat,
    ".npy": _read_npy,
    ".npz": _read_npz,
    **dict.fromkeys((".csv", ".tsv", ".txt", ".data"), _read_text),
}
