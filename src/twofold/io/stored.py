"""An array in a file: what the header says of it, and how its content is read."""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import numpy as np

MOST_INFLATED = 1032
"""Bytes that a byte of a deflated stream can become at most."""

_PIECE = 1 << 18
"""Bytes that are read at a time."""


class Stream(Protocol):
    """What bytes are read from."""

    def read(self, n: int, /) -> bytes:
        """Return the next bytes, at most ``n``, and none at the end."""


@dataclass(frozen=True)
class StoredArray:
    """An array of numbers, or of texts, of which only the header was read."""

    shape: tuple[int, ...]
    n_bytes: int  # memory that reading takes, as the header says
    read: Callable[[], np.ndarray]  # what reads the content
    refusal: str = ""  # why the array is not to be read, if it is not
    is_text: bool = False  # whether its entries are texts, such as names
    # What reads the rows from one to another; None if all must be read at once.
    read_rows: Callable[[int, int], np.ndarray] | None = None


class StoredRows:
    """Samples (n, ...) in an open file, of which slices are read.

    They are not mapped into memory: where a mapped file shrinks, the process is ended,
    and here it is an error.

    Parameters
    ----------
    n : int
        Number of samples.
    read : callable
        What reads the samples from one to another.
    """

    def __init__(self, n: int, read: Callable[[int, int], np.ndarray]) -> None:
        none = read(0, 0)
        self.shape = (n, *none.shape[1:])
        self.dtype = none.dtype
        self._read = read

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        begin, end, _ = rows.indices(len(self))
        return self._read(begin, end)

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> "StoredRows":
        """Return the samples as a function changes them, which knows of no others."""
        return StoredRows(len(self), lambda i, j: change(self._read(i, j)))


def refused(reason: str, *, is_text: bool = False) -> StoredArray:
    """Return an entry for what has a name in a file, and is not to be read."""
    return StoredArray((), 0, lambda: np.empty(0), reason, is_text)


def size_of(shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Return the number of bytes of an array; raise for an impossible shape."""
    if min(shape, default=0) < 0 or len(shape) > 32:
        raise ValueError(f"an array of the impossible shape {shape[:33]}")
    return math.prod(shape) * dtype.itemsize


def filled(stream: Stream, n_bytes: int, most: int) -> np.ndarray:
    """Read ``n_bytes`` bytes; ``most`` is what the file can hold of them."""
    if n_bytes > most:
        raise ValueError(f"an array of {n_bytes:,} bytes, of which there are {most:,}")
    content = np.empty(n_bytes, dtype=np.uint8)
    done = 0
    while done < n_bytes:
        piece = stream.read(min(_PIECE, n_bytes - done))
        if not piece:
            raise ValueError(f"an array of {n_bytes:,} bytes that ends after {done:,}")
        content[done : done + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        done += len(piece)
    return content


def arranged(
    content: np.ndarray, shape: tuple[int, ...], dtype: np.dtype, order: Any
) -> np.ndarray:
    """Return bytes as an array, in C or in Fortran order."""
    return content.view(dtype).reshape(shape, order=order)


class InflatedStream:
    """The content of a zlib stream of ``size`` bytes, from where ``file`` stands.

    It is inflated as far as it is read. However large it is, memory stays small.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size
        self._inflater = zlib.decompressobj()

    def read(self, n: int, /) -> bytes:
        """Return the next bytes, at most ``n``, and none at the end."""
        while not self._inflater.eof:
            piece = self._inflater.unconsumed_tail
            if not piece:
                piece = self._file.read(min(_PIECE, self._left))
                self._left -= len(piece)
            content = self._inflater.decompress(piece, n)
            if content or not piece:
                return content
        return b""
