"""Read the rows of a damaged SQLite file that are still readable."""

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Row = tuple[Any, ...]


def salvage_rows(path: Path) -> tuple[list[Row], list[Row]]:
    """Return the readable rows of the tables ``origins`` and ``results``."""
    with TemporaryDirectory(dir=path.parent) as folder:
        copy = _padded_copy(path, Path(folder))
        return _readable(copy, "origins"), _readable(copy, "results")


def _readable(path: Path, table: str) -> list[Row]:
    """Read a table from both ends up to the first damaged page."""
    rows: dict[object, Row] = {}
    for direction in ("ASC", "DESC"):
        query = f"SELECT * FROM {table} ORDER BY rowid {direction}"
        connection = sqlite3.connect(path)
        connection.text_factory = decode_text
        # The error of a damaged page ends this direction, and its rows so far are kept.
        with closing(connection), suppress(sqlite3.DatabaseError):
            for row in connection.execute(query):
                rows.setdefault(row[0], row)
    return list(rows.values())


def _padded_copy(path: Path, folder: Path) -> Path:
    """Copy a file and its log, and append zeros up to the length in its header.

    SQLite does not read a file that is shorter than its header says.
    """
    for suffix in ("", "-wal"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            shutil.copyfile(part, folder / part.name)
    copy = folder / path.name
    with copy.open("r+b") as file:
        header = file.read(32)
        # Offsets of the database header; a page size of 0 stands for 65536.
        pages, size = header[28:32], header[16:18]
        file.truncate(int.from_bytes(pages) * (int.from_bytes(size) or 65536))
    return copy


def decode_text(text: bytes) -> str:
    """Decode a text that may be damaged, for a row that has a checksum."""
    return text.decode(errors="replace")
