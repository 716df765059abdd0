"""Features of a network on folders of photos, into docs/photos.md.

The photos are in the folder ``photos`` of the data, a folder for each class. Their
classes are for the scores alone.
"""

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pages
from sklearn.cluster import KMeans, SpectralClustering

from twofold import TSNMF, AutoTSNMF
from twofold.channels import NetworkFeatures
from twofold.channels.network.layout import reduced
from twofold.core.arrays import to_numpy
from twofold.io import read_images
from twofold.metrics import clustering_accuracy, nmi

MARKER = "<!-- measured by benchmarks/photos.py: {} -->"
SIDE, SEEDS = 224, range(3)

Labelled = tuple[str, np.ndarray, np.ndarray]
"""Name, photos (n, h, w, 3) and classes (n,) of a folder."""

Way = Callable[[int, int], Any]
"""A function from a number of clusters and a seed to an estimator."""


def folders() -> Iterator[Labelled]:
    """The folders of photos, each shuffled."""
    data = Path(os.environ.get("TWOFOLD_DATA", "../shared/data")) / "photos"
    for folder in sorted(each for each in data.iterdir() if each.is_dir()):
        read = read_images(folder, SIDE, fit="crop", color=True, labels=True)
        order = np.random.RandomState(0).permutation(len(read.target))
        yield folder.name, read.images[order], read.target[order]


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def isometric(rows: np.ndarray) -> np.ndarray:
    """Fewer columns with the same distances, of more columns than rows."""
    if rows.shape[1] <= len(rows):
        return rows
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    kept = values > 1e-6 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def k_means(k: int, seed: int) -> Any:
    return KMeans(k, n_init=10, random_state=seed)


def spectral(k: int, seed: int) -> Any:
    return SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=10, random_state=seed
    )


def tsnmf(**parameters: Any) -> Way:
    return lambda k, seed: TSNMF(k, random_state=seed, **parameters)


def auto(**parameters: Any) -> Way:
    return lambda k, seed: AutoTSNMF(k, random_state=seed, **parameters)


def scores(
    way: Way, X: np.ndarray, target: np.ndarray, seeds: range = SEEDS
) -> np.ndarray:
    """Mean accuracy and NMI in percent, and seconds of one fit."""
    k, found = len(np.unique(target)), []
    for seed in seeds:
        begin = time.perf_counter()
        labels = way(k, seed).fit_predict(X)
        seconds = time.perf_counter() - begin
        agreement = clustering_accuracy(target, labels), nmi(target, labels)
        found.append((100 * agreement[0], 100 * agreement[1], seconds))
    return np.mean(found, axis=0)


def flat_rows(images: np.ndarray, cache: str) -> dict[str, np.ndarray]:
    """Flat samples that other methods cluster."""
    small = images.reshape(len(images), 28, 8, 28, 8, 3).mean(axis=(2, 4))
    pooled = NetworkFeatures(maps=None, pooled=True).transform(images)
    maps = NetworkFeatures(cache=cache).transform(images)
    flat = {
        name: np.asarray(rows).reshape(len(images), -1)
        for name, rows in (("pixels", small), ("pooled", pooled), ("maps", maps))
    }
    flat["pooled, length 1"] = unit(flat["pooled"])
    flat["maps, length 1"] = unit(flat["maps"])
    return {name: isometric(rows.astype(float)) for name, rows in flat.items()}


def methods(
    images: np.ndarray, target: np.ndarray, cache: str
) -> Iterator[tuple[str, np.ndarray]]:
    """Names and scores of all methods on one folder; features are kept in a cache."""
    for rows_name, rows in flat_rows(images, cache).items():
        for name, way in (("K-means", k_means), ("spectral", spectral)):
            yield f"{name}, {rows_name}", scores(way, rows, target)
    small = images.reshape(len(images), 56, 4, 56, 4, 3).mean(axis=(2, 4))
    yield "TSNMF, pixels", scores(tsnmf(channels="pixels"), small, target)
    yield "TSNMF, gradients", scores(tsnmf(channels="gradients"), images, target)
    pooled, network = (
        NetworkFeatures(pooled=given, cache=cache) for given in (True, False)
    )
    for bank in (pooled, network):  # so that features are no part of the seconds
        TSNMF(2, channels=bank, max_iter=1).fit(images)
    yield "TSNMF, pooled", scores(tsnmf(channels=pooled), images, target)
    # What channels="network" is, but for the cache
    yield "**TSNMF, network**", scores(tsnmf(channels=network), images, target)
    searched = scores(auto(channels=[network]), images, target, range(1))
    yield "**AutoTSNMF, network**", searched


def table() -> str:
    rows: dict[str, list[str]] = {}
    names = []
    for folder, images, target in folders():
        names.append(folder)
        with tempfile.TemporaryDirectory() as cache:
            for name, values in methods(images, target, cache):
                cells = [f"{value:.1f}" for value in values]
                rows.setdefault(name, []).extend(cells)
                print(folder, name, *cells, flush=True)
    heads = [f"{name}: {what}" for name in names for what in ("accuracy", "NMI", "s")]
    return lines("method", heads, rows)


SETTINGS: dict[str, dict[str, Any]] = {
    "4 directions, energy weight 1": {},
    "energy weight 0.1": {"energy_weight": 0.1},
    "energy weight 3": {"energy_weight": 3.0},
    "2 directions": {"n_directions": 2},
    "3 directions": {"n_directions": 3},
    "5 directions": {"n_directions": 5},
    "all 7 directions": {"n_directions": 7},
}
"""Settings of TSNMF on the maps of a network."""


COUNTS = (64, 128, 256, 1280)
"""Numbers of features."""


def choices() -> str:
    """Accuracy and NMI of TSNMF by the number of features, and by its settings."""
    rows: dict[str, list[str]] = {}
    names = []
    for folder, images, target in folders():
        names.append(folder)
        whole = to_numpy(NetworkFeatures(maps=None).transform(images))
        maps = {f"{m} features": reduced(whole, m) for m in COUNTS}
        tried: list[tuple[str, np.ndarray, dict[str, Any]]]
        tried = [(name, X, {}) for name, X in maps.items()]
        usual = maps["256 features"]
        tried += [(name, usual, settings) for name, settings in SETTINGS.items()]
        for name, X, settings in tried:
            way = tsnmf(channels="pixels", **settings)
            accuracy, information, _ = scores(way, X, target)
            rows.setdefault(name, []).extend((f"{accuracy:.1f}", f"{information:.1f}"))
            print(folder, name, rows[name], flush=True)
    heads = [f"{name}: {what}" for name in names for what in ("accuracy", "NMI")]
    return lines("TSNMF", heads, rows)


def lines(first: str, heads: list[str], rows: dict[str, list[str]]) -> str:
    """A table in Markdown."""
    head = f"| {first} | {' | '.join(heads)} |"
    body = [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    return "\n".join([head, "| --- " * (1 + len(heads)) + "|", *body])


PARTS = {"methods": table, "choices": choices}


def main() -> None:
    parser = pages.parser(__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.only.split(","):
        pages.publish(PARTS[name](), MARKER.format(name), options.into)


if __name__ == "__main__":
    main()
