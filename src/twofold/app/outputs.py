"""Write a clustering: tables, and image files sorted by cluster."""

import csv
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from twofold.app.results import Assignments
from twofold.estimators.outliers import OUTLIER
from twofold.io.cells import from_cell, to_cell
from twofold.io.staging import PARTIAL, bring_back, check_room

OUTLIERS = "outliers"
"""Folder of sorted files that belong to no cluster."""

COLUMNS = (
    "path",
    "cluster",
    "confidence",
    "reconstruction_error",
    "nearest_representative",
)
"""Columns of assignments.csv."""

SORTED = "clusters"
"""Folder of the image files that are sorted by cluster."""

FILES = (
    "assignments.csv",
    "duplicates.csv",
    "skipped.csv",
    "sorted.csv",
    "model.safetensors",
    "completed.npy",
    "search.csv",
    "report.json",
    "report.html",
    SORTED,
)
"""Names of all files and folders that a folder of results can contain."""

_LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")
"""Files that file managers leave in folders."""

_LONGEST_NAME = 255
"""Maximum length of a file name in bytes."""


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise an OSError unless results can and may be written to ``folder``.

    An existing folder is replaced only with ``force``, and only if an earlier run wrote
    everything in it. A folder that a killed run has hidden is brought back first.
    """
    try:
        bring_back(folder)
        if folder.exists():
            _check_replaceable(folder, force)
        check_room(folder)
    except OSError as error:
        if error.errno is None:  # raised here, with a complete message
            raise
        raise OSError(
            f"{folder} cannot be written: {error.strerror}; name another folder"
        ) from error


def _check_replaceable(folder: Path, force: bool) -> None:
    """Raise a FileExistsError unless the existing ``folder`` may be replaced."""
    if not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; name another folder with --out")
    if Path.cwd().is_relative_to(folder.resolve()):
        raise FileExistsError(
            f"{folder} is the folder that you are in; name another with --out"
        )
    empty = not any(folder.iterdir())
    if not empty and not force:
        raise FileExistsError(
            f"{folder} is there already and not empty; name another folder with --out, "
            "or replace an earlier run with --force"
        )
    foreign = None if empty else next(_foreign(folder), None)
    if foreign:
        raise FileExistsError(
            f"{folder} has {foreign}: twofold did not write it so and does not replace "
            "it; name another folder with --out"
        )


def _foreign(folder: Path) -> Iterator[str]:
    """Yield the differences between a folder and a folder that a run has written."""
    model = folder / "model.safetensors"
    if not model.is_file() or b'\\"twofold model\\"' not in _head(model):
        yield "no model.safetensors of twofold"
    for path in sorted(folder.iterdir()):
        if path.name not in (*FILES, *_LITTER) and PARTIAL not in path.name:
            yield path.name
    listed = _sorted_names(folder)
    for path in sorted((folder / SORTED).rglob("*")):
        name = path.relative_to(folder).as_posix()
        is_file = path.is_symlink() or not path.is_dir()
        if is_file and name not in listed and path.name not in _LITTER:
            yield name


def _head(path: Path) -> bytes:
    """Return the first bytes of a file."""
    with path.open("rb") as file:
        return file.read(100)


def _sorted_names(folder: Path) -> set[str]:
    """Return the sorted image files that an earlier run has listed."""
    path = folder / "sorted.csv"
    if not path.is_file():
        return set()
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return {from_cell(row.get("file") or "") for row in csv.DictReader(file)}


def check_apart(sources: Iterable[Path], folder: Path) -> None:
    """Raise a ValueError if writing results to ``folder`` would change the input.

    ``sources`` are the input files, or the folders that are searched.
    """
    for source in sources:
        # A link in the folder would be removed with it, wherever the link points.
        for path in (source.parent.resolve() / source.name, source.resolve()):
            if path.is_relative_to(folder.resolve()):
                raise ValueError(
                    f"--out {folder} must not hold the input, and {source} is in it; "
                    "name another folder"
                )
        if source.is_dir() and folder.resolve().is_relative_to(source.resolve()):
            raise ValueError(
                f"--out {folder} must be outside of the input {source}, which is left "
                "as it is; name another folder"
            )


def labels_of(assignments: Assignments) -> np.ndarray:
    """Return the cluster of each sample, -1 for outliers: (n,)."""
    return np.where(assignments.outlier, OUTLIER, assignments.clusters)


def assignment_rows(
    names: Iterable[str], assignments: Assignments, nearest: Iterable[str]
) -> Iterator[tuple[str, int, float, float, str]]:
    """Return rows of ``COLUMNS``; ``nearest`` are the names of representatives."""
    confidence = map(_rounded, assignments.confidence)
    errors = map(_rounded, assignments.reconstruction_error)
    clusters = map(int, labels_of(assignments))
    return zip(names, clusters, confidence, errors, nearest, strict=True)


def search_table(
    columns: dict[str, list[Any]],
) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return the header and the rows of ``search_results_``.

    Run times are left out, so that the same seed gives the same file.
    """
    names = [name for name in columns if name != "seconds"]
    cells = (
        [_rounded(value) if isinstance(value, float) else value for value in columns[n]]
        for n in names
    )
    return names, zip(*cells, strict=True)


def write_csv(file: TextIO, header: Sequence[str], rows: Iterable[Any]) -> None:
    """Write a table as CSV that spreadsheets and pandas read.

    No text is a formula in a spreadsheet, see ``to_cell``.
    """
    plain = csv.writer(file, lineterminator="\n")
    quoting = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    plain.writerow(header)
    for row in rows:
        cells = [to_cell(cell) if isinstance(cell, str) else cell for cell in row]
        # Readers take a carriage return for the end of a line, and spreadsheets of some
        # countries a semicolon or a tab for the end of a cell, unless they are quoted.
        quoted = any(mark in str(cell) for cell in cells for mark in "\r;\t")
        (quoting if quoted else plain).writerow(cells)


def write_json_lines(file: TextIO, header: Sequence[str], rows: Iterable[Any]) -> None:
    """Write a table as JSON lines, one object per row."""
    for row in rows:
        file.write(json.dumps(dict(zip(header, row, strict=True))) + "\n")


def open_table(path: Path) -> TextIO:
    """Open a file for a table; names that are not UTF-8 keep their bytes."""
    return path.open("w", encoding="utf-8", errors="surrogateescape", newline="")


def save_csv(path: Path, header: Sequence[str], rows: Iterable[Any]) -> None:
    """Write a table to a CSV file."""
    with open_table(path) as file:
        write_csv(file, header, rows)


def save_samples(path: Path, samples: np.ndarray) -> None:
    """Save samples in single precision, unless their values are too large for it."""
    # The smallest type that holds the largest value without overflow.
    largest = np.min_scalar_type(float(np.abs(samples).max()))
    np.save(path, samples.astype(np.result_type(np.float32, largest)))


def sort_files(
    folder: Path,
    paths: Sequence[Path],
    clusters: np.ndarray,
    how: str,
    names: Sequence[str] | None = None,
) -> list[tuple[str, str]]:
    """Copy image files to a folder per cluster, or link to them.

    The folders are in ``folder``, named by the numbers of the clusters, and "outliers"
    for those of -1. ``how`` is
    "copy" or "link". ``names`` are those of the samples, if they differ from the paths:
    a file with several frames is in the folder of every cluster that has one of them,
    once. Return the name and the new path of each sample; new paths are relative to the
    parent of ``folder``.
    """
    digits = len(str(clusters.max()))
    counts: dict[Path, int] = {}
    placed: dict[tuple[Path, int], str] = {}  # files with several frames
    sorted_paths = []
    names = list(map(str, paths)) if names is None else names
    for path, name, cluster in zip(paths, names, clusters.tolist(), strict=True):
        if (path, cluster) in placed and name != str(path):
            sorted_paths.append((name, placed[path, cluster]))
            continue
        inside = folder / (f"{cluster:0{digits}}" if cluster >= 0 else OUTLIERS)
        inside.mkdir(parents=True, exist_ok=True)
        target = _free_name(inside / path.name, counts)
        if how == "copy":
            shutil.copy2(path, target)
        else:
            os.symlink(path.absolute(), target)
        placed[path, cluster] = target.relative_to(folder.parent).as_posix()
        sorted_paths.append((name, placed[path, cluster]))
    return sorted_paths


def _free_name(path: Path, counts: dict[Path, int]) -> Path:
    """Return ``path``, with -2, -3, ... before its suffix if the name exists.

    The file system is queried, because A.png and a.png are the same file on some
    systems. ``counts`` has the last number used for each name, so that thousands of
    equal names do not take quadratic time.
    """
    name, count = path, counts.get(path, 1)
    while os.path.lexists(name):
        count += 1
        ending = f"-{count}{path.suffix}"
        room = _LONGEST_NAME - len(os.fsencode(ending))
        # Cut the encoded name: systems limit bytes, not characters.
        stem = os.fsencode(path.stem)[:room].decode("utf-8", "ignore")
        name = path.with_name(stem + ending)
    counts[path] = count
    return name


def _rounded(value: float) -> float:
    """Return a value with six significant digits."""
    return float(f"{value:.6g}")
