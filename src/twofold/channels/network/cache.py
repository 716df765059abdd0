"""Features that were computed before, by the content of what they are made of."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pooch

from twofold.io.staging import staged_file

AUTO = "auto"
"""Name of the platform's cache folder."""


def cache_folder(cache: str) -> Path:
    """Return the folder in which features are kept."""
    if cache == AUTO:
        return Path(pooch.os_cache("twofold")) / "features"
    return Path(cache).expanduser()


def features_key(images: np.ndarray, facts: dict[str, Any]) -> str:
    """Return the SHA-256 of images and of plain facts about their features."""
    about = {**facts, "shape": images.shape, "dtype": images.dtype.str}
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for image in images:
        digest.update(np.ascontiguousarray(image).data)
    return digest.hexdigest()


def kept_features(folder: Path, key: str, n: int) -> np.ndarray | None:
    """Return the features (n, h, w, c) of a key; None if they are missing, or damaged.

    Nothing is unpickled.
    """
    try:
        with (folder / f"{key}.npy").open("rb") as file:  # np.load takes archives, too
            found = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    right = found.ndim == 4 and len(found) == n and found.dtype == np.float32
    return found if right and np.isfinite(found).all() else None


def keep_features(folder: Path, key: str, features: np.ndarray) -> None:
    """Write features to a file that appears when it is whole."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with staged_file(folder / f"{key}.npy") as partial, partial.open("wb") as file:
            np.save(file, features, allow_pickle=False)
    except OSError as error:
        raise ValueError(
            f"cache must be a folder that can be written, got {folder} ({error}); "
            "leave it out to compute features anew"
        ) from error
