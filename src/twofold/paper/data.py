"""The data sets of the protocol: the paper's eight, the digits, and a user's own."""

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
        Its name in tables.
    load : callable
        Called without arguments, returns an object with ``images`` of shape (n, h, w)
        or (n, h, w, c) and ``target`` of shape (n,), as ``datasets.load``.
    rows : tuple of int or None
        The numbers of classes, N, of which subsets are drawn. None takes all from 2
        on, or eight of them where there are more than ten classes.
    removed : float
        The share of the entries of each image that is removed, besides what is NaN.
    """

    title: str
    load: Callable[[], Any]
    rows: tuple[int, ...] | None = None
    removed: float = 0.0


def _published(name: str, title: str, table: str = "", removed: float = 0) -> DataSet:
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
"""By name, in the order of the paper's tables; the digits are scikit-learn's."""

PAPER_DATA = tuple(name for name in DATA if name != "digits")


@dataclass(frozen=True)
class Loaded:
    """The images of a data set as every method sees them.

    Attributes
    ----------
    images : ndarray of shape (n, h, w) or (n, h, w, c), float
        With zeros for what is missing.
    missing : boolean array of the same shape, or None
        None where nothing is.
    target : ndarray of shape (n,)
    rows : tuple of int
    n_classes : int
    digest : str
        Of images and classes.
    """

    images: np.ndarray
    missing: np.ndarray | None
    target: np.ndarray
    rows: tuple[int, ...]
    n_classes: int
    digest: str


def find_data(name: str) -> DataSet:
    """A data set by its name in ``DATA`` or by its import path, module:object."""
    if name in DATA:
        return DATA[name]
    found = by_import_path("--data", name, DATA)
    if isinstance(found, DataSet):
        return found
    if callable(found):
        return DataSet(name.partition(":")[2], found)
    raise ValueError(
        f"--data {name} must be a twofold.paper.DataSet or a function that returns "
        f"images and target, got {type(found).__name__}"
    )


def is_here(name: str) -> bool:
    """Whether a data set can be loaded without a download."""
    try:
        find_data(name).load()
    except FileNotFoundError:
        return False
    return True


@lru_cache(maxsize=2)
def load_data(name: str, seed: int) -> Loaded:
    """Load a data set, and remove entries where that is part of it."""
    wanted = find_data(name)
    images, target = _read(name, wanted)
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
    rows = wanted.rows or _some_rows(n_classes)
    digest = "" if np.isfinite(images).all() else _digest(images, target)
    if wanted.removed:
        images = datasets.remove_entries(
            images, wanted.removed, fill=np.nan, random_state=seed
        )
    missing = np.isnan(images)
    images = np.where(missing, 0.0, images)
    return Loaded(
        images,
        missing if missing.any() else None,
        target,
        rows,
        n_classes,
        digest or _digest(images, target),
    )


def _read(name: str, wanted: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Images and classes of a data set that may be of a user's making."""
    try:
        bunch = wanted.load()
        return np.asarray(bunch.images, dtype=np.float64), np.asarray(bunch.target)
    except FileNotFoundError:
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
    """Images and classes of a random subset of ``n_clusters`` classes.

    What is missing is NaN for methods that are ``told``, and zero for the others.
    """
    loaded = load_data(name, seed)
    drawn = datasets.sample_classes(
        loaded.target, n_clusters, subset_seed(seed, n_clusters, subset)
    )
    images = loaded.images[drawn]
    if missing_as_nan and loaded.missing is not None:
        images = np.where(loaded.missing[drawn], np.nan, images)
    return images, loaded.target[drawn]


def subset_seed(seed: int, n_clusters: int, subset: int) -> int:
    """The seed of a subset and of all that is random in the fits to it.

    It knows nothing of the method, so that all methods see the same classes and start
    from the same draws.
    """
    sequence = np.random.SeedSequence([seed, n_clusters, subset])
    return int(sequence.generate_state(1)[0] >> 1)


def _some_rows(n_classes: int) -> tuple[int, ...]:
    if n_classes <= 10:
        return tuple(range(2, n_classes + 1))
    return tuple(max(2, round(n_classes * part / 8)) for part in range(1, 9))


def _digest(images: np.ndarray, target: np.ndarray) -> str:
    classes = np.unique(target, return_inverse=True)[1]
    parts = hashlib.sha256(repr(images.shape).encode())
    parts.update(np.ascontiguousarray(images).tobytes())
    parts.update(classes.astype(np.int64).tobytes())
    return parts.hexdigest()[:16]
