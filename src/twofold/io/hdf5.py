"""The arrays of a MATLAB file of version 7.3, which is an HDF5 file.

An HDF5 file can name other files: as links, as the storage of a data set, and as parts
of a virtual one. It can name filters, too, which the library loads from disk. Nothing
of that is followed or loaded: all is looked at before a data set is opened or read. The
lists of names can have filters of their own, which would be applied, without a limit,
when the names are listed; such a file is refused before HDF5 opens it.
"""

import io
import math
import mmap
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from twofold.io.stored import InflatedStream, StoredArray, refused

_CLASSES = {
    *(f"{sign}int{bits}".encode() for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(b"double", b"single", b"logical"),
}
"""MATLAB's classes of numbers; others are text, structures and objects."""

_DEFLATE, _SHUFFLE, _CHECKSUM = 1, 2, 3
"""Filters that are applied, by number: those that MATLAB and h5py use."""

_PIECE = 1 << 20
"""Bytes that are inflated at a time."""

_CHUNK_COST = 4096
"""Bytes that HDF5 keeps for every chunk that it reads at once, besides its content."""

_HEAP = re.compile(rb"FRHP\0..(?!\0\0)..", re.DOTALL)
"""Header of a list of names with filters: version, length of names, then of filters."""


@contextmanager
def hdf5_arrays(file: BinaryIO) -> Iterator[dict[str, StoredArray]]:
    """Yield the data sets in the root of the file that are arrays of numbers."""
    try:
        import h5py
    except ImportError:
        raise ImportError(
            f"{file.name}: is a .mat file of version 7.3, which takes h5py to read: "
            'pip install "twofold[mat73]"'
        ) from None
    size = os.fstat(file.fileno()).st_size
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if _HEAP.search(content):
            raise ValueError("its names are stored with filters, which are not applied")
    arrays: dict[str, StoredArray] = {}
    with h5py.File(file.name, "r") as opened:
        for name in opened.id:
            arrays |= _entry(h5py, opened.id, name, size)
        yield arrays


def _entry(h5py: Any, root: Any, name: bytes, size: int) -> dict[str, StoredArray]:
    """Return a data set by its name, or nothing if it is no array of numbers."""
    shown = name.decode("utf-8", "replace")
    # A name with a slash would be taken for a path, which may go through a link.
    if b"/" in name or name in (b"", b"."):
        return {shown: refused("has a name that is a path")}
    if root.links.get_info(name).type != h5py.h5l.TYPE_HARD:
        return {shown: refused("is a link, and links are not followed")}
    data = h5py.h5o.open(root, name)
    if not isinstance(data, h5py.h5d.DatasetID):
        return {}
    layout = data.get_create_plist()
    if layout.get_external_count():
        return {shown: refused("is stored in other files, which are not read")}
    if layout.get_layout() == h5py.h5d.VIRTUAL:
        return {shown: refused("is made of other data sets, which are not read")}
    if not (_is_number(h5py, data) and _is_numeric(h5py, data)):
        return {}
    filters = _filters(layout)
    for number in filters:
        if number not in (_DEFLATE, _SHUFFLE, _CHECKSUM) or filters.count(number) > 1:
            return {shown: refused(f"takes filter {number}, which is not applied")}
    return {shown: _stored(h5py, data, layout, size)}


def _filters(layout: Any) -> list[int]:
    """Return the filters of a data set, in the order in which they were applied."""
    return [layout.get_filter(i)[0] for i in range(layout.get_nfilters())]


def _stored(h5py: Any, data: Any, layout: Any, size: int) -> StoredArray:
    """Return a data set; ``size`` is the size of the file."""
    shape, itemsize = data.shape, data.get_type().get_size()
    is_chunked = layout.get_layout() == h5py.h5d.CHUNKED
    # A chunk is held in memory as a whole, and may be larger than the array.
    chunk = math.prod(layout.get_chunk()) * itemsize if is_chunked else 0

    def read() -> np.ndarray:
        if is_chunked:
            chunks: list[Any] = []
            data.chunk_iter(chunks.append)
            for info in chunks:
                _check_chunk(data, info, chunk, size)
        elif data.get_storage_size() > size:
            raise ValueError("a data set that is larger than the file")
        # MATLAB stores arrays in column-major order: HDF5 has the axes reversed.
        return np.asarray(h5py.Dataset(data)).T

    n_bytes = max(math.prod(shape) * itemsize, chunk)
    if is_chunked:
        sides = zip(shape, layout.get_chunk(), strict=True)
        n_bytes += _CHUNK_COST * math.prod(-(-long // short) for long, short in sides)
    return StoredArray(shape[::-1], n_bytes, read)


def _check_chunk(data: Any, info: Any, n_bytes: int, size: int) -> None:
    """Raise a ValueError for a chunk that is more than ``n_bytes`` when inflated.

    HDF5 inflates a chunk to its end, whatever the size of chunks is.
    """
    if info.size > size:
        raise ValueError("a chunk that is larger than the file")
    filters = _filters(data.get_create_plist())
    if _DEFLATE not in filters or info.filter_mask >> filters.index(_DEFLATE) & 1:
        return
    _, content = data.read_direct_chunk(info.chunk_offset)
    stream = InflatedStream(io.BytesIO(content), len(content))
    n_bytes += 4 * (_CHECKSUM in filters)
    while piece := stream.read(_PIECE):
        n_bytes -= len(piece)
        if n_bytes < 0:
            raise ValueError("a chunk that is larger than its header says")


def _is_number(h5py: Any, data: Any) -> bool:
    """Return whether the entries of a data set are numbers of a usual type."""
    kind, what = data.get_type(), data.get_space().get_simple_extent_type()
    if what == h5py.h5s.NULL:
        return False
    if isinstance(kind, h5py.h5t.TypeEnumID):  # truth values, as h5py writes them
        kind = kind.get_super()
    if not isinstance(kind, h5py.h5t.TypeIntegerID | h5py.h5t.TypeFloatID):
        return False
    # Types with bits to spare are left to HDF5's conversion only if NumPy has them.
    return kind == h5py.h5t.py_create(kind.dtype)


def _is_numeric(h5py: Any, data: Any) -> bool:
    """Return whether MATLAB's attributes, if there are any, say array of numbers."""
    # An empty array is stored as its shape, which must not be read as its content.
    kind = _attribute(h5py, data, b"MATLAB_class", h5py.h5t.TypeStringID)
    empty = _attribute(h5py, data, b"MATLAB_empty", h5py.h5t.TypeIntegerID)
    return (kind is None or kind in _CLASSES) and not empty


def _attribute(h5py: Any, data: Any, name: bytes, kind: Any) -> Any:
    """Return a short attribute of a type, or None."""
    if not h5py.h5a.exists(data, name):
        return None
    attribute = h5py.h5a.open(data, name)
    is_short = attribute.get_storage_size() <= 64 and attribute.shape == ()
    stored = attribute.get_type()
    if not is_short or not isinstance(stored, kind):
        return None
    if kind is h5py.h5t.TypeStringID and stored.is_variable_str():
        return None
    value = np.empty((), dtype=attribute.dtype)
    attribute.read(value)
    return value[()]
