"""Looks kept in a folder, so that a search that was stopped goes on where it was."""

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
"""The weights, the labels and the chance of a look."""


_FORMAT = 1
"""To be raised when looks of the same samples become others."""


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
        facts = (
            _FORMAT,
            twofold.__version__,
            problem.samples.shape,
            str(problem.samples.dtype),
            problem.settings.neighbors,
            problem.seeds[0],
        )
        digest.update(repr(facts).encode())
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
            labels, chance = arrays["labels"], float(arrays["chance"])
            rows = arrays["data"], arrays["indices"], arrays["indptr"]
            weights = csr_array(rows, shape=(len(labels), len(labels)))
            weights.check_format()
            of_clusters = np.unique(labels).tolist() == list(range(labels.max() + 1))
            finite = np.isfinite(chance) and np.isfinite(weights.data).all()
            if not (of_clusters and finite and labels.dtype.kind == "i"):
                return None
            return weights, labels, chance
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):
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
