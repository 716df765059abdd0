"""Data sets of the protocol: the paper's eight, the digits, and a user's own."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from twofold.paper import datasets
from twofold.paper.objects import by_import_path
from twofold.paper.published import paper_rows


@dataclass(frozen=True)
class DataSet:
    """Labelled images to run the protocol on.

    Attributes
    ----------
    title : str
        Name in tables.
    load : callable
        Function without arguments that returns an object with ``images`` of shape
        (n, h, w) or (n, h, w, c) and ``target`` of shape (n,), as ``datasets.load``.
    rows : tuple of int or None
        Numbers of classes, N, of the random subsets. None means all numbers from 2 on,
        or eight of them if there are more than ten classes.
    removed : float
        Share of the entries of each image that is removed, in addition to NaN entries.
    """

    title: str
    load: Callable[[], Any]
    rows: tuple[int, ...] | None = None
    removed: float = 0.0


def _published(name: str, title: str, table: str = "", removed: float = 0) -> DataSet:
    """Return a data set of the paper with the rows of its table."""
    load = partial(datasets.load, name, download=False)
    return DataSet(title, load, paper_rows(table or name), removed)


DATA: dict[str, DataSet] = {
    "eyaleb": _published("eyaleb", "Extended Yale B"),
    "orl": _published("orl", "ORL"),
    "semeion": _published("semeion", "Semeion"),
    "jaffe": _published("jaffe", "JAFFE"),
    "pix": _published("pix", "PIX"),
    "yale": _published("yale", "Yale"),
    "orl-40": _published("orl", "ORL, 40% removed", "orl-40", 0.4),
    "orl-60": _published("orl", "ORL, 60% removed", "orl-60", 0.6),
    "digits": DataSet("Digits", datasets.load_digits, tuple(range(2, 11))),
}
"""Data sets by name, in the order of the paper's tables, then scikit-learn's digits."""

PAPER_DATA = tuple(name for name in DATA if name != "digits")
"""Names of the data sets in the paper's tables."""


@dataclass(frozen=True)
class Loaded:
    """Images and classes of a data set after the removal of entries."""

    images: np.ndarray  # (n, h, w) or (n, h, w, c), float; missing entries are 0
    missing: np.ndarray | None  # mask of the missing entries; None if there are none
    target: np.ndarray  # (n,), classes
    rows: tuple[int, ...]  # numbers of classes, N, of the random subsets
    n_classes: int
    digest: str  # of images and classes


def find_data(name: str) -> DataSet:
    """Return a data set by its name in ``DATA`` or its import path, module:object."""
    if name in DATA:
        return DATA[name]
    imported = by_import_path("--data", name, DATA)
    if isinstance(imported, DataSet):
        return imported
    if callable(imported):
        return DataSet(name.partition(":")[2], imported)
    raise ValueError(
        f"--data {name} must be a twofold.paper.DataSet or a function that returns "
        f"images and target, got {type(imported).__name__}"
    )


def is_here(name: str) -> bool:
    """Return whether a data set can be loaded without a download."""
    try:
        find_data(name).load()
    except FileNotFoundError:
        return False
    return True


@lru_cache(maxsize=2)  # neighbouring jobs have the same data set
def load_data(name: str, seed: int) -> Loaded:
    """Load a data set and remove the share of entries that it asks for."""
    data_set = find_data(name)
    images, target = _read(name, data_set)
    if images.ndim not in (3, 4) or target.shape != images.shape[:1]:
        raise ValueError(
            f"--data {name} must give images of shape (n, h, w) or (n, h, w, c) and "
            f"target of shape (n,), got {images.shape} and {target.shape}"
        )
    n_classes = len(np.unique(target))
    if n_classes < 2:
        raise ValueError(
            f"--data {name} must have two classes or more, got {n_classes}"
        )
    rows = data_set.rows or _default_rows(n_classes)
    # NaN entries become zeros below. The digest of such images is taken before, so that
    # it differs from the digest of images with zeros at the same entries.
    digest = "" if np.isfinite(images).all() else _digest(images, target)
    if data_set.removed:
        images = datasets.remove_entries(
            images, data_set.removed, fill=np.nan, random_state=seed
        )
    missing = np.isnan(images)
    images = np.where(missing, 0.0, images)
    digest = digest or _digest(images, target)
    mask = missing if missing.any() else None
    return Loaded(images, mask, target, rows, n_classes, digest)


def _read(name: str, data_set: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Load images and classes, and report the errors of a user's loader."""
    try:
        bunch = data_set.load()
        return np.asarray(bunch.images, dtype=np.float64), np.asarray(bunch.target)
    except FileNotFoundError:  # of a data set that is not on this machine
        raise
    except Exception as failure:
        raise ValueError(
            f"--data {name} must load an object with images and target: "
            f"{type(failure).__name__}: {' '.join(str(failure).split())}"
        ) from failure


@lru_cache(maxsize=2)
def load_subset(
    name: str, n_clusters: int, subset: int, seed: int, *, missing_as_nan: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return images and classes of a random subset of ``n_clusters`` classes.

    Missing entries are 0, or NaN if ``missing_as_nan``.
    """
    loaded = load_data(name, seed)
    class_seed = subset_seed(seed, n_clusters, subset)
    indices = datasets.sample_classes(loaded.target, n_clusters, class_seed)
    images = loaded.images[indices]
    if missing_as_nan and loaded.missing is not None:
        images = np.where(loaded.missing[indices], np.nan, images)
    return images, loaded.target[indices]


def subset_seed(seed: int, n_clusters: int, subset: int) -> int:
    """Return the seed of a subset and of the fits to it.

    The seed does not depend on the method: all methods get the same classes and start
    from the same random numbers.
    """
    sequence = np.random.SeedSequence([seed, n_clusters, subset])
    # The shift keeps the seed below 2^31, the limit of a signed 32-bit integer.
    return int(sequence.generate_state(1)[0] >> 1)


def _default_rows(n_classes: int) -> tuple[int, ...]:
    """Return the numbers of classes of a data set that does not name any."""
    if n_classes <= 10:
        return tuple(range(2, n_classes + 1))
    return tuple(max(2, round(n_classes * part / 8)) for part in range(1, 9))


def _digest(images: np.ndarray, target: np.ndarray) -> str:
    """Return a digest that does not depend on the names of the classes."""
    classes = np.unique(target, return_inverse=True)[1]
    parts = hashlib.sha256(repr(images.shape).encode())
    parts.update(np.ascontiguousarray(images).tobytes())
    parts.update(classes.astype(np.int64).tobytes())
    return parts.hexdigest()[:16]
