"""Looks kept in a folder, so that a search that was stopped goes on where it was."""

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import twofold
from twofold._files import staged_file
from twofold._problem import Problem
from twofold.core.arrays import to_numpy

Parts = tuple[csr_array, np.ndarray, float]
"""The weights, the labels and the chance of a look."""


class LookFiles:
    """One file for each look, named by all that it depends on.

    Parameters
    ----------
    folder : str or Path
        Made where it is not there.
    problem : Problem
    """

    def __init__(self, folder: str | Path, problem: Problem) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(np.ascontiguousarray(to_numpy(problem.samples)).data)
        digest.update(repr((twofold.__version__, problem.seeds[0])).encode())
        self._digest = digest

    def read(self, setting: Any, k: int) -> Parts | None:
        """What is known of a look; None where that is nothing, or the file is damaged.

        Arrays are read as numbers, and nothing is unpickled.
        """
        path = self._path(setting, k)
        if not path.is_file():
            return None
        try:
            with path.open("rb") as opened, np.load(opened) as file:
                arrays = {name: file[name] for name in file.files}
            n = len(arrays["labels"])
            rows = arrays["data"], arrays["indices"], arrays["indptr"]
            weights = csr_array(rows, shape=(n, n))
            weights.check_format()
            return weights, arrays["labels"], float(arrays["chance"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def write(
        self,
        setting: Any,
        k: int,
        weights: csr_array,
        labels: np.ndarray,
        chance: float,
    ) -> None:
        """Keep a look."""
        with staged_file(self._path(setting, k)) as partial:
            np.savez(
                partial,
                data=weights.data,
                indices=weights.indices,
                indptr=weights.indptr,
                labels=labels,
                chance=chance,
            )

    def _path(self, setting: Any, k: int) -> Path:
        digest = self._digest.copy()
        digest.update(repr((setting, k)).encode())
        return self.folder / f"look-{digest.hexdigest()[:32]}.npz"
