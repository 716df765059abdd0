"""Find the file of a data set: at a given path, in a folder, or on the web."""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pooch

from twofold.paper.datasets.catalogue import Entry
from twofold.paper.datasets.decode import decode_file

Decoded = tuple[np.ndarray, np.ndarray]
"""Images (n, h, w) and classes (n,)."""

_STALE = 24 * 3600
"""Seconds after which an unfinished download is deleted."""


def cache_folder() -> Path:
    """Return the platform's cache folder for twofold, where downloads are kept."""
    return Path(pooch.os_cache("twofold"))


def load_entry(entry: Entry, path: str | Path | None, *, download: bool) -> Decoded:
    """Load the images and classes of a data set.

    If ``path`` is given, only this path is searched. Otherwise the folder in
    TWOFOLD_DATA, the cache and the web are searched in this order.
    """
    if path is not None:
        path = Path(path).expanduser()
        if path.is_file():
            return decode_file(path, entry)
        decoded = _in_folder(path, entry)
        if decoded is None:
            names = " or ".join(entry.files)
            raise FileNotFoundError(f"{path}: is no file, and no folder with {names}")
        return decoded
    for folder in _folders():
        decoded = _in_folder(folder, entry)
        if decoded is not None:
            return decoded
    reason = "download=False"
    if download and entry.addresses:
        try:
            return fetch(entry, cache_folder())
        except OSError as error:
            reason = str(error)
    raise FileNotFoundError(_missing(entry, reason))


def find(entry: Entry) -> Path | None:
    """Return the local file of a data set, or None. Its content is not checked."""
    paths = (_file(folder, entry) for folder in _folders())
    return next((path for path in paths if path is not None), None)


def _folders() -> list[Path]:
    """Return the folders that are searched."""
    folder = os.environ.get("TWOFOLD_DATA")
    return [*([Path(folder).expanduser()] if folder else []), cache_folder()]


def _file(folder: Path, entry: Entry) -> Path | None:
    """Return the file of a data set in a folder, or None."""
    paths = (folder / name for name in entry.files)
    return next((path for path in paths if path.is_file()), None)


def fetch(entry: Entry, folder: Path, *, timeout: float = 30.0) -> Decoded:
    """Download a data set into ``folder`` from the first address that serves it.

    A file is renamed to its final name only after its content has been recognised, so
    that the folder never contains a partial or wrong file under that name. An address
    fails after ``timeout`` seconds without a response. If every address fails, an
    OSError with all reasons is raised.
    """
    failures: list[str] = []
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=timeout)
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob("partial-*"):  # of a process that was killed
        if time.time() - leftover.stat().st_mtime > _STALE:
            leftover.unlink(missing_ok=True)
    for address in entry.addresses:
        # The addresses may serve different formats, each with its own suffix.
        ending = Path(address).suffix
        name = next(n for n in entry.files if n.endswith(ending))
        # A unique name, because another process may download the same file.
        handle, partial = tempfile.mkstemp(dir=folder, prefix="partial-", suffix=ending)
        os.close(handle)
        try:
            downloader(address, partial, None)
            decoded = decode_file(Path(partial), entry)
            os.replace(partial, folder / name)
            return decoded
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0].replace(partial, "what it sent")
            failures.append(f"{address}: {reason}")
        finally:
            Path(partial).unlink(missing_ok=True)
    raise OSError("; ".join(failures))


def _in_folder(folder: Path, entry: Entry) -> Decoded | None:
    """Decode the file in a folder, or return None. Wrong content is an error."""
    path = _file(folder, entry)
    if path is None:
        return None
    try:
        return decode_file(path, entry)
    except ValueError as error:
        raise ValueError(f"{error}; remove or replace this file") from error


def way_to_get(entry: Entry) -> str:
    """Return the instructions to get a data set."""
    if entry.addresses:
        return "is downloaded when it is first asked for"
    name, folder = entry.files[0], target_folder()
    return f"ask its authors at {entry.page}; save it as {name} in {folder}"


def target_folder() -> Path:
    """Return the folder into which a user should put a file."""
    return next((folder for folder in _folders() if folder.is_dir()), cache_folder())


def _missing(entry: Entry, failure: str) -> str:
    """Return the error message for a data set that was not found."""
    folder = target_folder()
    message = f"{entry.title} is not here: "
    if not entry.addresses:
        message += (
            f"it has no open address. Ask its authors for it at {entry.page}, save "
            f"it as {entry.files[0]}"
        )
    else:
        message += (
            f"it could not be downloaded ({failure}). Get {entry.files[0]} from "
            f"{entry.page}"
        )
    return f"{message} and put it into {folder}, or give its path"
