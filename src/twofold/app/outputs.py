"""What is written of a clustering: tables, and files sorted by cluster."""

import csv
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from twofold.app.results import Assignments
from twofold.io.staging import PARTIAL, check_room

COLUMNS = (
    "path",
    "cluster",
    "confidence",
    "reconstruction_error",
    "nearest_representative",
)

SORTED = "clusters"
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
"""All that a folder of results may hold."""

_LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")
"""What systems leave in any folder that they show."""

_LONGEST_NAME = 255
"""Bytes of a file name."""


def check_folder(folder: Path, *, force: bool) -> None:
    """Raise an OSError unless results can and may be written to ``folder``.

    What is there is replaced with ``force`` alone, and if an earlier run wrote it all.
    """
    try:
        if folder.exists():
            _check_replaceable(folder, force)
        check_room(folder)
    except OSError as error:
        if error.errno is None:  # one of ours
            raise
        raise OSError(
            f"{folder} cannot be written: {error.strerror}; name another folder"
        ) from error


def _check_replaceable(folder: Path, force: bool) -> None:
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
    strange = None if empty else next(_strange(folder), None)
    if strange:
        raise FileExistsError(
            f"{folder} has {strange}: twofold did not write it so and does not replace "
            "it; name another folder with --out"
        )


def _strange(folder: Path) -> Iterator[str]:
    """What makes a folder differ from one that a run has written."""
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
    with path.open("rb") as file:
        return file.read(100)


def _sorted_names(folder: Path) -> set[str]:
    """The files that an earlier run has put into folders."""
    path = folder / "sorted.csv"
    if not path.is_file():
        return set()
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return {row.get("file") or "" for row in csv.DictReader(file)}


def check_apart(sources: Iterable[Path], folder: Path) -> None:
    """Raise a ValueError if results in ``folder`` would change what was read.

    Parameters
    ----------
    sources : iterable of Path
        Folders that are searched, or files.
    folder : Path
        What is inside it may be replaced.
    """
    for source in sources:
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


def assignment_rows(
    names: Iterable[str], found: Assignments, nearest: Iterable[str]
) -> Iterator[tuple[str, int, float, float, str]]:
    """A row of ``COLUMNS`` for each sample.

    Parameters
    ----------
    names : iterable of str
        Of the samples.
    found : Assignments
    nearest : iterable of str
        The representative that is nearest to each.
    """
    columns = found.clusters, found.confidence, found.reconstruction_error
    for name, cluster, confidence, error, near in zip(
        names, *columns, nearest, strict=True
    ):
        yield name, int(cluster), _rounded(confidence), _rounded(error), near


def search_table(
    columns: dict[str, list[Any]],
) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """The header and the rows of ``search_results_``.

    But for the seconds, so that the same seed gives the same file.
    """
    names = [name for name in columns if name != "seconds"]
    rows = zip(*(columns[name] for name in names), strict=True)
    return names, (tuple(map(_cell, row)) for row in rows)


def _cell(value: Any) -> Any:
    return _rounded(value) if isinstance(value, float) else value


def write_csv(file: TextIO, header: Sequence[str], rows: Iterable[Any]) -> None:
    """A table with one line per row, as spreadsheets and pandas read it."""
    plain = csv.writer(file, lineterminator="\n")
    quoting = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    plain.writerow(header)
    for row in rows:
        # A carriage return ends a line for readers, but not for every writer.
        odd = any("\r" in str(value) for value in row)
        (quoting if odd else plain).writerow(row)


def write_json_lines(file: TextIO, header: Sequence[str], rows: Iterable[Any]) -> None:
    """The same table, each row an object on a line of its own."""
    for row in rows:
        file.write(json.dumps(dict(zip(header, row, strict=True))) + "\n")


def open_table(path: Path) -> TextIO:
    """A file to write a table to; names that are no UTF-8 keep their bytes."""
    return path.open("w", encoding="utf-8", errors="surrogateescape", newline="")


def save_csv(path: Path, header: Sequence[str], rows: Iterable[Any]) -> None:
    """``write_csv`` to a file."""
    with open_table(path) as file:
        write_csv(file, header, rows)


def save_json(path: Path, content: dict[str, Any]) -> None:
    """Plain values, none of them NaN, which JSON does not know."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    path.write_text(text, encoding="ascii")


def save_samples(path: Path, samples: np.ndarray) -> None:
    """In single precision, unless their numbers are too large for it."""
    largest = np.min_scalar_type(float(np.abs(samples).max()))
    np.save(path, samples.astype(np.result_type(np.float32, largest)))


def sort_files(
    folder: Path, paths: Sequence[Path], clusters: np.ndarray, how: str
) -> list[tuple[str, str]]:
    """Put image files into a folder per cluster.

    Parameters
    ----------
    folder : Path
        Is made; its folders are named by the clusters' numbers.
    paths : sequence of Path
    clusters : int array of shape (n,)
    how : {"copy", "link"}
        Whether they are copied, or linked to where they are.

    Returns
    -------
    list of (str, str)
        Each file, and the name that it got, seen from beside ``folder``.
    """
    digits = len(str(clusters.max()))
    counts: dict[Path, int] = {}
    placed = []
    for path, cluster in zip(paths, clusters.tolist(), strict=True):
        inside = folder / f"{cluster:0{digits}}"
        inside.mkdir(parents=True, exist_ok=True)
        target = _free_name(inside / path.name, counts)
        if how == "copy":
            shutil.copy2(path, target)
        else:
            os.symlink(path.absolute(), target)
        placed.append((str(path), target.relative_to(folder.parent).as_posix()))
    return placed


def _free_name(path: Path, counts: dict[Path, int]) -> Path:
    """``path``, or with -2, -3, ... before its ending where that is taken.

    The disk is asked, since to some A.png and a.png are the same; ``counts`` are the
    numbers that were given, so that thousands of one name do not take for ever.
    """
    name, count = path, counts.get(path, 1)
    while os.path.lexists(name):
        count += 1
        ending = f"-{count}{path.suffix}"
        room = _LONGEST_NAME - len(os.fsencode(ending))
        stem = os.fsencode(path.stem)[:room].decode("utf-8", "ignore")
        name = path.with_name(stem + ending)
    counts[path] = count
    return name


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
