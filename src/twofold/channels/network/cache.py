"""Features that were computed before, by the content of the image and the network."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pooch

AUTO = "auto"
"""Name of the platform's cache folder."""


def cache_folder(cache: str) -> Path:
    """Return the folder in which features are kept."""
    if cache == AUTO:
        return Path(pooch.os_cache("twofold")) / "features"
    return Path(cache).expanduser()


class FeatureCache:
    """A folder with a file for each image, named by a digest of all that matters.

    The platform's folder is a convenience: where it cannot be written, nothing is kept.
    Any other folder was asked for, and must be one that can be.
    """

    def __init__(self, cache: str, facts: dict[str, Any]) -> None:
        self.folder, self.is_asked_for = cache_folder(cache), cache != AUTO
        self.facts = facts
        self._facts = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())

    def read(self, path: Path) -> np.ndarray | None:
        """Return the features (h, w, c) in a file; None if missing, or damaged.

        The archive has a checksum, and nothing is unpickled.
        """
        try:
            with path.open("rb") as file:
                found = np.load(file, allow_pickle=False)["features"]
        except Exception:  # a damaged archive can raise any exception
            return None
        found = np.asarray(found)
        right = found.ndim == 3 and found.dtype == np.float32 and found.size > 0
        return found if right and np.isfinite(found).all() else None

    def write(self, path: Path, features: np.ndarray) -> None:
        """Write features to a file that appears when it is whole.

        It is not forced to the disk, which would take longer than the network: the
        checksum tells a file that a crash has cut.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".partial-")
            try:
                with os.fdopen(handle, "wb") as file:
                    np.savez(file, features=features)
                os.replace(partial, path)
            except BaseException:
                Path(partial).unlink(missing_ok=True)
                raise
        except OSError as error:
            if self.is_asked_for:
                raise ValueError(
                    f"cache must be a folder that can be written, got {self.folder} "
                    f"({error}); leave it out to compute features anew"
                ) from error

    def path_of(self, image: np.ndarray) -> Path:
        """Return the file of an image (c, h, w)."""
        digest = self._facts.copy()
        digest.update(json.dumps([image.shape, image.dtype.str]).encode())
        digest.update(np.ascontiguousarray(image).data)
        name = digest.hexdigest()
        return self.folder / name[:2] / f"{name}.npz"
