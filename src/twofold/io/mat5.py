"""A look at the tags of a MATLAB file, since SciPy follows wrong ones off the end.

A .mat file of version 5 is a sequence of elements: a type, a length, and the data.
SciPy takes an unknown type for an index into a table, which can end the process.
"""

import struct
import zlib

_TYPES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 14, 15, 16, 17, 18})
_MATRIX, _COMPRESSED = 14, 15
_HEADER = 128


def check_tags(content: bytes) -> None:
    """Raise a ValueError if an element of a version 5 file has no known type."""
    if len(content) < _HEADER or 0 in content[:4] or content[124:126] == b"\x00\x02":
        return  # another version, or no MATLAB file: SciPy says so
    order = ">" if content[126:128] == b"MI" else "<"
    _check_elements(memoryview(content)[_HEADER:], order)


def _check_elements(content: memoryview, order: str) -> None:
    place = 0
    while place + 8 <= len(content):
        kind, size = struct.unpack_from(f"{order}II", content, place)
        begin = place + 8
        if kind >> 16:  # a small element: its length is in the upper half of the type
            kind, size, begin = kind & 0xFFFF, kind >> 16, place + 4
        if kind not in _TYPES:
            raise ValueError(f"an element of unknown type {kind}, the file is damaged")
        data = content[begin : begin + size]
        if kind == _COMPRESSED:
            _check_elements(memoryview(zlib.decompress(data)), order)
        elif kind == _MATRIX:
            _check_elements(data, order)
        place = begin + size
        if kind != _COMPRESSED:
            place += -place % 8  # all others are padded
