"""The arrays of .npy and .npz files, without pickle."""

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from twofold.io.stored import (
    MOST_INFLATED,
    StoredArray,
    arranged,
    filled,
    refused,
    size_of,
)

_START = 1 << 15
"""Bytes that are read for a header; NumPy takes headers of up to 10,000."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compression of members that NumPy writes. Only these are inflated in pieces."""


_OBJECTS = "holds objects, which are not unpickled; save texts with dtype=str"
"""Why an array of objects, which may be texts, is not read."""

_ENCODED = "holds bytes; save texts with dtype=str"
"""Why an array of bytes, which may be texts, is not read."""


class _Header(NamedTuple):
    """What an .npy file says of its array, and where the array begins."""

    shape: tuple[int, ...]
    dtype: np.dtype
    order: str
    begin: int


@contextmanager
def npy_arrays(file: BinaryIO) -> Iterator[dict[str, StoredArray]]:
    """Yield the array of an .npy file, called "data"."""
    header = _read_header(file.read(_START))
    most = os.fstat(file.fileno()).st_size - header.begin
    n_bytes = size_of(header.shape, header.dtype)

    def read() -> np.ndarray:
        file.seek(header.begin)
        content = filled(file, n_bytes, most)
        return arranged(content, header.shape, header.dtype, header.order)

    def read_rows(begin: int, end: int) -> np.ndarray:
        width = n_bytes // header.shape[0]
        file.seek(header.begin + begin * width)
        content = filled(file, (end - begin) * width, most)
        shape = (end - begin, *header.shape[1:])
        return arranged(content, shape, header.dtype, "C")

    arrays = _by_name("data", header, read)
    # Rows in Fortran order lie apart; of a file that is cut off, all is an error.
    if header.order == "C" and header.shape and 0 < n_bytes <= most:
        arrays = {key: replace(a, read_rows=read_rows) for key, a in arrays.items()}
    yield arrays


@contextmanager
def npz_arrays(file: BinaryIO) -> Iterator[dict[str, StoredArray]]:
    """Yield the members of an .npz file that are arrays of numbers, or of texts."""
    arrays: dict[str, StoredArray] = {}
    size = os.fstat(file.fileno()).st_size
    with zipfile.ZipFile(file) as members:
        for name in dict.fromkeys(members.namelist()):
            arrays |= _member(members, members.getinfo(name), size)
        yield arrays


def _member(
    members: zipfile.ZipFile, info: zipfile.ZipInfo, size: int
) -> dict[str, StoredArray]:
    """Return the array of a member, or nothing if it is none of numbers or texts.

    ``size`` is the size of the file.
    """
    if info.compress_type not in _METHODS:
        raise ValueError(f"{info.filename} is compressed in a way NumPy does not use")
    with members.open(info) as member:
        start = member.read(_START)
    if not start.startswith(np.lib.format.MAGIC_PREFIX):
        return {}
    header = _read_header(start)

    def read() -> np.ndarray:
        # The size in the header and those in the directory can all be wrong.
        stored = min(info.compress_size, size)
        with members.open(info) as member:
            member.read(header.begin)
            n_bytes = size_of(header.shape, header.dtype)
            content = filled(member, n_bytes, MOST_INFLATED * stored)
            if member.read(1):  # which also compares the checksum
                raise ValueError(f"{info.filename} has more than its header says")
        return arranged(content, header.shape, header.dtype, header.order)

    return _by_name(info.filename.removesuffix(".npy"), header, read)


def _read_header(start: bytes) -> _Header:
    """Read the header in the first bytes of an array file."""
    stream = io.BytesIO(start)
    version = np.lib.format.read_magic(stream)
    # Version 3 differs from 2 in the names of fields, and arrays of numbers have none.
    if version == (1, 0):
        header = np.lib.format.read_array_header_1_0(stream)
    elif version in ((2, 0), (3, 0)):
        header = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"version {version} of the format is not known")
    shape, is_fortran, dtype = header
    return _Header(shape, dtype, "F" if is_fortran else "C", stream.tell())


def _by_name(name: str, header: _Header, read: Any) -> dict[str, StoredArray]:
    """Return an array by its name, if it is one of numbers or texts."""
    n_bytes = size_of(header.shape, header.dtype)
    if header.dtype.kind == "O":
        return {name: refused(_OBJECTS, is_text=True)}
    if header.dtype.kind == "S":
        return {name: refused(_ENCODED, is_text=True)}
    if header.dtype.kind not in "biufU":
        return {}
    is_text = header.dtype.kind == "U"
    return {name: StoredArray(header.shape, n_bytes, read, is_text=is_text)}
