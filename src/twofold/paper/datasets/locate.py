"""Find the file of a data set: where the user says, in the cache, or by download."""

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

_STALE = 24 * 3600
"""Seconds after which a download that has not ended never will."""


def cache_folder() -> Path:
    """Where downloads are kept: the platform's cache folder for twofold."""
    return Path(pooch.os_cache("twofold"))


def load_entry(entry: Entry, path: str | Path | None, *, download: bool) -> Decoded:
    """The images and classes of a data set.

    Looked for at ``path`` if it is given, and nowhere else; otherwise in the folder
    named by TWOFOLD_DATA, in the cache, and on the web.
    """
    if path is not None:
        path = Path(path).expanduser()
        if path.is_file():
            return decode_file(path, entry)
        found = _in_folder(path, entry)
        if found is None:
            names = " or ".join(entry.files)
            raise FileNotFoundError(f"{path}: is no file, and no folder with {names}")
        return found
    for folder in _folders():
        found = _in_folder(folder, entry)
        if found is not None:
            return found
    reason = "download=False"
    if download and entry.addresses:
        try:
            return fetch(entry, cache_folder())
        except OSError as error:
            reason = str(error)
    raise FileNotFoundError(_missing(entry, reason))


def find(entry: Entry) -> Path | None:
    """The file that ``load_entry`` finds without a download, its content unseen."""
    found = (_file(folder, entry) for folder in _folders())
    return next((path for path in found if path is not None), None)


def _folders() -> list[Path]:
    named = os.environ.get("TWOFOLD_DATA")
    return [*([Path(named).expanduser()] if named else []), cache_folder()]


def _file(folder: Path, entry: Entry) -> Path | None:
    paths = (folder / name for name in entry.files)
    return next((path for path in paths if path.is_file()), None)


def fetch(entry: Entry, folder: Path, *, timeout: float = 30.0) -> Decoded:
    """Download a data set into ``folder`` from the first address that serves it.

    A file gets its name only when its content has been recognised, so that nothing
    half-written or wrong is ever found there. An OSError says why every address
    failed.

    Parameters
    ----------
    timeout : float
        Seconds without a sign of the server after which it is given up.
    """
    failures: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("partial-*"):  # by a process that was killed
        if time.time() - left.stat().st_mtime > _STALE:
            left.unlink(missing_ok=True)
    for address in entry.addresses:
        ending = Path(address).suffix
        name = next(n for n in entry.files if n.endswith(ending))
        handle, partial = tempfile.mkstemp(dir=folder, prefix="partial-", suffix=ending)
        os.close(handle)
        try:
            _download(address, partial, timeout)
            decoded = decode_file(Path(partial), entry)
            os.replace(partial, folder / name)
            return decoded
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0].replace(partial, "what it sent")
            failures.append(f"{address}: {reason}")
        finally:
            Path(partial).unlink(missing_ok=True)
    raise OSError("; ".join(failures))


def _download(address: str, target: str, timeout: float) -> None:
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=timeout)
    downloader(address, target, None)


def _in_folder(folder: Path, entry: Entry) -> Decoded | None:
    """Decode the first file of a known name; a wrong one is an error, not skipped."""
    path = _file(folder, entry)
    if path is None:
        return None
    try:
        return decode_file(path, entry)
    except ValueError as error:
        raise ValueError(f"{error}; remove or replace this file") from error


def way_to_get(entry: Entry) -> str:
    """What to do for a data set that is not here."""
    if entry.addresses:
        return "is downloaded when it is first asked for"
    name, folder = entry.files[0], target_folder()
    return f"ask its authors at {entry.page}; save it as {name} in {folder}"


def target_folder() -> Path:
    """Where a file that the user has got by other means is best put."""
    return next((folder for folder in _folders() if folder.is_dir()), cache_folder())


def _missing(entry: Entry, failure: str) -> str:
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
