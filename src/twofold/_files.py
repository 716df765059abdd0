"""Files and folders that appear only when they are whole."""

import glob
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_STALE = 24 * 3600
"""Seconds after which what a killed process left behind is removed."""


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the name ``path`` at the end of the context.

    A link stays, and what it points to is written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is no plain file, and is not replaced by one")
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=_prefix(path)))
    try:
        yield partial / path.name
        os.replace(partial / path.name, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def staged_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """A folder to write into, which takes the name ``path`` at the end of the context.

    With ``replace`` it takes the place of a folder that is there, which is removed. A
    link stays, and what it points to is written.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(path)
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=_prefix(path)))
    new, old = partial / "new", partial / "old"
    try:
        new.mkdir()
        yield new
        if replace and path.exists():
            os.rename(path, old)
        os.rename(new, path)  # takes the place of an empty folder only
    except BaseException:
        if old.exists() and not path.exists():
            os.rename(old, path)
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _prefix(path: Path) -> str:
    return f".{path.name}.partial-"


def _remove_stale(path: Path) -> None:
    for left in path.parent.glob(f"{glob.escape(_prefix(path))}*"):
        with suppress(FileNotFoundError):  # another process may be at it
            kept = (left / "old").exists()  # an earlier result, for the user to find
            if not kept and time.time() - left.stat().st_mtime > _STALE:
                shutil.rmtree(left, ignore_errors=True)
