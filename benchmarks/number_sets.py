"""The sets on which numbers of clusters, and what is told of clusters, are judged."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from defaults import load
from joblib import Parallel, delayed
from photo_folders import photo_folders
from photos import shuffled
from threadpoolctl import threadpool_limits

from twofold.app.network import with_network
from twofold.app.workflow import read
from twofold.channels import PIXELS, NetworkFeatures

DEVELOPED = (
    *("yale", "orl", "jaffe", "semeion", "eyaleb-10", "eyaleb-20", "coil20"),
    *("usps", "mnist-2000", "japanese_vowels"),
)
"""Sets in view of which the rule was found."""

MENDED = (
    *("pix", "digits", "eyaleb-5", "umist", "notmnist", "spoken_digits", "eyaleb"),
)
"""Sets that were looked at once, by which the floor of the entropy was then mended."""

PHOTOS = ("clothing", "signs")
"""Folders of photos, by features of a network, that no choice was made with."""

USES = dict.fromkeys(DEVELOPED, "found on it") | dict.fromkeys(MENDED, "mended by it")
USES |= dict.fromkeys(PHOTOS, "not used")
"""What each set was used for."""


SORTED = ("iris", "wine", "breast_cancer")
"""Sets that are loaded sorted by class."""


class Known(NamedTuple):
    """Samples of known classes, 0, 1, ..., and the channels that suit them."""

    X: np.ndarray
    target: np.ndarray
    channels: str = "auto"

    @property
    def k(self) -> int:
        return len(np.unique(self.target))


def write_photos(place: Path) -> None:
    """Have the photos and their features in files of a folder, unless they are."""
    for name, folder in photo_folders(place, list(PHOTOS)):
        if not (place / f"{name}.npz").exists():
            collection = shuffled(read(folder, labels="folders"))
            features = with_network(collection, NetworkFeatures()).features
            assert features is not None
            assert collection.target is not None
            np.savez(
                place / f"{name}.npz",
                network=features,
                colours=collection.images,
                grey=collection.images.mean(axis=3),
                target=collection.target,
            )


def known(name: str, place: Path) -> Known:
    """A set by its name, shuffled; of photos also their "colours" or "grey"."""
    base, _, form = name.partition(" ")
    if base in PHOTOS:
        with np.load(place / f"{base}.npz") as arrays:
            X, target = arrays[form or "network"], arrays["target"]
        channels = "auto" if form else PIXELS
    else:
        (X, target), channels = load(name), "auto"
        if name in SORTED:
            some = np.random.RandomState(0).permutation(len(target))
            X, target = X[some], target[some]
    return Known(X, np.unique(target, return_inverse=True)[1], channels)


def run(
    make: Callable[..., Any], given: list[tuple[Any, ...]], n_jobs: int
) -> list[Any]:
    """Call a function for each tuple of arguments, in processes of a thread each."""

    def alone(arguments: tuple[Any, ...]) -> Any:
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            return make(*arguments)

    calls = (delayed(alone)(arguments) for arguments in given)
    return list(Parallel(n_jobs, batch_size=1, verbose=5)(calls))


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def verdict(wrong: list[str], right: str) -> str:
    """What is said of the exceptions, if there are any."""
    return ", ".join(wrong) if wrong else right
