"""Features of the user's own: an array file with a row for each image."""

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from twofold.io.arrays import ArrayFile, open_arrays

_KEYS = ("path", "file_name", "filename", "filepath", "image_path", "file", "name")
"""Names of arrays of texts that name the rows, the first of them that is there."""

_LONGEST = 1024
"""Largest mean number of bytes of a path."""


class Features(NamedTuple):
    """Rows of features, in the order of the files or with a name for each."""

    path: Path  # the file
    rows: np.ndarray  # (n, d), (n, p, c) or (n, h, w, c)
    key: str = ""  # name of the array of names
    names: list[str] | None = None  # paths or file names of the rows
    # Texts of other arrays, which name the rows if all of them are files.
    texts: dict[str, list[str]] = {}


def read_features(
    path: str | Path, key: str | None = None, max_memory: int | None = None
) -> Features:
    """Read features, and the names of their rows if the file has any.

    Parameters
    ----------
    path : str or Path
        An array file, see ``twofold.io.read_stack``.
    key : str or None, default=None
        Name of the array of features; None takes the only stack. Names are an array of
        texts called "path", "paths", "file_name", "filename", "file", "name" or alike;
        without any, other texts are names if all of them are among the files.
    max_memory : int or None, default=None
        Bytes that the features, and as many that the names may take; None chooses.
    """
    with open_arrays(path, max_memory) as file:
        wanted = file.stack_name(key)
        names_key = _names_key(file)
        texts_keys = _possible_names(file) if names_key is None else [names_key]
        arrays = file.read([wanted, *texts_keys])
    rows = arrays.pop(wanted)
    if not 2 <= rows.ndim <= 4:
        raise ValueError(
            f"features in {path} must be a row (n, d) or a matrix (n, p, c) for each "
            f"image, got an array of shape {rows.shape}"
        )
    texts = {
        name: list(map(str, each.reshape(-1).tolist())) for name, each in arrays.items()
    }
    if names_key is None:
        same = {name: each for name, each in texts.items() if len(each) == len(rows)}
        return Features(Path(path), rows, texts=same)
    names = texts[names_key]
    if len(names) != len(rows):
        raise ValueError(
            f"{names_key} in {path} must name each of the {len(rows)} rows, got "
            f"{len(names)} names"
        )
    return Features(Path(path), rows, names_key, names)


def _names_key(file: ArrayFile) -> str | None:
    """Return the name of the array that names the rows, if there is one."""
    lower = {name.lower(): name for name in file.texts}
    keys = (ending for key in _KEYS for ending in (key, f"{key}s"))
    return next((lower[key] for key in keys if key in lower), None)


def _possible_names(file: ArrayFile) -> list[str]:
    """Return the names of arrays of texts that can be read and may be paths."""
    return [
        name
        for name, each in file.texts.items()
        if not each.refusal and each.n_bytes <= _LONGEST * math.prod(each.shape)
    ]


class Listing(NamedTuple):
    """The samples and files that rows of features belong to."""

    names: Sequence[str]  # of the samples: paths, or frames such as ``scan.tif[3]``
    files: Sequence[str]  # all files in their order, also those that were skipped
    skipped: Sequence[str]  # files and frames that could not be read
    folder: Path  # where relative paths start


def rows_of(features: Features, listing: Listing) -> np.ndarray:
    """Return the features (n, ...) of the samples of a listing."""
    if features.names is None:
        features = _named(features, listing)
    if features.names is None:
        return features.rows[_in_order(features, listing)]
    return features.rows[_by_name(features, features.names, listing)]


def _named(features: Features, listing: Listing) -> Features:
    """Return features with names if all texts of an array are among the files."""
    known = _known(listing)
    for key, texts in features.texts.items():
        if all(map(known.find, texts)):
            return features._replace(key=key, names=texts)
    return features


def _in_order(features: Features, listing: Listing) -> list[int]:
    """Return the rows of the samples, if rows are in the order of the files."""
    n, names, files = len(features.rows), listing.names, listing.files
    if n == len(names) and not listing.skipped:
        return list(range(n))
    places = {name: i for i, name in enumerate(files)}
    frame = next((name for name in names if name not in places), None)
    if frame is not None:
        raise ValueError(
            f"features in {features.path} must have a row for each of the {len(names)} "
            f"frames, such as {frame}, and no file may be skipped, got {n} rows and "
            f"{len(listing.skipped)} skipped; take --frames first, or name the rows"
        )
    if n == len(names):  # those that could not be read have no rows
        return list(range(n))
    if n == len(files):
        return [places[name] for name in names]
    read = "" if len(names) == len(files) else f", of which {len(names)} could be read"
    raise ValueError(
        f"features in {features.path} must have a row for each of the {len(files)} "
        f"files{read}, got {n} rows; add an array of paths that names the rows"
    )


def _by_name(features: Features, given: Sequence[str], listing: Listing) -> list[int]:
    """Return the rows of the samples, if rows have the names ``given``."""
    where = f"{features.key} in {features.path}"
    rows, unknown = _named_rows(where, given, listing)
    absent = [name for name in dict.fromkeys(listing.names) if name not in rows]
    if absent:
        way_out = "add rows, or leave such files out"
        if absent[0] not in listing.files:
            way_out = "name a row for each frame, or take --frames first"
        raise ValueError(
            f"{where} must name every image, and {_counted(absent)} not there; "
            f"{way_out}"
        )
    if unknown:
        raise ValueError(
            f"{where} must name files of {listing.folder}, and {_counted(unknown)} not "
            f"among the {len(listing.files)}; leave such rows out"
        )
    return [rows[name] for name in listing.names]


def _named_rows(
    where: str, given: Sequence[str], listing: Listing
) -> tuple[dict[str, int], list[str]]:
    """Return the row of each file or frame that is named, and the unknown names."""
    known = _known(listing)
    rows: dict[str, int] = {}
    unknown = []
    for i, name in enumerate(given):
        found = known.find(name)
        if not found:
            unknown.append(name)
            continue
        if len(found) > 1:
            raise ValueError(
                f"{where} must name one file by {name}, which can be {found[0]} or "
                f"{found[1]}; write paths from {listing.folder} on"
            )
        if found[0] in rows:
            raise ValueError(
                f"{where} must name each file once, got {found[0]} in the rows "
                f"{rows[found[0]]} and {i}, counted from 0; leave one of them out"
            )
        rows[found[0]] = i
    return rows, unknown


def _counted(names: list[str]) -> str:
    """Return the first of the names, and how many others there are, with a verb."""
    if len(names) == 1:
        return f"{names[0]} is"
    return f"{names[0]} and {len(names) - 1} other{'s' * (len(names) > 2)} are"


def _known(listing: Listing) -> "_Known":
    """Return all that the texts of a listing can mean."""
    names = [*listing.names, *listing.files, *listing.skipped]
    return _Known(names, listing.folder)


class _Known:
    """Files and frames by their path, by that from a folder on, and by file name."""

    def __init__(self, names: Iterable[str], folder: Path) -> None:
        self._paths: dict[str, str] = {}
        self._relative: dict[str, str] = {}
        self._files: dict[str, list[str]] = {}
        above = os.path.join(os.path.abspath(folder), "")
        for name in dict.fromkeys(names):
            path = os.path.abspath(name)
            self._paths[path] = name
            if path.startswith(above):
                self._relative[path.removeprefix(above)] = name
            self._files.setdefault(os.path.basename(path), []).append(name)

    def find(self, name: str) -> list[str]:
        """Return what a path can mean: one name, none, or several."""
        exact = self._paths.get(os.path.abspath(name))
        exact = exact or self._relative.get(os.path.normpath(name))
        if exact:
            return [exact]
        # A path that leads elsewhere is another file, whatever its name.
        return [] if os.path.dirname(name) else self._files.get(name, [])
