"""Check the tags of a MATLAB file before SciPy reads it.

A .mat file of version 5 is a sequence of elements: a type, a length, and the data.
SciPy uses an unknown type as an index of a table, which can crash the process.
"""

import struct
import zlib

_TYPES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 14, 15, 16, 17, 18})
"""Element types of the format."""

_MATRIX, _COMPRESSED = 14, 15
"""Types of elements that contain other elements."""

_HEADER = 128
"""Length of the header in bytes."""


def check_tags(content: bytes) -> None:
    """Raise a ValueError if an element of a version 5 file has no known type."""
    if len(content) < _HEADER or 0 in content[:4] or content[124:126] == b"\x00\x02":
        return  # another version, or not a MATLAB file: SciPy raises the error
    order = ">" if content[126:128] == b"MI" else "<"
    _check_elements(memoryview(content)[_HEADER:], order)


def _check_elements(content: memoryview, order: str) -> None:
    """Check a sequence of elements; ``order`` is the byte order."""
    position = 0
    while position + 8 <= len(content):
        kind, size = struct.unpack_from(f"{order}II", content, position)
        begin = position + 8
        if kind >> 16:  # a small element: its length is in the upper half of the type
            kind, size, begin = kind & 0xFFFF, kind >> 16, position + 4
        if kind not in _TYPES:
            raise ValueError(f"an element of unknown type {kind}, the file is damaged")
        data = content[begin : begin + size]
        if kind == _COMPRESSED:
            _check_elements(memoryview(zlib.decompress(data)), order)
        elif kind == _MATRIX:
            _check_elements(data, order)
        position = begin + size
        if kind != _COMPRESSED:
            position += -position % 8  # other elements are padded to 8 bytes
