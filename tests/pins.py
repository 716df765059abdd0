"""Fits whose results are pinned: every case returns arrays, of which digests are kept.

``python tests/pins.py`` writes the digests of all cases into ``pins.json``. Run it only
in a commit that means to change results, and say there why they change.
"""

import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from problems import holes, pierced
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch

from twofold import TSNMF, AutoTSNMF, datasets, methods
from twofold.channels import OrientedGradients
from twofold.core import communities
from twofold.decomposition import GNMF, PCA2D, RMNMF, RobustPCA, SemiNMF
from twofold.paper import DATA, DataSet, Protocol, Store, run, summarize
from twofold.paper.tables import csv_text

FILE = Path(__file__).with_suffix(".json")

DECIMALS = 4
"""Of coefficients, so that another order of summation does not change a digest."""

PIXELS = {"channels": "pixels", "init": "spectral", "energy_weight": 1.0}
"""TSNMF on the samples themselves, from the spectral start."""

Results = dict[str, Any]


def digits(n: int = 150, seed: int = 0) -> np.ndarray:
    """Digits of all classes, in random order."""
    images = load_digits().images
    return images[np.random.RandomState(seed).permutation(len(images))[:n]]


def new_digits() -> np.ndarray:
    return digits(170)[150:]


def colour(n: int = 60) -> np.ndarray:
    """Digits whose three channels have strengths of their own."""
    gains = np.random.RandomState(1).uniform(0.2, 1, size=(n, 1, 1, 3))
    return digits(n)[..., None] * gains


def faces() -> np.ndarray:
    images, _ = datasets.make_faces(120, 6, shape=(16, 12), illumination=0.3, noise=1.0)
    return images.astype(np.float64)


def pierced_digits() -> np.ndarray:
    images = digits(80)
    return pierced(images, holes(images.shape, 0.3))


def of_model(model: Any, new: np.ndarray | None = None) -> Results:
    """The results of a fitted TSNMF."""
    found = {"labels": model.labels_, "coefficients": model.coefficients_}
    if new is not None:
        found |= {"predicted": model.predict(new), "codes": model.transform(new)}
    return found


def tsnmf(images: Any, new: Any = None, *, k: int = 5, **parameters: Any) -> Results:
    return of_model(TSNMF(k, random_state=0, **PIXELS | parameters).fit(images), new)


def digit_fit(**parameters: Any) -> Callable[[], Results]:
    return lambda: tsnmf(digits(), new_digits(), k=10, **parameters)


def given_start() -> Results:
    start = np.random.RandomState(3).uniform(size=(150, 10))
    return digit_fit(init=start)()


def sweep(images: np.ndarray, **parameters: Any) -> Results:
    pairs = [(1.0, 1.0), (0.1, 1.0), (1.0, 0.01)]
    model = TSNMF(4, random_state=0, **PIXELS | parameters)
    models = model.fit_sweep(images, pairs)
    return {f"{i}_{k}": v for i, m in enumerate(models) for k, v in of_model(m).items()}


def auto(images: np.ndarray, k: Any = None, **parameters: Any) -> Results:
    """A search among pixels alone, with previews by spectral clustering."""
    base = TSNMF(init=PIXELS["init"])
    searched = {"channels": ["pixels"], "max_fits": 10, "estimator": base}
    with mock.patch.object(communities, "_FINER", 1):  # no finer clusters to merge
        return searched_model(images, k, **searched | parameters)


def searched_model(images: np.ndarray, k: Any, **parameters: Any) -> Results:
    model = AutoTSNMF(k, random_state=0, **parameters).fit(images)
    found = of_model(model.best_estimator_, images[:20])
    return found | {"k": np.array(model.n_clusters_), "score": model.best_score_}


def masked_colour() -> Results:
    images = colour()
    mask = holes(images.shape[:-1], 0.2)
    model = TSNMF(4, random_state=0, **PIXELS).fit(images, mask=mask)
    return of_model(model) | {"imputed": model.impute(images[:9], mask=mask[:9])}


def channels(images: np.ndarray, new: Any = None, **parameters: Any) -> Results:
    """TSNMF with the channels and the start that it takes by default."""
    model = TSNMF(random_state=0, **{"n_clusters": 5, **parameters}).fit(images)
    return of_model(model, new) | {"components": model.components_}


def imputed() -> Results:
    images = pierced_digits()
    model = TSNMF(5, missing_values=np.nan, random_state=0).fit(images)
    return of_model(model, images[:9]) | {"imputed": model.impute(images[:9])}


def swept() -> Results:
    pairs = [(None, 1.0), (1.0, 0.1)]
    model = TSNMF(5, channels="fine_gradients", random_state=0)
    first, second = model.fit_sweep(faces(), pairs)
    return of_model(first) | {"other_labels": second.labels_}


def maps() -> Results:
    """Of grey images, of colours, and of large images that are reduced."""
    large = np.kron(digits(3), np.ones((7, 8)))
    return {
        "grey": OrientedGradients().transform(digits(20)),
        "colour": OrientedGradients(6, signed=False).transform(colour(20)),
        "large": OrientedGradients(pooling=1.0).transform(large),
    }


def decomposition(model: Any, images: np.ndarray) -> Results:
    codes = model.fit(images).transform(images[:25])
    return {"components": model.components_, "codes": codes}


def robust_pca() -> Results:
    model = RobustPCA().fit(digits(60))
    return {"codes": model.transform(digits(60)[:20])}


def pca2d() -> Results:
    model = PCA2D(n_directions=3).fit(digits())
    return {"codes": np.abs(model.transform(new_digits()))}


def method(name: str) -> Callable[[], Results]:
    def fit() -> Results:
        images = pierced_digits() if name in MASKED else digits(80)
        # RMNMF amplifies rounding: after many iterations kinds of CPUs differ.
        fewer = {"max_iter": 20} if name == "rmnmf" else {}
        model = methods.build(name, 5, random_state=0, **fewer)
        return {"labels": model.fit_predict(images)}

    return fit


def reproduction() -> Results:
    """A table of the protocol on made-up faces, as text."""
    images, target = datasets.make_faces(60, 4, shape=(10, 8), random_state=0)
    bunch = Bunch(images=images, target=target)
    DATA["made-up"] = DataSet("Made-up", lambda: bunch, rows=(2, 4))
    chosen = ("kmeans", "2dpca", "gnmf")
    protocol = Protocol(data=("made-up",), methods=chosen, subsets=2)
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder) / "store.sqlite") as store,
    ):
        run(protocol, store, n_jobs=1)
        text = csv_text(summarize(protocol, store.results()).tables)
    return {"table": np.frombuffer(text.encode(), dtype=np.uint8)}


MASKED = tuple(methods.MISSING_METHODS)

CASES: dict[str, Callable[[], Results]] = {
    "default": digit_fit(),
    "subspace": digit_fit(graph="subspace"),
    "heat": digit_fit(graph="heat"),
    "binary": digit_fit(graph="binary"),
    "cosine": digit_fit(graph="cosine"),
    "k-means start": digit_fit(init="k-means"),
    "random start": digit_fit(init="random", n_init=3),
    "given start": given_start,
    "k-means labels": digit_fit(assign_labels="k-means", graph="heat"),
    "global scale": digit_fit(scale="global"),
    "weights": digit_fit(energy_weight=0.1, graph_weight=10.0, n_neighbors=7),
    "converged": digit_fit(tol=1e-4, max_iter=60, graph="heat"),
    "two numbers of directions": digit_fit(n_directions=(2, 5)),
    "faces": lambda: tsnmf(faces(), faces()[:10], k=6),
    "iris": lambda: tsnmf(load_iris().data, load_iris().data[::9], k=3),
    "vectors": lambda: tsnmf(digits().reshape(150, 64), new_digits().reshape(20, 64)),
    "flat images": lambda: tsnmf(digits().reshape(150, 64), sample_shape=(8, 8)),
    "colour": lambda: tsnmf(colour(), colour()[:9], k=4),
    "long side": lambda: tsnmf(digits(30).reshape(10, 3, 64), k=2, n_directions=2),
    "duplicates": lambda: tsnmf(np.repeat(digits(20), 3, axis=0), k=4),
    "missing": lambda: tsnmf(
        pierced_digits(), pierced_digits()[:9], missing_values=np.nan
    ),
    "missing, other weight": lambda: tsnmf(
        pierced_digits(), energy_weight=0.1, graph="heat", missing_values=np.nan
    ),
    "masked colour": masked_colour,
    "sweep": lambda: sweep(digits(80)),
    "sweep, missing": lambda: sweep(pierced_digits(), missing_values=np.nan),
    "auto": lambda: auto(digits(80), 5),
    "auto, number": lambda: auto(digits(60), max_fits=2),
    "auto, range": lambda: auto(faces(), range(3, 8), max_fits=4),
    "auto, vectors": lambda: auto(load_iris().data[::2], 3),
    "auto, starts": lambda: auto(
        digits(60), 4, graph_weights=(1.0, 0.1), n_starts=2, max_fits=8
    ),
    "auto, missing": lambda: auto(
        pierced_digits(), 5, missing_values=np.nan, max_fits=4
    ),
    "maps": maps,
    "channels": lambda: channels(digits(), new_digits(), n_clusters=10),
    "channels, graph start": lambda: channels(
        digits(), new_digits(), n_clusters=10, channels="pixels"
    ),
    "channels, fine": lambda: channels(digits(), channels="fine_gradients"),
    "channels, light": lambda: channels(faces(), faces()[:10], n_clusters=6),
    "channels, transformer": lambda: channels(
        digits(), channels=OrientedGradients(4, pooling=1.5), energy_weight=0.3
    ),
    "channels, colour": lambda: channels(colour(), colour()[:9]),
    "channels, duplicates": lambda: channels(np.repeat(digits(20), 3, axis=0)),
    "channels, missing": imputed,
    "channels, sweep": swept,
    "channels, auto": lambda: searched_model(digits(80), 5),
    "channels, auto, range": lambda: searched_model(
        digits(100), range(3, 8), max_fits=4
    ),
    "PCA2D": pca2d,
    "RobustPCA": robust_pca,
    "SemiNMF": lambda: decomposition(SemiNMF(5, random_state=0), digits(80)),
    "GNMF": lambda: decomposition(GNMF(5, random_state=0), digits(80)),
    "GNMF, heat": lambda: decomposition(
        GNMF(5, graph="heat", random_state=0), digits(80)
    ),
    "RMNMF": lambda: decomposition(RMNMF(5, max_iter=20, random_state=0), digits(80)),
    "SemiNMF, missing": lambda: decomposition(
        SemiNMF(5, missing_values=np.nan, random_state=0), pierced_digits()
    ),
    "GNMF, missing": lambda: decomposition(
        GNMF(5, missing_values=np.nan, random_state=0), pierced_digits()
    ),
    **{f"method {name}": method(name) for name in (*methods.PAPER_METHODS, *MASKED)},
    "reproduction": reproduction,
}


def digests(case: str) -> dict[str, str]:
    """A digest of every result of a case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = CASES[case]()
    return {name: digest(array) for name, array in results.items()}


def digest(array: Any) -> str:
    numbers = np.asarray(array)
    if numbers.dtype.kind == "f":  # and no negative zeros
        numbers = np.round(numbers.astype(np.float64), DECIMALS) + 0.0
    kind = "<f8" if numbers.dtype.kind == "f" else "<i8"
    data = np.ascontiguousarray(numbers, dtype=kind)
    return hashlib.sha256(repr(data.shape).encode() + data.tobytes()).hexdigest()[:16]


if __name__ == "__main__":
    text = json.dumps({case: digests(case) for case in CASES}, indent=1)
    FILE.write_text(text + "\n")
