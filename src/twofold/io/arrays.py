"""Read numeric arrays from .mat, .npy, .npz, Parquet and text files, not by pickle."""

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from twofold.io.budget import as_size
from twofold.io.hdf5 import hdf5_arrays
from twofold.io.mat4 import mat4_arrays
from twofold.io.mat5 import mat5_arrays
from twofold.io.numpy_files import npy_arrays, npz_arrays
from twofold.io.parquet import parquet_arrays
from twofold.io.stored import StoredArray, StoredRows
from twofold.io.text import text_arrays

_LEAST_LIMIT = 2**30
"""Bytes that the arrays of any file may take by default."""

_INFLATION = 32
"""Bytes that the arrays may take by default for each byte of a file."""


def read_stack(
    path: str | Path,
    *,
    key: str | None = None,
    sample_shape: tuple[int, ...] | None = None,
    order: str = "C",
    max_memory: int | None = None,
) -> np.ndarray:
    """Read a stack of samples from an array file.

    Parameters
    ----------
    path : str or Path
        A .mat (version 4, 5 or 7.3), .npy, .npz, .parquet, .csv, .txt, .tsv or .data
        file. Empty cells of a text file become NaN. In a Parquet file, a column of
        lists of numbers is an array; without one, all columns of numbers are the
        array "data". Nothing is unpickled, and no other file is read that the file
        may name.
    key : str or None, default=None
        Name of the array in the file. None takes the only array, or the only array
        with at least two axes longer than 1. Other arrays are not read.
    sample_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the samples in the rows of a flat array.
    order : {"C", "F"}, default="C"
        Whether flat rows hold samples row by row, or column by column as in MATLAB.
    max_memory : int or None, default=None
        Bytes that the array may take. A file of few bytes can hold a huge array, so
        that more is an error before it is read. None allows 32 times the size of the
        file, and 1 GiB in any case.

    Returns
    -------
    ndarray of shape (n, f), (n, h, w) or (n, h, w, c)
        Samples.
    """
    shape = _checked_shape(sample_shape, order)
    with open_arrays(path, max_memory) as file:
        name = file.stack_name(key)
        stack = file.read([name])[name]
    return shaped(stack, shape, order, path)


def read_arrays(
    path: str | Path, *, max_memory: int | None = None
) -> dict[str, np.ndarray]:
    """Read all numeric arrays of a file.

    Parameters
    ----------
    path : str or Path
        A file as for ``read_stack``.
    max_memory : int or None, default=None
        Bytes that all arrays together may take, as for ``read_stack``.

    Returns
    -------
    dict of str to ndarray
        Arrays by name; the array of a file without names is called "data". Objects,
        text and structures are left out.
    """
    with open_arrays(path, max_memory) as file:
        return file.read(file.arrays)


def shaped(
    stack: np.ndarray, sample_shape: tuple[int, ...] | None, order: str, path: Any
) -> np.ndarray:
    """Return the samples of an array from ``path``; flat rows are reshaped."""
    sample_shape = _checked_shape(sample_shape, order)
    if sample_shape is None or stack.shape[1:] == sample_shape:
        return stack
    whole = min(sample_shape, default=0) > 0
    if not whole or stack.ndim != 2 or stack.shape[1] != math.prod(sample_shape):
        raise ValueError(
            f"sample_shape={sample_shape!r} must fit the rows of {path}, which has "
            f"shape {stack.shape}"
        )
    return unflatten(stack, sample_shape, order)


def unflatten(rows: np.ndarray, shape: tuple[int, ...], order: str) -> np.ndarray:
    """Reshape rows (n, f) to samples (n, *shape), in C or in Fortran order."""
    if order == "C":
        return rows.reshape(len(rows), *shape)
    turned = rows.reshape(len(rows), *shape[::-1])
    return turned.transpose(0, *range(len(shape), 0, -1))


class ArrayFile:
    """The arrays of an open file, of which only the headers were read.

    Parameters
    ----------
    path : Path
        The file, for messages.
    arrays : dict of str to StoredArray
        Its arrays of numbers, by name.
    texts : dict of str to StoredArray
        Its arrays of texts, by name.
    limit : int
        Bytes that the arrays that are read may take.
    """

    def __init__(
        self,
        path: Path,
        arrays: dict[str, StoredArray],
        texts: dict[str, StoredArray],
        limit: int,
    ) -> None:
        self.path = path
        self.arrays = arrays
        self.texts = texts
        self._limit = limit

    def checked_name(self, name: str, argument: str = "key") -> str:
        """Return the ``name`` of an array, which was given as ``argument``."""
        if not isinstance(name, str) or name not in self.arrays:
            raise ValueError(
                f"{argument}={name!r} is not in {self.path}, which has {self._shapes()}"
            )
        return name

    def stack_name(self, key: str | None) -> str:
        """Return ``key``, or the name of the only stack of samples if it is None."""
        if key is not None:
            return self.checked_name(key)
        self._check_refusals(self.arrays)  # one of them might be the stack
        long_axes = {k: sum(s > 1 for s in a.shape) for k, a in self.arrays.items()}
        stacks = [k for k, n in long_axes.items() if n > 1 or len(long_axes) == 1]
        if len(stacks) != 1:
            raise ValueError(
                f"key must name one of the arrays of {self.path}: {self._shapes()}"
            )
        return stacks[0]

    def read(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Read the arrays of these names, and no others."""
        names = list(dict.fromkeys(names))
        self._check_refusals(names)
        stored = self.arrays | self.texts
        n_bytes = sum(stored[name].n_bytes for name in names)
        with self._room(names, n_bytes):
            return {name: stored[name].read() for name in names}

    def rows(self, name: str) -> StoredRows | None:
        """Return an array to be read by rows while the file is open.

        None if it must be read at once. What is read at a time is what is limited.
        """
        array = self.arrays[name]
        read_rows, n = array.read_rows, (*array.shape, 1)[0]
        if read_rows is None or array.refusal:
            return None

        def read(begin: int, end: int) -> np.ndarray:
            some = f"a block of {end - begin:,} samples of {name}"
            with self._room([some], array.n_bytes // n * (end - begin)):
                return read_rows(begin, end)

        return StoredRows(n, read)

    @contextmanager
    def _room(self, names: list[str], n_bytes: int) -> Iterator[None]:
        """Have arrays, or some of their rows, read; raise if they take too much."""
        shown = " and ".join(names) if len(names) < 3 else f"its {len(names)} arrays"
        claim = f"{self.path}: {shown} would take {as_size(n_bytes)}"
        if n_bytes > self._limit:
            raise ValueError(
                f"{claim}, and max_memory is {as_size(self._limit)}; if the file is to "
                "be trusted, give more (--max-memory on the command line)"
            )
        try:
            with _reasons(self.path):
                yield
        except MemoryError:
            raise MemoryError(f"{claim}, and there is not as much memory") from None

    def _check_refusals(self, names: Iterable[str]) -> None:
        """Raise a ValueError for an array that is not to be read."""
        stored = self.arrays | self.texts
        for name in names:
            if stored[name].refusal:
                raise ValueError(f"{self.path}: {name} {stored[name].refusal}")

    def _shapes(self) -> str:
        """Return the names and shapes of all arrays."""
        return ", ".join(
            f"{name} ({array.refusal})" if array.refusal else f"{name} {array.shape}"
            for name, array in self.arrays.items()
        )


@contextmanager
def open_arrays(path: str | Path, max_memory: int | None = None) -> Iterator[ArrayFile]:
    """Open a file, and read the headers of its arrays. See ``read_stack``."""
    if not isinstance(path, str | Path):
        raise ValueError(f"path must be a str or a Path, got {path!r}")
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in READERS:
        raise ValueError(
            f"{path}: expected a file ending in {', '.join(READERS)}, got "
            f"{path.suffix or 'no ending'!r}"
        )
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    limit = _checked_limit(max_memory, path)
    with ExitStack() as stack:
        try:
            with _reasons(path):
                file = stack.enter_context(path.open("rb"))
                found = stack.enter_context(READERS[ending](file))
        except MemoryError as error:  # a header takes little memory
            raise ValueError(f"{path}: has a damaged header") from error
        texts = {name: array for name, array in found.items() if array.is_text}
        filled = {name: a for name, a in found.items() if math.prod(a.shape)}
        arrays = {name: a for name, a in filled.items() if name not in texts}
        if not arrays:
            empty = "" if filled or not found else ", only empty ones"
            raise ValueError(f"{path}: holds no array of numbers{empty}")
        yield ArrayFile(path, arrays, texts, limit)


@contextmanager
def _reasons(path: Path) -> Iterator[None]:
    """Name the file in the errors of its reader."""
    try:
        yield
    except (ImportError, MemoryError, PermissionError):
        raise
    except Exception as error:  # a damaged file can raise any exception
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(
            f"{path}: cannot be read as {path.suffix} ({reason})"
        ) from error


@contextmanager
def _mat_arrays(file: BinaryIO) -> Iterator[dict[str, StoredArray]]:
    """Yield the arrays of a MATLAB file of any version."""
    start = file.read(128)
    file.seek(0)
    # The version is a number of two bytes, in the byte order that follows it.
    version = start[124:126][:: -1 if start[126:] == b"IM" else 1]
    if len(start) >= 20 and 0 in start[:4]:
        reader = mat4_arrays
    elif version == b"\x01\x00":
        reader = mat5_arrays
    elif version == b"\x02\x00":
        reader = hdf5_arrays
    else:
        raise ValueError("not a MATLAB file, or a damaged one")
    with reader(file) as arrays:
        yield arrays


def _checked_limit(max_memory: int | None, path: Path) -> int:
    """Return the number of bytes that the arrays of a file may take."""
    if max_memory is None:
        return max(_LEAST_LIMIT, _INFLATION * path.stat().st_size)
    try:
        limit = operator.index(max_memory)
    except TypeError:
        limit = 0
    if limit < 1 or isinstance(max_memory, bool):
        raise ValueError(
            f"max_memory must be a number of bytes, at least 1, got {max_memory!r}"
        )
    return limit


def _checked_shape(
    sample_shape: tuple[int, ...] | None, order: str
) -> tuple[int, ...] | None:
    """Return the shape of samples as a tuple; raise for anything else."""
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', got {order!r}")
    if sample_shape is None:
        return None
    try:
        return tuple(operator.index(size) for size in sample_shape)
    except TypeError:
        raise ValueError(
            "sample_shape must be a tuple of whole numbers, such as (32, 32), got "
            f"{sample_shape!r}"
        ) from None


Reader = Callable[[BinaryIO], AbstractContextManager[dict[str, StoredArray]]]
"""What reads the headers of the arrays in an open file."""

READERS: dict[str, Reader] = {
    ".mat": _mat_arrays,
    ".npy": npy_arrays,
    ".npz": npz_arrays,
    ".parquet": parquet_arrays,
    **dict.fromkeys((".csv", ".tsv", ".txt", ".data"), text_arrays),
}
