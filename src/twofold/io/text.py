"""The table of numbers of a CSV or text file."""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

from twofold.io.stored import StoredArray

_DELIMITERS = (";", "\t", ",")
"""Delimiters of text files, in the order in which they are tried."""


@contextmanager
def text_arrays(file: BinaryIO) -> Iterator[dict[str, StoredArray]]:
    """Yield the table of a file, with or without a header, called "data"."""
    delimiter = None
    n_rows = n_cells = 0
    for delimiter, row in _rows(file):
        n_rows += 1
        n_cells += _count(row, delimiter)
    if not n_rows:
        raise ValueError("it is empty")

    def read() -> np.ndarray:
        rows = (_filled_in(row, delimiter) for _, row in _rows(file))
        return np.loadtxt(rows, delimiter=delimiter, ndmin=2)

    yield {"data": StoredArray((n_rows, n_cells // n_rows), 8 * n_cells, read)}


def _rows(file: BinaryIO) -> Iterator[tuple[str | None, str]]:
    """Yield the lines of a table, from its first row, and what is between cells."""
    with open(file.name, encoding="utf-8-sig") as text:
        lines = (line for line in text if line.strip() and not line.startswith("#"))
        first = next(lines, "")
        delimiter = next((d for d in _DELIMITERS if d in first), None)
        # A row that contains a number is not a header, even if other cells are empty.
        header = not any(map(_is_number, _cells(first, delimiter)))
        for line in itertools.chain([] if header else [first], lines):
            yield delimiter, line


def _filled_in(line: str, delimiter: str | None) -> str:
    """Write NaN into empty cells, which is how pandas and spreadsheets store it."""
    if delimiter is None:
        return line
    empty = rf"(^|{delimiter})[^\S{delimiter}]*(?={delimiter}|\Z)"
    return re.sub(empty, r"\1nan", line.rstrip("\r\n"))


def _cells(line: str, delimiter: str | None = None) -> Iterator[str]:
    """Yield the cells of a line that are not empty, without a list of all of them."""
    between = rf"[^{delimiter}]+" if delimiter else r"\S+"
    return (found[0] for found in re.finditer(between, line))


def _count(line: str, delimiter: str | None) -> int:
    """Return the number of cells of a line, empty ones included."""
    return line.count(delimiter) + 1 if delimiter else sum(1 for _ in _cells(line))


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True
