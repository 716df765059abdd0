"""Write files and folders so that they appear only when they are complete."""

import glob
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PARTIAL = ".partial-"
"""Part of the hidden names of incomplete files and folders."""

_STALE = 24 * 3600
"""Age in seconds from which the staging folder of a killed process is removed."""


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which is renamed to ``path`` at the end.

    If ``path`` is a link, the link is replaced, not the file to which it points.
    """
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is no plain file, and is not replaced by one")
    with _staging_folder(path) as partial:
        yield partial / path.name
        with (partial / path.name).open("rb+") as file:
            os.fsync(file.fileno())  # the content must be on disk before the rename
        os.replace(partial / path.name, path)


@contextmanager
def staged_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a folder to write into, which is renamed to ``path`` at the end.

    With ``replace`` an existing folder is replaced. If ``path`` is a link, the link
    stays, and the folder to which it points is replaced.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    with _staging_folder(path) as partial:
        new, old = partial / "new", partial / "old"
        new.mkdir()
        yield new
        try:
            if path.exists() and replace:
                os.rename(path, old)
            elif path.exists():
                path.rmdir()  # not every system can rename onto an empty folder
            os.rename(new, path)
        except BaseException:  # also KeyboardInterrupt: restore the old folder
            if old.exists() and not path.exists():
                os.rename(old, path)
            raise


def check_room(path: Path) -> None:
    """Raise the OSError that ``staged_folder(path)`` would raise."""
    above = path.resolve().parent
    while not above.exists():
        above = above.parent
    os.rmdir(tempfile.mkdtemp(dir=above, prefix=_prefix(path)))


@contextmanager
def _staging_folder(path: Path) -> Iterator[Path]:
    """Yield a hidden folder beside ``path``, which is removed at the end."""
    for stale in path.parent.glob(f"{glob.escape(_prefix(path))}*"):
        with suppress(FileNotFoundError):  # another process may remove it too
            if time.time() - stale.stat().st_mtime > _STALE:
                shutil.rmtree(stale, ignore_errors=True)
    # On the file system of ``path``, so that the rename is atomic.
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=_prefix(path)))
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _prefix(path: Path) -> str:
    return f".{path.name}{PARTIAL}"
