"""Previews kept in a folder, so that a search that was stopped can go on."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import twofold
from twofold.core.arrays import to_numpy
from twofold.estimators.problem import Problem
from twofold.io.arrays import read_arrays
from twofold.io.staging import check_room, staged_file

Parts = tuple[csr_array, np.ndarray, float]
"""Adjacency (n, n), labels (n,) and chance modularity of a preview."""

_FORMAT = 3
"""Version of the files; raise it when previews of the same samples change."""


def cache_defect(cache: str | Path) -> str:
    """Return why previews cannot be kept in the folder ``cache``, or an empty text.

    The folder is created if it does not exist.
    """
    folder = Path(cache)
    if not str(cache):
        return "must be None or the name of a folder, got an empty name"
    if "\0" in str(cache):
        return f"must be None or the name of a folder, got {str(cache)!r}"
    try:
        if os.path.lexists(folder) and not folder.is_dir():
            what = "is a file" if folder.exists() else "is a link that leads nowhere"
            return f"must be a folder, got {folder}, which {what}; name another"
        folder.mkdir(parents=True, exist_ok=True)
        check_room(folder / "preview")
    except OSError as error:
        return (
            f"must be a folder that can be written to, got {folder}: {error.strerror}; "
            "name another"
        )
    return ""


class PreviewCache:
    """A folder with one file for each preview.

    The name of a file is a digest of all inputs of its preview.
    """

    def __init__(self, folder: str | Path, problem: Problem) -> None:
        self.folder = Path(folder)
        samples, _ = problem.weighted_samples()
        self._digest = hashlib.sha256(np.ascontiguousarray(to_numpy(samples)).data)
        layout = samples.shape, str(samples.dtype)
        facts = _FORMAT, twofold.__version__, *layout, problem.options.neighbors
        self._digest.update(repr((*facts, problem.seeds[0])).encode())

    def read(self, candidate: Any, k: int) -> Parts | None:
        """Read a preview; return None if there is no file, or the file is damaged."""
        path = self._path(candidate, k)
        if not path.is_file():
            return None
        try:
            arrays = read_arrays(path)
            labels, chance = arrays["labels"], float(arrays["chance"])
            rows = arrays["data"], arrays["indices"], arrays["indptr"]
            adjacency = csr_array(rows, shape=(len(labels), len(labels)))
            adjacency.check_format()
            contiguous = np.unique(labels).tolist() == list(range(labels.max() + 1))
            finite = np.isfinite(chance) and np.isfinite(adjacency.data).all()
            if not (contiguous and finite and labels.dtype.kind == "i"):
                return None
            return adjacency, labels, chance
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, candidate: Any, k: int, parts: Parts) -> None:
        """Write a preview; an atomic rename keeps partial files from readers."""
        adjacency, labels, chance = parts
        names = "data", "indices", "indptr"
        rows = {name: getattr(adjacency, name) for name in names}
        try:
            with staged_file(self._path(candidate, k)) as partial:
                np.savez(partial, **rows, labels=labels, chance=chance)
        except OSError as error:
            raise OSError(
                f"cache {self.folder} could not be written to: {error.strerror}; make "
                "room or name another folder"
            ) from error

    def _path(self, candidate: Any, k: int) -> Path:
        digest = self._digest.copy()
        digest.update(repr((candidate, k)).encode())
        return self.folder / f"preview-{digest.hexdigest()[:32]}.npz"
