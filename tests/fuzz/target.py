"""What is fuzzed: a reader of files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY = 2**26
"""Bytes that a reader of arrays is allowed."""


@dataclass(frozen=True)
class Target:
    """A reader, and what it reads when nothing is damaged."""

    file: str  # name of the file, whose ending may choose the reader
    read: Callable[[Path], Any]
    seeds: Callable[[], list[bytes]]
    # What is done to the file after the damage, such as compressing it.
    finish: Callable[[bytes], bytes] = bytes
    memory: int = 4 * MEMORY  # bytes of address space that reading may take
