"""Read the rows of a damaged SQLite file that are still there.

Each page of rows is read by itself, so that rows are found whatever has happened to the
pages above and beside theirs. See https://www.sqlite.org/fileformat2.html.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]

MAGIC = b"SQLite format 3\0"
"""First bytes of an SQLite file."""

_LEAF = 13
"""First byte of a page with rows of a table."""

_DEFAULT_SIZE = 4096
"""Size of a page, unless SQLite was built with another."""

_INTEGER_SIZES = (0, 1, 2, 3, 4, 6, 8)


def salvage_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of all tables in a file and its write-ahead log.

    Pages without a table may look like rows, and the log has earlier versions of pages:
    the caller checks the rows.
    """
    content = path.read_bytes()
    log = path.with_name(f"{path.name}-wal")
    log_content = log.read_bytes() if log.exists() else b""
    # The size in the header may be damaged, too.
    for size in {_page_size(content), _DEFAULT_SIZE}:
        images = [*_split(content, size), *_split_log(log_content, size)]
        latest = dict(images)
        for number, image in images:
            yield from _rows_on_page(image, 100 * (number == 1), latest)


def _page_size(content: bytes) -> int:
    """Return the size of the pages, which is the default if it cannot be read."""
    size = int.from_bytes(content[16:18])
    size = 65536 if size == 1 else size
    known = content.startswith(MAGIC) and size >= 512 and size.bit_count() == 1
    return size if known else _DEFAULT_SIZE


def _split(content: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each page."""
    for number, begin in enumerate(range(0, len(content), size), start=1):
        yield number, content[begin : begin + size].ljust(size, b"\0")


def _split_log(content: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each page in a log."""
    for begin in range(32, len(content) - 24 - size + 1, 24 + size):
        number = int.from_bytes(content[begin : begin + 4])
        yield number, content[begin + 24 : begin + 24 + size]


def _rows_on_page(page: bytes, begin: int, pages: dict[int, bytes]) -> Iterator[Row]:
    """Yield the rows of a page whose header is at ``begin``."""
    if page[begin] != _LEAF:
        return
    count = int.from_bytes(page[begin + 3 : begin + 5])
    for entry in range(begin + 8, begin + 8 + 2 * count, 2):
        # A damaged row has places and lengths that lead nowhere.
        with suppress(IndexError, KeyError, ValueError, struct.error):
            place = int.from_bytes(page[entry : entry + 2])
            yield _record(_payload(page, place, pages))


def _payload(page: bytes, place: int, pages: dict[int, bytes]) -> bytes:
    """Return the bytes of a row, some of which may be on other pages."""
    length, place = _varint(page, place)
    _, place = _varint(page, place)  # the number of the row
    if length <= len(page) - 35:
        return page[place : place + length]
    if length > len(page) * len(pages):
        raise ValueError("longer than the file")
    least = (len(page) - 12) * 32 // 255 - 23
    here = least + (length - least) % (len(page) - 4)
    end = place + (here if here <= len(page) - 35 else least)
    payload, page = page[place:end], page[end:]
    while len(payload) < length:
        page = pages[int.from_bytes(page[:4])]
        payload += page[4:]
    return payload[:length]


def _record(payload: bytes) -> Row:
    """Return the values of a row."""
    header, place = _varint(payload, 0)
    values, begin = [], header
    while place < header:
        kind, place = _varint(payload, place)
        size = _INTEGER_SIZES[kind] if kind < 7 else 8 if kind == 7 else 0
        size = (kind - 12) // 2 if kind >= 12 else size
        if begin + size > len(payload):
            raise ValueError("a value is cut off")
        values.append(_value(kind, payload[begin : begin + size]))
        begin += size
    return tuple(values)


def _value(kind: int, content: bytes) -> Any:
    """Return a value by its serial type."""
    if kind == 0:
        return None
    if kind < 7:
        return int.from_bytes(content, signed=True)
    if kind == 7:
        return struct.unpack(">d", content)[0]
    if kind < 10:
        return kind - 8
    return decode_text(content)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return an integer of variable length and the place behind it."""
    value = 0
    for last in range(place, place + 8):
        value = value << 7 | data[last] & 127
        if data[last] < 128:
            return value, last + 1
    return value << 8 | data[place + 8], place + 9


def decode_text(text: bytes) -> str:
    """Decode a text that may be damaged, for a row that has a checksum."""
    return text.decode(errors="replace")
