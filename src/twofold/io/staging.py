"""Files and folders that appear only when they are whole."""

import glob
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PARTIAL = ".partial-"
"""In the hidden names of what is not whole."""

_STALE = 24 * 3600
"""Seconds after which what a killed process left behind is removed."""


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the name ``path`` at the end of the context.

    A link of that name is replaced, and not followed to wherever it leads.
    """
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is no plain file, and is not replaced by one")
    with _beside(path) as partial:
        yield partial / path.name
        with (partial / path.name).open("rb+") as file:
            os.fsync(file.fileno())  # lest it has its name before its content
        os.replace(partial / path.name, path)


@contextmanager
def staged_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """A folder to write into, which takes the name ``path`` at the end of the context.

    With ``replace`` it takes the place of a folder that is there, which is removed. A
    link stays, and the folder that it leads to is replaced.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with _beside(path) as partial:
        new, old = partial / "new", partial / "old"
        new.mkdir()
        yield new
        try:
            _move_away(path, old, replace=replace)
            os.rename(new, path)
        except BaseException:
            if old.exists() and not path.exists():
                os.rename(old, path)
            raise


def check_room(path: Path) -> None:
    """Raise the OSError that a ``staged_folder`` of this name would meet."""
    above = path.resolve().parent
    while not above.exists():
        above = above.parent
    os.rmdir(tempfile.mkdtemp(dir=above, prefix=_prefix(path)))


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A hidden folder beside ``path``, and gone at the end of the context."""
    _remove_stale(path)
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=_prefix(path)))
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _move_away(path: Path, old: Path, *, replace: bool) -> None:
    if not path.exists():
        return
    if replace:
        os.rename(path, old)
    else:
        path.rmdir()  # an empty one; not every system lets it be replaced


def _prefix(path: Path) -> str:
    return f".{path.name}{PARTIAL}"


def _remove_stale(path: Path) -> None:
    for left in path.parent.glob(f"{glob.escape(_prefix(path))}*"):
        with suppress(FileNotFoundError):  # another process may be at it
            if time.time() - left.stat().st_mtime > _STALE:
                shutil.rmtree(left, ignore_errors=True)
