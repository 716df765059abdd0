"""Write files and folders so that they appear only when they are complete.

A process that is killed leaves the earlier file or folder or the new one, each whole,
and at most a hidden folder beside it. Where the system cannot exchange two folders, the
earlier one may be in that hidden folder, from which ``bring_back`` returns it.
"""

import errno
import glob
import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from twofold.io.exchange import exchange

PARTIAL = ".partial-"
"""Part of the hidden names of incomplete files and folders."""

_OLD = "old-"
"""Beginning of the names, in a staging folder, of folders that were moved aside."""

_STALE = 24 * 3600
"""Age in seconds from which the staging folder of a killed process is removed."""

_ATTEMPTS = 10
"""Number of times that a folder which others keep putting back is moved aside."""


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to, which is renamed to ``path`` at the end.

    If ``path`` is a link, the link is replaced, not the file to which it points.
    """
    if path.exists() and not path.is_file():
        raise FileExistsError(f"{path} is no plain file, and is not replaced by one")
    with _staging_folder(path) as partial:
        yield partial / path.name
        _sync(partial / path.name)  # the content must be on disk before the rename
        os.replace(partial / path.name, path)
        sync_folder(path.parent)


@contextmanager
def staged_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """Yield a folder to write into, which is renamed to ``path`` at the end.

    With ``replace`` an existing folder is replaced. If ``path`` is a link, the link
    stays, and the folder to which it points is replaced.
    """
    path = path.resolve()
    if path.is_file():
        raise FileExistsError(f"{path} is a file, and is not replaced by a folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    bring_back(path)
    with _staging_folder(path) as partial:
        new = partial / "new"
        new.mkdir()
        yield new
        sync_tree(new)
        (_replace if replace else _put)(new, path)
        sync_folder(path.parent)  # before the earlier folder is removed


def bring_back(path: Path) -> None:
    """Return to ``path`` the folder that a killed process has moved aside, if any.

    Nothing happens if ``path`` exists.
    """
    path = Path(os.path.realpath(path))
    if os.path.exists(path):
        return
    aside: list[tuple[int, Path]] = []
    for partial in _staging_folders(path):
        with suppress(FileNotFoundError):  # another process may remove it
            # Moving a folder there has changed the time of the staging folder.
            time_ns = partial.stat().st_mtime_ns
            aside += [(time_ns, old) for old in _moved_aside(partial)]
    if aside:
        with suppress(OSError):  # another process may have been faster
            os.rename(max(aside)[1], path)


def check_room(path: Path) -> None:
    """Raise the OSError that ``staged_folder(path)`` would raise."""
    above = path.resolve().parent
    while not above.exists():
        above = above.parent
    os.rmdir(tempfile.mkdtemp(dir=above, prefix=_prefix(path)))


def _put(new: Path, path: Path) -> None:
    """Rename a folder to a path where there is nothing, or an empty folder."""
    try:
        os.rename(new, path)
    except FileExistsError:  # not every system renames onto an empty folder
        path.rmdir()
        os.rename(new, path)


def _replace(new: Path, path: Path) -> None:
    """Put a folder in the place of another one, which may be missing.

    Without an exchange, ``path`` is missing for a moment. Another process may fill the
    gap, with ``bring_back`` or with a folder of its own; then that one is replaced.
    """
    for attempt in itertools.count(1):
        if exchange(new, path):
            return
        with suppress(FileNotFoundError):
            os.rename(path, new.with_name(f"{_OLD}{attempt:02}"))
        try:
            return _put(new, path)
        except OSError as error:
            occupied = error.errno in (errno.EEXIST, errno.ENOTEMPTY)
            if not occupied or attempt == _ATTEMPTS:
                raise


@contextmanager
def _staging_folder(path: Path) -> Iterator[Path]:
    """Yield a hidden folder beside ``path``, which is removed at the end."""
    for stale in _staging_folders(path):
        with suppress(FileNotFoundError):  # another process may remove it too
            if time.time() - stale.stat().st_mtime > _STALE:
                _discard(stale, path)
    # On the file system of ``path``, so that the rename is atomic.
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=_prefix(path)))
    try:
        yield partial
    finally:
        _discard(partial, path)


def _discard(partial: Path, path: Path) -> None:
    """Remove a staging folder, unless the only copy of ``path`` is in it."""
    bring_back(path)
    with suppress(OSError):
        for old in _moved_aside(partial):
            if not os.path.lexists(path):
                return
            # A folder that is half removed must never be brought back.
            os.rename(old, old.with_name(f"replaced-{old.name}"))
        shutil.rmtree(partial, ignore_errors=True)


def _staging_folders(path: Path) -> Iterator[Path]:
    """Yield the hidden folders beside ``path``, also those of other processes."""
    pattern = f"{glob.escape(_prefix(path))}*"
    return map(path.parent.joinpath, glob.glob(pattern, root_dir=path.parent))


def _moved_aside(partial: Path) -> list[Path]:
    """Return the whole folders in a staging folder, the last one last."""
    # A staged file may have such a name, too; it may be incomplete.
    return sorted(old for old in partial.glob(f"{_OLD}*") if old.is_dir())


def _prefix(path: Path) -> str:
    return f".{path.name}{PARTIAL}"


def sync_tree(folder: Path) -> None:
    """Wait until a folder and all that is in it are on disk."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if not os.path.islink(os.path.join(parent, name)):
                _sync(Path(parent, name))
        sync_folder(Path(parent))


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where the system can do that."""
    with suppress(OSError):
        _sync(folder)


def _sync(path: Path) -> None:
    """Wait until a file or a folder is on disk."""
    # Windows needs the right to write; elsewhere a read-only copy can be flushed, too.
    flags = os.O_RDWR if os.name == "nt" else os.O_RDONLY
    try:
        descriptor = os.open(path, flags)
    except PermissionError:  # a copy has the permissions of its image
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
