"""Loaders of the data sets."""

from pathlib import Path

import sklearn.datasets
from sklearn.utils import Bunch

from twofold.paper.datasets.catalogue import CATALOGUE
from twofold.paper.datasets.locate import find, load_entry, way_to_get

NAMES = (*CATALOGUE, "digits")
"""Names of all data sets."""


def load(name: str, path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Load a data set by name.

    Parameters
    ----------
    name : {"yale", "orl", "eyaleb", "jaffe", "pix", "semeion", "mnist", "digits"}
        Name of the data set.
    path : str, Path or None, default=None
        Path of the file, or of a folder that contains it. None searches the folder in
        the environment variable TWOFOLD_DATA, then the platform's cache folder, then
        the web. The digits come with scikit-learn and ignore this parameter.
    download : bool, default=True
        Whether the file may be downloaded into the cache folder.

    Returns
    -------
    Bunch
        ``images`` of shape (n, h, w), upright; ``target`` of shape (n,), classes
        counted from 0; ``target_names``, a list that is empty if the classes have no
        names; ``DESCR``, a description.
    """
    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, got {name!r}")
    if name == "digits":
        return load_digits()
    entry = CATALOGUE[name]
    images, target = load_entry(entry, path, download=download)
    return Bunch(
        images=images,
        target=target,
        target_names=list(entry.target_names),
        DESCR=entry.description,
    )


def overview() -> list[Bunch]:
    """Return the name, size and location of each data set.

    Returns
    -------
    list of Bunch
        ``name``, ``title``, ``n_samples``, ``n_classes``; ``path``, the local file or
        None; ``way``, how to get the file.
    """
    entries = [
        Bunch(
            name=entry.name,
            title=entry.title,
            n_samples=entry.n_samples,
            n_classes=entry.n_classes,
            path=find(entry),
            way=way_to_get(entry),
        )
        for entry in CATALOGUE.values()
    ]
    digits = Path(sklearn.datasets.__file__).parent / "data" / "digits.csv.gz"
    entries.append(
        Bunch(
            name="digits",
            title="Handwritten digits, 8 x 8",
            n_samples=1797,
            n_classes=10,
            path=digits,
            way="comes with scikit-learn",
        )
    )
    return entries


def load_yale(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Load Yale: 165 faces of 15 persons, 32 x 32. See ``load``."""
    return load("yale", path, download=download)


def load_orl(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Load ORL: 400 faces of 40 persons, 32 x 32. See ``load``."""
    return load("orl", path, download=download)


def load_eyaleb(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Load Extended Yale B: 2,414 faces of 38 persons, 32 x 32. See ``load``."""
    return load("eyaleb", path, download=download)


def load_jaffe(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Load JAFFE: 213 faces of 10 persons, 32 x 32. See ``load``."""
    return load("jaffe", path, download=download)


def load_pix(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Load PIX: 100 faces of 10 persons, 100 x 100. See ``load``."""
    return load("pix", path, download=download)


def load_semeion(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Load Semeion: 1,593 handwritten digits, 16 x 16. See ``load``."""
    return load("semeion", path, download=download)


def load_mnist(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Load MNIST: 70,000 handwritten digits, 28 x 28. See ``load``."""
    return load("mnist", path, download=download)


def load_digits() -> Bunch:
    """Load the 1,797 handwritten digits of scikit-learn, 8 x 8."""
    digits = sklearn.datasets.load_digits()
    return Bunch(
        images=digits.images,
        target=digits.target,
        target_names=[str(name) for name in digits.target_names],
        DESCR=(
            f"{digits.DESCR}\nCite: E. Alpaydin, C. Kaynak. Optical Recognition of "
            "Handwritten Digits. UCI Machine Learning Repository, "
            "doi 10.24432/C50P49.\n"
            "Licence: CC BY 4.0\n"
        ),
    )
