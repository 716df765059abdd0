"""The arrays of a MATLAB file of version 5, which is what MATLAB calls 6 and 7.

Such a file is a sequence of elements: a type, a length, and the data. An element is a
variable, or a compressed one. A variable has elements inside: flags, shape, name, data.
SciPy's reader trusts these numbers: it takes a type for an index of a table, and a
length for memory to reserve.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO

import numpy as np

from twofold.io.stored import (
    MOST_INFLATED,
    InflatedStream,
    StoredArray,
    Stream,
    arranged,
    filled,
    size_of,
)

_NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
"""Element types that are numbers."""

_MATRIX, _COMPRESSED = 14, 15
"""Element types of variables."""

_NUMERIC = range(6, 16)
"""Classes of variables from double to uint64; truth values are a kind of uint8."""

_COMPLEX = 0x800
"""Flag of a complex variable."""

_HEADER = 128
"""Length of the header of the file in bytes."""

_LONGEST = 4096
"""Maximum length of a shape or of a name in bytes."""


@contextmanager
def mat5_arrays(file: BinaryIO) -> Iterator[dict[str, StoredArray]]:
    """Yield the variables that are real arrays of numbers."""
    file.seek(126)
    order = ">" if file.read(2) == b"MI" else "<"
    end = os.fstat(file.fileno()).st_size
    arrays: dict[str, StoredArray] = {}
    position = _HEADER
    while position + 8 <= end:
        file.seek(position)
        kind, size = struct.unpack(f"{order}II", file.read(8))
        if kind not in (_MATRIX, _COMPRESSED):
            raise ValueError(f"an element of unknown type {kind}, the file is damaged")
        if position + 8 + size > end:
            raise ValueError(f"an element of {size:,} bytes, the file is cut short")
        variable = _Variable(file, position + 8, size, order, kind == _COMPRESSED)
        arrays |= variable.array()
        position += 8 + size
    yield arrays


class _Variable:
    """A variable of a file, of ``size`` bytes from ``begin`` on."""

    def __init__(
        self, file: BinaryIO, begin: int, size: int, order: str, compressed: bool
    ) -> None:
        self._file = file
        self._begin = begin
        self._size = size
        self._order = order
        self._compressed = compressed
        self._stream: Stream = file
        self._position = 0  # in the stream

    def array(self) -> dict[str, StoredArray]:
        """Return the array by its name, or nothing if it is no array of numbers."""
        self._open()
        if self._compressed and self._tag()[0] != _MATRIX:
            raise ValueError("a compressed element that is no variable")
        flags = self._numbers("u4")
        if not flags or flags[0] & 0xFF not in _NUMERIC or flags[0] & _COMPLEX:
            return {}
        shape = tuple(self._numbers("i4"))
        name = self._content().decode("latin1")
        kind, size, _ = self._tag()
        if kind not in _NUMBERS:
            raise ValueError(f"an element of unknown type {kind}, the file is damaged")
        dtype = np.dtype(self._order + _NUMBERS[kind])
        if size_of(shape, dtype) != size:
            raise ValueError(f"{name} of shape {shape}, which has {size:,} bytes")
        if not name:  # what MATLAB keeps for itself
            return {}
        read = partial(self._read, self._position, shape, dtype)
        return {name: StoredArray(shape, size, read)}

    def _read(self, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Read the numbers, which begin ``offset`` bytes into the stream."""
        self._open()
        most = self._size * (MOST_INFLATED if self._compressed else 1)
        filled(self._stream, offset, most)
        content = filled(self._stream, size_of(shape, dtype), most - offset)
        return arranged(content, shape, dtype, "F")

    def _open(self) -> None:
        """Go to the beginning of the variable."""
        self._file.seek(self._begin)
        self._position = 0
        if self._compressed:
            self._stream = InflatedStream(self._file, self._size)

    def _take(self, n: int) -> bytes:
        """Read the next ``n`` bytes of the header."""
        self._position += n
        return filled(self._stream, n, _LONGEST).tobytes()

    def _tag(self) -> tuple[int, int, int]:
        """Read the type and length of an element, and how many bytes pad it."""
        (word,) = struct.unpack(f"{self._order}I", self._take(4))
        if word >> 16:  # a small element has its length in the upper half of the type
            return word & 0xFFFF, word >> 16, 4 - (word >> 16)
        (size,) = struct.unpack(f"{self._order}I", self._take(4))
        return word, size, -size % 8

    def _content(self) -> bytes:
        """Read an element of the header."""
        _, size, padding = self._tag()
        if padding < 0:
            raise ValueError(f"a small element of {size} bytes, the file is damaged")
        return self._take(size + padding)[:size]

    def _numbers(self, kind: str) -> list[int]:
        """Read an element of the header as integers."""
        content = self._content()
        dtype = np.dtype(self._order + kind)
        return np.frombuffer(content, dtype, len(content) // dtype.itemsize).tolist()
