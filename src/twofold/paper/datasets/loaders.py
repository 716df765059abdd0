"""One loader per data set."""

from pathlib import Path

import sklearn.datasets
from sklearn.utils import Bunch

from twofold.paper.datasets.catalogue import CATALOGUE
from twofold.paper.datasets.locate import find, load_entry, way_to_get

NAMES = (*CATALOGUE, "digits")


def load(name: str, path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Load a data set by name.

    Parameters
    ----------
    name : {"yale", "orl", "eyaleb", "jaffe", "pix", "semeion", "mnist", "digits"}
    path : str, Path or None, default=None
        Its file, or a folder that has it. None looks in the folder named by the
        environment variable TWOFOLD_DATA, then in the platform's cache folder, then
        on the web. The digits come with scikit-learn and need none of this.
    download : bool, default=True
        Whether it may be downloaded into the cache folder.

    Returns
    -------
    Bunch
        ``images`` of shape (n, h, w), upright; ``target`` of shape (n,), classes
        from 0; ``target_names``, a list that is empty where the classes have no
        names; ``DESCR``.
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
    """What is known of each data set, and where it is.

    Returns
    -------
    list of Bunch
        ``name``, ``title``, ``n_samples``, ``n_classes``; ``path``, the file that is
        here, or None; ``way``, how to get it where it is not.
    """
    known = [
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
    known.append(
        Bunch(
            name="digits",
            title="Handwritten digits, 8 x 8",
            n_samples=1797,
            n_classes=10,
            path=digits,
            way="comes with scikit-learn",
        )
    )
    return known


def load_yale(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Yale: 165 faces of 15 persons, 32 x 32. See ``load``."""
    return load("yale", path, download=download)


def load_orl(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """ORL: 400 faces of 40 persons, 32 x 32. See ``load``."""
    return load("orl", path, download=download)


def load_eyaleb(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Extended Yale B: 2,414 faces of 38 persons, 32 x 32. See ``load``."""
    return load("eyaleb", path, download=download)


def load_jaffe(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """JAFFE: 213 faces of 10 persons, 32 x 32. See ``load``."""
    return load("jaffe", path, download=download)


def load_pix(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """PIX: 100 faces of 10 persons, 100 x 100. See ``load``."""
    return load("pix", path, download=download)


def load_semeion(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """Semeion: 1,593 handwritten digits, 16 x 16. See ``load``."""
    return load("semeion", path, download=download)


def load_mnist(path: str | Path | None = None, *, download: bool = True) -> Bunch:
    """MNIST: 70,000 handwritten digits, 28 x 28. See ``load``."""
    return load("mnist", path, download=download)


def load_digits() -> Bunch:
    """scikit-learn's 1,797 handwritten digits, 8 x 8, which come with it."""
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
