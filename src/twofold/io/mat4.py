"""The arrays of a MATLAB file of version 4: headers of five numbers, and the data."""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO

import numpy as np

from twofold.io.stored import StoredArray, arranged, filled, size_of

_NUMBERS = ("f8", "f4", "i4", "i2", "u2", "u1")
"""Types of the data, by the tens of the type of a variable."""


@contextmanager
def mat4_arrays(file: BinaryIO) -> Iterator[dict[str, StoredArray]]:
    """Yield the variables that are real arrays of numbers."""
    (first,) = struct.unpack("<i", file.read(4))
    order = "<" if 0 <= first < 5000 else ">"
    end = os.fstat(file.fileno()).st_size
    arrays: dict[str, StoredArray] = {}
    position = 0
    while position + 20 <= end:
        file.seek(position)
        kind, rows, columns, is_complex, n_name = struct.unpack(
            f"{order}5i", file.read(20)
        )
        number, what = divmod(kind % 100, 10)
        if not (0 <= kind < 2000 and number < len(_NUMBERS) and 0 < n_name <= 256):
            raise ValueError(f"a variable of unknown type {kind}, the file is damaged")
        dtype = np.dtype(order + _NUMBERS[number])
        n_bytes = size_of((rows, columns), dtype)
        name = file.read(n_name).rstrip(b"\0").decode("latin1")
        begin = position + 20 + n_name
        position = begin + n_bytes * (2 if is_complex else 1)
        if position > end:
            raise ValueError(f"{name} of {n_bytes:,} bytes, the file is cut short")
        if what == 0 and not is_complex:  # neither text nor a sparse matrix
            read = partial(_read, file, begin, (rows, columns), dtype)
            arrays[name] = StoredArray((rows, columns), n_bytes, read)
    yield arrays


def _read(
    file: BinaryIO, begin: int, shape: tuple[int, int], dtype: np.dtype
) -> np.ndarray:
    """Read the numbers of a variable."""
    file.seek(begin)
    n_bytes = size_of(shape, dtype)
    return arranged(filled(file, n_bytes, n_bytes), shape, dtype, "F")
