"""The number of clusters that a search chooses, beside what others would choose."""

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from number_sets import USES, known, run, table
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import eigsh
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances, silhouette_score

from twofold import TSNMF, AutoTSNMF
from twofold.core import cluster_number
from twofold.core.cluster_number import choose_cluster_number
from twofold.core.spectral import spectral_embedding
from twofold.estimators.fitted import LEAST_STRUCTURE
from twofold.estimators.search import cluster_numbers

SEEDS = (0, 1)

EXPONENTS = (0.6, 0.65, 0.75, 0.8)
"""Values of b, the exponent of the entropy, beside that of the rule."""

_LARGEST, _N_VECTORS, _N_COMPONENTS = 60, 20, 100
"""The largest number, eigenvectors that HDBSCAN sees, and components of pixels."""


class Choice(NamedTuple):
    """What a search chose with one seed, and what others would choose."""

    truth: int
    chosen: int
    likely: tuple[int, int]
    structure: float
    seconds: float  # CPU time of the search
    fit: float  # that of one TSNMF at its defaults
    others: dict[str, int]
    by_exponent: dict[float, int]

    @property
    def near(self) -> bool:
        """Whether the number is within a tenth of the truth, or 1."""
        return is_near(self.chosen, self.truth)

    @property
    def far(self) -> bool:
        """Whether it is off by more than a third of the truth."""
        return is_far(self.chosen, self.truth)

    @property
    def held(self) -> bool:
        """Whether the likely range holds the truth."""
        return self.likely[0] <= self.truth <= self.likely[1]


def is_near(k: int, truth: int) -> bool:
    return abs(k - truth) <= max(1, 0.1 * truth)


def is_far(k: int, truth: int) -> bool:
    return abs(k - truth) > truth / 3


def choice(name: str, seed: int, place: Path) -> Choice:
    """Search one set with one seed, with the first one beside others."""
    given = known(name, place)
    X, channels = given.X, given.channels
    rule = patch.object(
        cluster_numbers, "choose_cluster_number", wraps=choose_cluster_number
    )
    with rule as seen:
        begin = time.process_time()
        search = AutoTSNMF(channels=channels, random_state=seed).fit(X)
        seconds = time.process_time() - begin
    begin = time.process_time()
    TSNMF(given.k, channels=channels, random_state=seed).fit(X)
    fit = time.process_time() - begin
    others: dict[str, int] = {}
    by_exponent: dict[float, int] = {}
    if seed == SEEDS[0]:
        others = chosen_by_others(X, seen.call_args.args[0], seed)
        by_exponent = {b: chosen_with(b, seen.call_args) for b in EXPONENTS}
    return Choice(
        given.k,
        search.n_clusters_,
        search.cluster_numbers_.likely,
        search.structure_,
        seconds,
        fit,
        others,
        by_exponent,
    )


def chosen_with(exponent: float, called: Any) -> int:
    """The number that the same call of the rule chooses with another exponent."""
    with patch.object(cluster_number, "EXPONENT", exponent):
        found = choose_cluster_number(*called.args, **called.kwargs)
    assert found is not None
    return found.chosen


def chosen_by_others(X: np.ndarray, graph: csr_array, seed: int) -> dict[str, int]:
    """What others choose, most of them in the graph that the search chose in."""
    largest = max(2, min(_LARGEST, len(X) // 4))
    found = {"eigengap": eigengap(graph, largest, seed)}
    if find_spec("igraph"):
        found["Leiden"] = leiden(graph)
    points = spectral_embedding(graph, min(_N_VECTORS, largest), seed)
    clusters = HDBSCAN(copy=False).fit_predict(points)
    return found | {
        "HDBSCAN": int(clusters.max()) + 1,
        "silhouette": silhouette(X, largest, seed),
    }


def eigengap(graph: csr_array, largest: int, seed: int) -> int:
    """The number, from 2 on, after which eigenvalues of the graph fall most."""
    degree = graph.sum(axis=1)
    root = diags_array(1 / np.sqrt(np.where(degree > 0, degree, 1)))
    first = np.random.RandomState(seed).uniform(size=len(degree))
    values = eigsh(
        root @ graph @ root, largest + 1, v0=first, return_eigenvectors=False
    )
    falls = -np.diff(np.sort(values)[::-1])
    return 2 + int(falls[1:].argmax())


def leiden(graph: csr_array) -> int:
    """The number of clusters that Leiden's algorithm finds, at resolution 1."""
    import random

    import igraph  # type: ignore[import-not-found]

    random.seed(0)
    edges = graph.tocoo()
    once = edges.row < edges.col
    pairs = np.stack([edges.row[once], edges.col[once]], axis=1).tolist()
    found = igraph.Graph(n=graph.shape[0], edges=pairs).community_leiden(
        "modularity", weights=edges.data[once].tolist(), n_iterations=10
    )
    return len(found)


def silhouette(X: np.ndarray, largest: int, seed: int) -> int:
    """The number of the best silhouette of K-means on flattened samples."""
    flat = X.reshape(len(X), -1).astype(float)
    if min(flat.shape) > _N_COMPONENTS:
        flat = PCA(_N_COMPONENTS, random_state=seed).fit_transform(flat)
    distances = pairwise_distances(flat)
    numbers = sorted({int(k) for k in np.geomspace(2, largest, 20).round()})

    def reached(k: int) -> float:
        labels = KMeans(k, n_init=1, random_state=seed).fit_predict(flat)
        return float(silhouette_score(distances, labels, metric="precomputed"))

    return max(numbers, key=reached)


def numbers(place: Path, n_jobs: int) -> str:
    """The table of all sets, and what it comes to."""
    given = [(name, seed, place) for name in USES for seed in SEEDS]
    found = iter(run(choice, given, n_jobs))
    by_name = {name: [next(found) for _ in SEEDS] for name in USES}
    firsts = {name: each[0] for name, each in by_name.items()}
    names = list(next(iter(firsts.values())).others)
    heads = ["", "used", "classes", "chosen", "likely", "holds them", "`structure_`"]
    heads += ["seconds", "in fits", *names]
    rows = [row(name, each) for name, each in by_name.items()]
    lines = [table(heads, rows), "", *summary(by_name), "", beside(firsts)]
    if "Leiden" not in names:
        lines += ["", "Leiden's algorithm is left out, for lack of igraph."]
    return "\n".join(lines)


def row(name: str, found: list[Choice]) -> list[str]:
    """The line of a set, with near numbers in bold, and those far off in italics."""
    first = found[0]
    ranges = {"{} to {}".format(*each.likely): None for each in found}
    held = {"yes" if each.held else "no": None for each in found}
    seconds, fit = (np.mean([getattr(e, key) for e in found]) for key in TIMES)
    return [
        *(name, USES[name], str(first.truth)),
        ", ".join(marked(each.chosen, each.truth) for each in found),
        *(", ".join(ranges), ", ".join(held)),
        ", ".join(dict.fromkeys(f"{each.structure:.2f}" for each in found)),
        *(f"{seconds:.1f}", f"{seconds / fit:.0f}"),
        *(marked(k, first.truth) for k in first.others.values()),
    ]


TIMES = ("seconds", "fit")


def marked(k: int, truth: int) -> str:
    return f"**{k}**" if is_near(k, truth) else f"*{k}*" if is_far(k, truth) else str(k)


def summary(by_name: dict[str, list[Choice]]) -> list[str]:
    """How many goals were met with each seed."""
    lines = []
    for i, seed in enumerate(SEEDS):
        found = {name: each[i] for name, each in by_name.items()}
        values = list(found.values())
        off = [name for name, each in found.items() if each.far]
        missed = [name for name, each in found.items() if not each.held]
        warned = [n for n, each in found.items() if each.structure < LEAST_STRUCTURE]
        width = np.exp(np.mean([np.log(e.likely[1] / e.likely[0]) for e in values]))
        lines.append(
            f"- Seed {seed}: within a tenth of the truth or 1 on "
            f"{sum(e.near for e in values)} of {len(values)} sets; off by more than a "
            f"third: {', '.join(off) or 'none'}; the likely range holds the truth on "
            f"all but {', '.join(missed) or 'none'}, its largest number is on average "
            f"{width:.1f} times its smallest; warned that there is nothing: "
            f"{', '.join(warned) or 'none'}."
        )
    return lines


def beside(found: dict[str, Choice]) -> str:
    """How many numbers of each other way are near the truth, or far off."""
    ways: dict[str, list[Any]] = {}
    for each in found.values():
        own = {f"**the search**, b = {cluster_number.EXPONENT}": each.chosen}
        varied = {f"b = {b}": k for b, k in each.by_exponent.items()}
        for way, k in (own | varied | each.others).items():
            ways.setdefault(way, []).append((k, each.truth))
    rows = [
        [way, *(str(sum(of(*pair) for pair in pairs)) for of in (is_near, is_far))]
        for way, pairs in ways.items()
    ]
    return table([f"of {len(found)} sets", "near", "off by more than a third"], rows)
