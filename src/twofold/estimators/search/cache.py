"""Previews kept in a folder, so that a search that was stopped can go on."""

import hashlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csr_array

import twofold
from twofold.core.arrays import to_numpy
from twofold.estimators.problem import Problem
from twofold.io.staging import staged_file

Parts = tuple[csr_array, np.ndarray, float]
"""Adjacency, labels and chance of a preview."""


_FORMAT = 1
"""Version of the files, raised when previews of the same samples change."""


class PreviewCache:
    """A folder with one file for each preview, named by all that it depends on.

    Parameters
    ----------
    folder : str or Path
        Created if it does not exist.
    problem : Problem
    """

    def __init__(self, folder: str | Path, problem: Problem) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(np.ascontiguousarray(to_numpy(problem.samples)).data)
        facts = (
            _FORMAT,
            twofold.__version__,
            problem.samples.shape,
            str(problem.samples.dtype),
            problem.options.neighbors,
            problem.seeds[0],
        )
        digest.update(repr(facts).encode())
        self._digest = digest

    def read(self, candidate: Any, k: int) -> Parts | None:
        """Read a preview; None if there is no file, or the file is damaged.

        Arrays are read as numbers, and nothing is unpickled.
        """
        path = self._path(candidate, k)
        if not path.is_file():
            return None
        try:
            with path.open("rb") as opened, np.load(opened) as file:
                arrays = {name: file[name] for name in file.files}
            labels, chance = arrays["labels"], float(arrays["chance"])
            rows = arrays["data"], arrays["indices"], arrays["indptr"]
            adjacency = csr_array(rows, shape=(len(labels), len(labels)))
            adjacency.check_format()
            of_clusters = np.unique(labels).tolist() == list(range(labels.max() + 1))
            finite = np.isfinite(chance) and np.isfinite(adjacency.data).all()
            if not (of_clusters and finite and labels.dtype.kind == "i"):
                return None
            return adjacency, labels, chance
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):
            return None

    def write(
        self,
        candidate: Any,
        k: int,
        adjacency: csr_array,
        labels: np.ndarray,
        chance: float,
    ) -> None:
        """Write a preview."""
        with staged_file(self._path(candidate, k)) as partial:
            np.savez(
                partial,
                data=adjacency.data,
                indices=adjacency.indices,
                indptr=adjacency.indptr,
                labels=labels,
                chance=chance,
            )

    def _path(self, candidate: Any, k: int) -> Path:
        digest = self._digest.copy()
        digest.update(repr((candidate, k)).encode())
        return self.folder / f"preview-{digest.hexdigest()[:32]}.npz"
