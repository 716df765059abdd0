"""A fitted TSNMF in two files, nothing of which is ever unpickled.

``model.npz`` holds all numbers that ``predict`` computes with, and ``model.json`` the
parameters, the sizes of the arrays and the digest of the other file. A digest finds
accidents but no ill will: all that is read is checked as if it were a stranger's.
"""

import hashlib
import json
import os
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from io import BufferedReader
from numbers import Real
from pathlib import Path
from typing import IO, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import twofold
from twofold.estimators.model_state import (
    arrays_of,
    check_parameters,
    facts_of,
    fitted,
    parameters_of,
    read_facts,
    read_parameters,
)
from twofold.estimators.model_table import (
    Fields,
    check_fields,
    check_layout,
    check_values,
    table,
)
from twofold.estimators.safe_npz import check_size, read_npz
from twofold.estimators.tsnmf import TSNMF
from twofold.io.safe_json import read_json
from twofold.io.staging import staged_file

__all__ = ["load_model", "save_model"]

_ARRAYS, _RECORD = "model.npz", "model.json"

_FORMAT = "twofold model"

_VERSIONS = (1, 2, 3)
"""The second has completions, the third labels read off the graph and graphs of shares.
The last is written, and all are read.
"""

_FIELDS: Fields = {
    "format": (repr(_FORMAT), lambda value: value == _FORMAT),
    "version": ("1, 2 or 3", lambda value: type(value) is int and value in _VERSIONS),
    "twofold": ("a string", lambda value: isinstance(value, str)),
    "sha256": ("a string", lambda value: isinstance(value, str)),
    "parameters": ("an object", lambda value: isinstance(value, dict)),
    "fit": ("an object", lambda value: isinstance(value, dict)),
    "about": ("an object", lambda value: isinstance(value, dict)),
}

_AGAIN = "make it again with twofold cluster or save_model"

_LARGEST_RECORD = 64 * 2**20
"""Bytes of a model.json, which is parsed as a whole."""


class _NewerError(ValueError):
    """Of a file that is in order, but not for this version."""


def save_model(
    model: TSNMF, folder: str | Path, *, about: dict[str, Any] | None = None
) -> tuple[Path, Path]:
    """Write a fitted model to ``model.npz`` and ``model.json``.

    Both are written under other names first, so that neither is ever there in part.
    They do not get their names in one step, though: two processes must not save to
    one folder at the same time, and one that is killed between the two leaves files
    that ``load_model`` refuses. PyTorch's tensors are written as NumPy's arrays.

    Parameters
    ----------
    model : TSNMF
        A fitted one. A ``random_state`` that is no integer is written as None.
    folder : str or Path
        Where the files go; it must exist.
    about : dict or None, default=None
        Whatever else is to be known of the model, as far as JSON can hold it: tuples
        come back as lists, and all keys as strings.

    Returns
    -------
    arrays, record : Path
        ``model.npz`` and ``model.json``.
    """
    check_is_fitted(model)
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: there is no such folder; make it first")
    with _speaking_of("model", "set its parameters right and fit it again"):
        check_parameters(model)
        facts, arrays = facts_of(model), arrays_of(model)
        wanted = table(facts, with_init="init" in arrays)
        for name, array in arrays.items():
            check_layout(name, wanted[name], array.shape, array.dtype)
        check_values(arrays, wanted)
        record = {
            "version": max(_VERSIONS),
            "parameters": parameters_of(model),
            "fit": asdict(facts),
        }
        _to_json(record)
    record["about"] = {} if about is None else about
    with _speaking_of("about", "give a smaller dict of what JSON can hold"):
        if not isinstance(record["about"], dict):
            raise ValueError(f"must be a dict, got {reprlib.repr(about)}")
        _to_json(record)
    return _write(folder, arrays, record)


def load_model(path: str | Path) -> tuple[TSNMF, dict[str, Any]]:
    """Read a model that ``save_model`` has written.

    Nothing in the files is trusted: whatever is wrong with them is a ValueError.

    Parameters
    ----------
    path : str or Path
        The folder, or either of the two files in it.

    Returns
    -------
    model : TSNMF
        With the parameters and fitted attributes of the one that was saved, and the
        very results of its ``predict``, ``transform``, ``impute`` and
        ``inverse_transform``. Its arrays are NumPy's, and lists among its parameters
        have become tuples.
    about : dict
        As it was given, or empty.
    """
    folder = _folder(Path(path))
    with _open(folder / _RECORD) as file, _speaking_of(folder / _RECORD):
        record = _read_record(file)
        parameters = read_parameters(record["parameters"])
        facts = read_facts(record["fit"])
    with _open(folder / _ARRAYS) as file, _speaking_of(folder / _ARRAYS):
        wanted = table(facts, with_init=parameters["init"] is None)
        check_size(file, wanted)  # the digest takes reading all of it
        if hashlib.file_digest(file, "sha256").hexdigest() != record["sha256"]:
            raise ValueError(
                f"must be the file that was written with {_RECORD}, got another or a "
                "damaged one (its SHA-256 differs)"
            )
        arrays = read_npz(file, wanted)
        check_values(arrays, wanted)
    return fitted(parameters, facts, arrays), record["about"]


@contextmanager
def _speaking_of(what: str | Path, way_out: str = _AGAIN) -> Iterator[None]:
    """Let any error be a ValueError of one line about ``what``."""
    try:
        yield
    except (MemoryError, _NewerError):
        raise
    except Exception as error:  # hostile files raise anything
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        reason = reason if len(reason) <= 300 else f"{reason[:300]}..."
        raise ValueError(f"{what}: {reason}; {way_out}") from error


# Writing


def _to_json(value: Any) -> bytes:
    text = json.dumps(value, indent=1, allow_nan=False, default=_plain).encode()
    if len(text) > _LARGEST_RECORD:
        raise ValueError(f"takes {len(text):,} bytes of {_LARGEST_RECORD:,} as JSON")
    return text


def _plain(number: Any) -> Any:
    """What JSON has for a number that it does not know."""
    if isinstance(number, np.bool_ | np.integer):
        return number.item()
    if isinstance(number, Real):
        return float(number)
    raise TypeError(f"{type(number).__name__} is nothing that JSON can hold")


def _write(
    folder: Path, arrays: dict[str, np.ndarray], record: dict[str, Any]
) -> tuple[Path, Path]:
    """Both files, model.json last, so that it never speaks of what is not there."""
    paths = folder / _ARRAYS, folder / _RECORD
    head = {
        "format": _FORMAT,
        "version": record["version"],
        "twofold": twofold.__version__,
    }
    # The inner one gets its name first.
    with staged_file(paths[1]) as new_record, staged_file(paths[0]) as new_arrays:
        with new_arrays.open("wb+") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
            file.seek(0)
            head["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
        with new_record.open("wb") as file:
            file.write(_to_json(head | record))
            file.flush()
            os.fsync(file.fileno())  # a full disk shows before either has its name
    return paths


# Reading


def _folder(path: Path) -> Path:
    if path.is_dir():
        return path
    if path.name in (_ARRAYS, _RECORD):
        return path.parent
    problem = f"{path}: expected a folder with {_RECORD} and {_ARRAYS}, or one of them"
    if path.exists():
        raise ValueError(f"{problem}, got another file; give the folder of the model")
    raise FileNotFoundError(f"{problem}, but there is nothing; {_AGAIN}")


def _open(path: Path) -> BufferedReader:
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: there is no such file; name a folder that twofold cluster or "
            "save_model wrote"
        )
    if not path.is_file():  # a pipe would be waited for
        raise ValueError(f"{path}: is no regular file; {_AGAIN}")
    return path.open("rb")


def _read_record(file: IO[bytes]) -> dict[str, Any]:
    """All that model.json holds, parameters and facts yet unchecked."""
    record = read_json(file, _LARGEST_RECORD)
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise ValueError(f"must be a {_FORMAT}, got JSON of another kind")
    version = record.get("version")
    if isinstance(version, int) and version > max(_VERSIONS):
        raise _NewerError(
            f"{file.name}: was written by a newer twofold, "
            f"{reprlib.repr(record.get('twofold'))}, and this is twofold "
            f"{twofold.__version__}; upgrade twofold"
        )
    check_fields(record, _FIELDS, "it")
    return record
