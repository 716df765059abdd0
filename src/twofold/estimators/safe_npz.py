"""Known arrays from an .npz file that anybody may have written."""

import math
import os
import reprlib
import zipfile
from collections import Counter
from io import BufferedReader
from typing import Any

import numpy as np

from twofold.estimators.model_table import Wanted, check_layout

_LARGEST_HEADER = 256
"""Characters of an array's header, which NumPy hands to Python's own parser."""

_LARGEST_OVERHEAD = 1024
"""Bytes that a member takes besides its numbers: its header, and twice its name."""


def check_size(file: BufferedReader, wanted: dict[str, Wanted]) -> None:
    """Refuse a file that is larger than the arrays that are wanted, without reading."""
    largest = sum(
        math.prod(shape) * max(np.dtype(dtype).itemsize for dtype in dtypes)
        + _LARGEST_OVERHEAD
        for shape, dtypes, *_ in wanted.values()
    )
    size = os.fstat(file.fileno()).st_size
    if size > largest:
        raise ValueError(f"must be of at most {largest:,} bytes, got {size:,}")


def read_npz(file: BufferedReader, wanted: dict[str, Wanted]) -> dict[str, np.ndarray]:
    """All arrays of a file, which must be those that are wanted.

    No more memory is taken than the file has bytes: its members must be stored as
    they are, and what they claim to hold is compared with what is there.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            _check_members(archive.infolist(), wanted, size=file.seek(0, 2))
            return {name: _read_member(archive, name, wanted[name]) for name in wanted}
    except (ValueError, MemoryError):
        raise
    except Exception as error:  # damaged files raise anything
        raise ValueError(f"must be a whole .npz file ({error})") from error


def _check_members(
    members: list[zipfile.ZipInfo], wanted: dict[str, Wanted], size: int
) -> None:
    """Refuse other members than those wanted, or more than fit into ``size`` bytes."""
    counts = Counter(member.filename for member in members)
    counts.subtract(f"{name}.npy" for name in wanted)
    odd = sorted(name for name, count in counts.items() if count)
    if odd:
        raise ValueError(
            f"must hold each of its {len(wanted)} arrays once and nothing else, got "
            f"{reprlib.repr(odd)} too often or not at all"
        )
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise ValueError(f"{member.filename} must not be compressed or encrypted")
    claimed = sum(max(m.file_size, m.compress_size) for m in members)
    if claimed > size:
        raise ValueError(f"must hold {claimed:,} bytes by its directory, got {size:,}")


def _read_member(archive: zipfile.ZipFile, name: str, wanted: Wanted) -> np.ndarray:
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as content:
        return _read_array(content, member.file_size, name, wanted)


def _read_array(content: Any, size: int, name: str, wanted: Wanted) -> np.ndarray:
    """An array, for which nothing is allocated before its header is found right."""
    try:
        shape, dtype = _read_header(content)
    except Exception as error:  # it is parsed as Python is
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(f"{name} must be a plain .npy array ({reason})") from error
    check_layout(name, wanted, shape, dtype)
    needed, there = math.prod(shape) * dtype.itemsize, size - content.tell()
    if there != needed:
        raise ValueError(f"{name} must have {needed:,} bytes, got {there:,}")
    content.seek(0)
    array = np.lib.format.read_array(
        content, allow_pickle=False, max_header_size=_LARGEST_HEADER
    )
    return array.astype(dtype.newbyteorder("="), copy=False)


def _read_header(content: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(content)
    if version != (1, 0):  # later ones are for longer headers
        raise ValueError(f"of version {version} and not (1, 0)")
    shape, _, dtype = np.lib.format.read_array_header_1_0(
        content, max_header_size=_LARGEST_HEADER
    )
    return shape, dtype
