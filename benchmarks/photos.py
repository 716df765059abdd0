"""Features of a network on folders of photos, into docs/photos.md.

Classes are folders, and for the scores alone. What is measured is what a user gets:
"default" is ``twofold cluster FOLDER -k K`` with the extra "photos" installed.
"""

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pages
from joblib import Parallel, delayed
from photo_costs import costs
from photo_folders import (
    AFTERWARDS,
    ALIGNED,
    MIXED,
    Names,
    check_names,
    made_folders,
    photo_folders,
)
from scipy.sparse import csr_array
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

from twofold import TSNMF, AutoTSNMF
from twofold.app.collection import Collection
from twofold.app.network import choose, with_network
from twofold.app.workflow import read
from twofold.channels import NetworkFeatures
from twofold.channels.network.layout import reduced
from twofold.core.arrays import to_numpy
from twofold.core.kmeans import kmeans_labels
from twofold.core.modularity import refine_labels
from twofold.core.spectral import spectral_embedding
from twofold.metrics import clustering_accuracy, nmi

MARKER = "<!-- measured by benchmarks/photos.py: {} -->"
SEEDS = range(3)

Way = Callable[[int, int], Any]
"""A function from a number of clusters and a seed to an estimator."""


class Folder(NamedTuple):
    """A folder of photos with their features, all of which a cache keeps."""

    name: str
    collection: Collection  # shuffled
    cache: str
    whole: np.ndarray  # (n, 7, 7, 1280), all features of the network

    @property
    def target(self) -> np.ndarray:
        assert self.collection.target is not None
        return self.collection.target

    @property
    def k(self) -> int:
        return len(np.unique(self.target))


def shuffled(collection: Collection) -> Collection:
    """The same in another order, since files come sorted by class."""
    order = np.random.RandomState(0).permutation(len(collection.images))
    named: Any = {
        name: [getattr(collection, name)[i] for i in order]
        for name in ("names", "paths")
    }
    for name in ("images", "frames", "target"):
        named[name] = getattr(collection, name)[order]
    return Collection(collection.title, reading=collection.reading, **named)


def opened(name: str, folder: Path, cache: str) -> Folder:
    """Read a folder, and have all features that are needed computed."""
    collection = shuffled(read(folder, labels="folders"))
    network = NetworkFeatures(maps=None, cache=cache)
    whole = with_network(collection, network).features
    with_network(collection, NetworkFeatures(cache=cache))
    assert whole is not None
    print(name, whole.shape, flush=True)
    return Folder(name, collection, cache, whole)


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


OTHERS: dict[str, Way] = {"K-means": k_means, "spectral": spectral}
"""What one would use instead."""

FLAT: dict[str, Callable[[Folder], np.ndarray]] = {
    "pixels": lambda folder: folder.collection.images,
    "pooled": lambda folder: folder.whole.mean(axis=(1, 2)),
    "maps": lambda folder: reduced(folder.whole, 512),
    "pooled, length 1": lambda folder: flat(folder, "pooled", True),
    "maps, length 1": lambda folder: flat(folder, "maps", True),
}
"""Flat samples that other methods cluster."""


def flat(folder: Folder, name: str, scaled: bool = False) -> np.ndarray:
    rows = FLAT[name](folder)
    rows = rows.reshape(len(rows), -1).astype(float)
    return unit(rows) if scaled else rows


class Scores(NamedTuple):
    """Accuracy and NMI in percent, and seconds."""

    accuracy: float
    nmi: float
    seconds: float

    def __str__(self) -> str:
        return f"{self.accuracy:.1f} / {self.nmi:.1f}"


def mean(scores: list[Scores]) -> Scores:
    return Scores(*np.mean(scores, axis=0))


def score(folder: Folder, fit: Callable[[], np.ndarray]) -> Scores:
    begin = time.perf_counter()
    labels = fit()
    seconds = time.perf_counter() - begin
    found = clustering_accuracy(folder.target, labels), nmi(folder.target, labels)
    return Scores(100 * found[0], 100 * found[1], seconds)


def other(folder: Folder, name: str, rows: str, seed: int) -> Scores:
    X = isometric(flat(folder, rows))
    return score(folder, lambda: OTHERS[name](folder.k, seed).fit_predict(X))


def tsnmf(folder: Folder, maps: int, seed: int, **parameters: Any) -> Scores:
    X = reduced(folder.whole, maps)
    model = TSNMF(folder.k, channels="pixels", random_state=seed, **parameters)
    return score(folder, lambda: model.fit_predict(X))


def images_alone(folder: Folder, seed: int) -> Scores:
    model = AutoTSNMF(folder.k, random_state=seed)
    return score(folder, lambda: model.fit_predict(folder.collection.images))


def network_alone(folder: Folder, seed: int) -> Scores:
    model = AutoTSNMF(folder.k, channels="pixels", random_state=seed)
    X = reduced(folder.whole, 512)
    return score(folder, lambda: model.fit_predict(X))


TAKEN = "network taken"
"""Whether the network was, beside what is told of both."""


def default(folder: Folder, seed: int) -> tuple[Scores, dict[str, float]]:
    """What the command finds, what is told of both, and whether it took the network."""
    compared: dict[str, float] = {}

    def fit() -> np.ndarray:
        search = AutoTSNMF(folder.k, random_state=seed)
        network = NetworkFeatures(cache=folder.cache)
        chosen = choose(folder.collection, search, network)
        compared.update(chosen.collection.compared)
        compared[TAKEN] = float(chosen.collection.network is not None)
        return to_numpy(chosen.search.labels_)

    return score(folder, fit), compared


Job = tuple[str, Callable[..., Any], tuple[Any, ...]]
"""Name of a row, and what is computed for it."""


def run(jobs: list[Job], n_jobs: int) -> dict[str, list[Any]]:
    """What is computed for each row, in processes of a thread each."""

    def alone(make: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        warnings.simplefilter("ignore")
        with threadpool_limits(1):
            return make(*given)

    found = Parallel(n_jobs, batch_size=1)(delayed(alone)(*job[1:]) for job in jobs)
    rows: dict[str, list[Any]] = {}
    for (name, *_), each in zip(jobs, found, strict=True):
        rows.setdefault(name, []).append(each)
    return rows


DEFAULT = "**default: `twofold cluster -k`**"


def rival_jobs(folder: Folder, forms: list[str]) -> Iterator[Job]:
    """K-means and spectral clustering of flat samples in some of their forms."""
    for seed in SEEDS:
        for rows in forms:
            for name in OTHERS:
                yield f"{name}, {rows}", other, (folder, name, rows, seed)


COSINE = "moves in a cosine graph, maps"
"""Spectral clustering of a graph of ten neighbours by angle, and moves in it."""


def cosine_graph(folder: Folder, seed: int) -> Scores:
    def fit() -> np.ndarray:
        found = kneighbors_graph(flat(folder, "maps"), 10, metric="cosine")
        graph = csr_array(found.maximum(found.T))
        points = spectral_embedding(graph, folder.k, seed)
        return refine_labels(graph, kmeans_labels(points, folder.k, seed))

    return score(folder, fit)


def method_jobs(folder: Folder) -> Iterator[Job]:
    yield from rival_jobs(folder, list(FLAT))
    for seed in SEEDS:
        yield COSINE, cosine_graph, (folder, seed)
        yield "AutoTSNMF, images", images_alone, (folder, seed)
        yield "TSNMF, network", tsnmf, (folder, 512, seed)
        yield "AutoTSNMF, network", network_alone, (folder, seed)
        yield DEFAULT, default, (folder, seed)


def methods(place: Path, cache: str, n_jobs: int, only: Names) -> str:
    """All methods on the folders of photos."""
    table: dict[str, list[str]] = {}
    names = []
    for name, path in photo_folders(place, only):
        folder = opened(name, path, cache)
        names.append(f"{name} ({folder.k})")
        rows = run(list(method_jobs(folder)), n_jobs)
        rows[DEFAULT] = [each for each, _ in rows[DEFAULT]]
        means = {row: mean(scores) for row, scores in rows.items()}
        rivals = [s for row, s in means.items() if row.startswith(tuple(OTHERS))]
        best = max(rivals, key=lambda s: s.accuracy), max(rivals, key=lambda s: s.nmi)
        for row, scores in means.items():
            table.setdefault(row, []).append(str(scores))
        ahead = means[DEFAULT].accuracy - best[0].accuracy
        more = means[DEFAULT].nmi - best[1].nmi
        row = "default less the best of K-means and spectral"
        table.setdefault(row, []).append(f"{ahead:+.1f} / {more:+.1f}")
        table.setdefault("seconds of the default", []).append(
            f"{means[DEFAULT].seconds:.0f}"
        )
    return lines("accuracy / NMI", names, table)


def choice(place: Path, cache: str, n_jobs: int, only: Names) -> str:
    """What is chosen, and the best that others find in the features."""
    table: dict[str, list[str]] = {}
    lost = []
    made = made_folders(ALIGNED | MIXED | AFTERWARDS, place, only)
    folders = [*photo_folders(place, only), *made]
    for name, path in folders:
        folder = opened(name, path, cache)
        jobs: list[Job] = []
        for seed in SEEDS:
            jobs.append(("images", images_alone, (folder, seed)))
            jobs.append(("network", network_alone, (folder, seed)))
            jobs.append(("default", default, (folder, seed)))
        rivals = rival_jobs(folder, [rows for rows in FLAT if rows != "pixels"])
        rows = run([*jobs, *rivals], n_jobs)
        compared = [each for _, each in rows["default"]]
        taken = int(sum(each[TAKEN] for each in compared))
        told = [
            np.mean([each[key] for each in compared]) for key in ("images", "network")
        ]
        rows["default"] = [each for each, _ in rows["default"]]
        means = {row: mean(each) for row, each in rows.items()}
        better = max(means["images"].accuracy, means["network"].accuracy)
        lost.append(better - means["default"].accuracy)
        cells = [str(means[row]) for row in ("images", "network")]
        cells += [f"{each:.2f}" for each in told]
        cells += [f"network in {taken} of {len(compared)}"]
        table[f"{name} ({folder.k})"] = [
            *cells,
            str(means["default"]),
            f"{lost[-1]:.1f}",
            *behind(means),
        ]
    heads = ["images", "network", "told of images", "of the network", "taken"]
    heads += ["default", "lost", "K-means or spectral", "default less these"]
    text = lines("accuracy / NMI", heads, table)
    return f"{text}\n\nOn average {np.mean(lost):.1f} points are lost."


def behind(means: dict[str, Scores]) -> list[str]:
    """The best of the others on features, and by how much the default is better."""
    rivals = [s for row, s in means.items() if row.startswith(tuple(OTHERS))]
    best = max(s.accuracy for s in rivals), max(s.nmi for s in rivals)
    ours = means["default"]
    more = ours.accuracy - best[0], ours.nmi - best[1]
    return ["{:.1f} / {:.1f}".format(*best), "{:+.1f} / {:+.1f}".format(*more)]


SETTINGS: dict[str, dict[str, Any]] = {
    "4 directions, energy weight 1": {},
    "energy weight 0.1": {"energy_weight": 0.1},
    "energy weight 3": {"energy_weight": 3.0},
    "2 directions": {"n_directions": 2},
    "all 7 directions": {"n_directions": 7},
}
"""Settings of TSNMF on the maps of a network."""

COUNTS = (64, 128, 256, 512, 1280)
"""Numbers of features."""


def settings(place: Path, cache: str, n_jobs: int, only: Names) -> str:
    """TSNMF by the number of features, and by its settings."""
    table: dict[str, list[str]] = {}
    names = []
    for name, path in photo_folders(place, only):
        folder = opened(name, path, cache)
        names.append(name)
        jobs: list[Job] = []
        for seed in SEEDS:
            for count in COUNTS:
                jobs.append((f"{count} features", tsnmf, (folder, count, seed)))
            for about, given in SETTINGS.items():
                jobs.append((about, _with_settings, (folder, given, seed)))
        for row, scores in run(jobs, n_jobs).items():
            table.setdefault(row, []).append(str(mean(scores)))
    return lines("accuracy / NMI of TSNMF", names, table)


def _with_settings(folder: Folder, given: dict[str, Any], seed: int) -> Scores:
    return tsnmf(folder, 512, seed, **given)


def lines(first: str, heads: list[str], rows: dict[str, list[str]]) -> str:
    """A table in Markdown."""
    head = f"| {first} | {' | '.join(heads)} |"
    body = [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    return "\n".join([head, "| --- " * (1 + len(heads)) + "|", *body])


PARTS = {"methods": methods, "choice": choice, "settings": settings, "cost": costs}


def main() -> None:
    parser = pages.parser(__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--folders", help="some of the folders, by commas")
    parser.add_argument("--cache", help="folder in which features are kept")
    options = parser.parse_args()
    only = options.folders.split(",") if options.folders else None
    check_names(only)
    if only and options.into:
        parser.error("--folders must be left out with --into, which takes whole tables")
    chosen = options.only.split(",")
    pages.check(options.into, map(MARKER.format, chosen))
    with tempfile.TemporaryDirectory() as temporary:
        cache = options.cache or temporary
        for name in chosen:
            with tempfile.TemporaryDirectory() as place:
                text = PARTS[name](Path(place), cache, options.jobs, only)
            pages.publish(text, MARKER.format(name), options.into)


if __name__ == "__main__":
    main()
