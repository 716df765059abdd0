"""Measure what TSNMF's defaults are chosen by, into the tables of docs/defaults.md.

Every fit is the public estimator's; classes are used for scoring only.
"""

import os
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pages
import sklearn.datasets
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

import twofold
from twofold import TSNMF, datasets
from twofold.core.grams import both_sides
from twofold.estimators.problem import read_problem
from twofold.metrics import clustering_accuracy, nmi

Scores = dict[str, list[dict[str, float]]]
"""For each data set, the scores of every seed."""

IMAGES = (
    "yale",
    "orl",
    "jaffe",
    "pix",
    "semeion",
    "digits",
    "mnist-2000",
    "eyaleb-5",
    "eyaleb-10",
    "eyaleb",
)
VECTORS = (
    "iris",
    "wine",
    "breast_cancer",
    "blobs",
    "flat digits",
    "flat yale",
    "flat orl",
    "flat jaffe",
    "flat semeion",
)
MORE = ("coil20", "umist", "usps", "notmnist", "spoken_digits", "japanese_vowels")
MARKER = "<!-- measured by benchmarks/defaults.py -->"
IMAGE_VARIATIONS: dict[str, tuple[Any, ...]] = {
    "channels": ("auto", "pixels", "gradients", "fine_gradients"),
    "init": ("graph", "spectral", "k-means", "random"),
    "scale": ("sample", "global"),
    "n_directions": (None, 3, 4, 5, 6, 7, 9, 13),
    "energy_weight": (None, 0.1, 0.3, 1.0, 3.0, 10.0),
    "graph_weight": (0.0, 0.1, 0.3, 1.0, 3.0, 10.0),
    "graph": ("subspace_knn", "subspace", "heat", "binary", "cosine"),
    "n_neighbors": (5, 7, 10, 15, 20),
    "assign_labels": ("graph", "k-means"),
    "tol": (2e-1, 5e-2, 1e-2, 1e-3, 1e-4),
    "n_init": (1, 5),
}
VECTOR_VARIATIONS: dict[str, tuple[Any, ...]] = {
    "n_directions": (5, 20, 32, 100),
    "scale": ("sample", "global"),
    "graph": ("auto", "subspace_knn", "subspace", "heat"),
    "assign_labels": ("graph", "k-means"),
}
ALSO = {
    "graph_weight": ("lowest agreement",),
    "assign_labels": ("lowest agreement",),
    "tol": ("lowest agreement", "iterations"),
}
"""What is shown beside the accuracy."""


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A data set, or the part of a large one that its suffix names."""
    if name == "blobs":
        return sklearn.datasets.make_blobs(500, 2, centers=5, random_state=1)[:2]
    if name in ("iris", "wine", "breast_cancer"):
        bunch = getattr(sklearn.datasets, f"load_{name}")()
        return StandardScaler().fit_transform(bunch.data), bunch.target
    if name.startswith("flat "):
        images, target = load(name.removeprefix("flat "))
        return images.reshape(len(images), -1), target
    if name in MORE:
        images, target = more(name)
        kept = np.random.RandomState(0).permutation(len(target))
        return images[kept], target[kept]
    base, _, part = name.partition("-")
    data = datasets.load(base, download=False)
    images, target = data.images, data.target
    # Files come sorted by class; shuffled, no leak between neighbours looks like skill.
    kept = np.random.RandomState(0).permutation(len(target))
    if part and base == "eyaleb":  # that many random persons
        persons = np.random.RandomState(0).permutation(38)[: int(part)]
        kept = kept[np.isin(target[kept], persons)]
    elif part:  # that many random images
        kept = kept[: int(part)]
    return images[kept], target[kept]


def more(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A set of the folder ``more`` beside the paper's, for rules that carry over."""
    folder = Path(os.environ.get("TWOFOLD_DATA", "../shared/data"))
    with np.load(folder / "more" / f"{name}.npz", allow_pickle=False) as arrays:
        return arrays["X"], arrays["y"]


def score(name: str, seed: int, **changes: Any) -> dict[str, float]:
    """One seeded fit at the defaults but for ``changes``."""
    samples, target = load(name)
    if changes.get("n_directions"):
        changes["n_directions"] = min(changes["n_directions"], max(samples.shape[1:]))
    model = TSNMF(len(set(target)), random_state=seed, **changes)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = model.fit_predict(samples)
    return {
        "accuracy": clustering_accuracy(target, labels),
        "NMI": nmi(target, labels),
        "iterations": model.n_iter_,
        "seconds": time.perf_counter() - begin,
        "agreement": float(np.mean(model.predict(samples) == labels)),
    }


def score_start(name: str, seed: int) -> dict[str, float]:
    """The start that a fit begins with, taken for its result."""
    samples, target = load(name)
    model = TSNMF(len(set(target)), random_state=seed)
    problem = read_problem(model, samples)
    rows, roots = problem.weighted_samples()
    [start] = problem.starts(rows, both_sides(rows), [problem.weights], roots)
    labels = problem.given.as_given(start.argmax(axis=1))
    return {
        "accuracy": clustering_accuracy(target, labels),
        "NMI": nmi(target, labels),
    }


def score_kmeans(name: str, seed: int) -> dict[str, float]:
    """scikit-learn's K-means on the flattened samples."""
    samples, target = load(name)
    flat = samples.reshape(len(samples), -1)
    labels = KMeans(len(set(target)), n_init=10, random_state=seed).fit_predict(flat)
    return {"accuracy": clustering_accuracy(target, labels), "NMI": nmi(target, labels)}


OTHERS = {"k-means": score_kmeans, "start": score_start}


def measure(
    settings: list[dict[str, Any]], sets: tuple[str, ...], seeds: range, jobs: int
) -> list[Scores]:
    """The scores of each setting."""
    work = [(s, name, seed) for s in settings for name in sets for seed in seeds]
    calls = (
        delayed(OTHERS[setting["method"]])(name, seed)
        if "method" in setting
        else delayed(score)(name, seed, **setting)
        for setting, name, seed in work
    )
    scores = iter(Parallel(n_jobs=jobs, verbose=1)(calls))
    return [{name: [next(scores) for _ in seeds] for name in sets} for _ in settings]


def row(label: str, scores: Scores, key: str) -> str:
    """One line of a table: a number for every set, and their mean or lowest.

    Once for all sets, and once without Extended Yale B, which would outweigh the rest.
    """
    lowest = key.startswith("lowest ")
    over = np.min if lowest else np.mean
    key = key.removeprefix("lowest ")
    factor, digits = {"iterations": (1, 0), "seconds": (1, 1)}.get(key, (100, 1))
    numbers = [factor * over([s[key] for s in seeds]) for seeds in scores.values()]
    others = [
        n for name, n in zip(scores, numbers, strict=True) if "eyaleb" not in name
    ]
    summary = [over(numbers)]
    if len(others) < len(numbers):
        summary.append(over(others))
    cells = [f"{number:.{digits}f}" for number in [*numbers, *summary]]
    return f"| {label} | " + " | ".join(cells) + " |"


def table(title: str, sets: Iterable[str], rows: Iterable[str]) -> list[str]:
    names = [title, *sets, "all"]
    if "eyaleb" in names:
        names.append("all but eyaleb")
    head = "| " + " | ".join(names) + " |"
    return [head, "| --- " * len(names) + "|", *rows, ""]


def study(
    sets: tuple[str, ...],
    defaults: dict[str, Any],
    variations: dict[str, tuple[Any, ...]],
    seeds: range,
    jobs: int,
) -> list[str]:
    """The tables of one kind of samples."""
    varied = [
        {key: value}
        for key, values in variations.items()
        for value in values
        if value != defaults[key]
    ]
    settings = [{"method": "k-means"}, {"method": "start"}, {}, *varied]
    results = measure(settings, sets, seeds, jobs)
    found = dict(zip(map(str, settings), results, strict=True))
    kmeans, start, ours = results[:3]
    rows = [
        row("K-means, accuracy", kmeans, "accuracy"),
        row("the start alone, accuracy", start, "accuracy"),
        row("TSNMF, accuracy", ours, "accuracy"),
        row("K-means, NMI", kmeans, "NMI"),
        row("the start alone, NMI", start, "NMI"),
        row("TSNMF, NMI", ours, "NMI"),
        row("`predict` agrees with `labels_`, mean", ours, "agreement"),
        row("the same, lowest of all seeds", ours, "lowest agreement"),
        row("iterations", ours, "iterations"),
        row("seconds", ours, "seconds"),
    ]
    lines = table("at the defaults", sets, rows)
    for key, values in variations.items():
        for measured in ("accuracy", *ALSO.get(key, ())):
            rows = []
            for value in values:
                chosen = value == defaults[key]
                label = f"**{value}** (default)" if chosen else f"{value}"
                scores = ours if chosen else found[str({key: value})]
                rows.append(row(label, scores, measured))
            lines += table(f"`{key}`, {measured}", sets, rows)
    return lines


def report(seeds: range, jobs: int) -> str:
    defaults = TSNMF().get_params()
    # What None and "auto" stand for; of some it depends on the channels.
    images = {
        **defaults,
        "scale": "sample",
        "graph": "subspace_knn",
        "n_neighbors": 10,
    }
    vectors = {**defaults, "n_directions": 32, "scale": "global"}
    lines = [
        f"`make defaults`: twofold {twofold.__version__}, {len(seeds)} seeds.",
        "Accuracy, NMI and agreement in percent, means over the seeds where nothing "
        "else is said.",
        "",
        "## Images",
        "",
        *study(IMAGES, images, IMAGE_VARIATIONS, seeds, jobs),
        "## Vectors",
        "",
        *study(VECTORS, vectors, VECTOR_VARIATIONS, seeds, jobs),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    pages.publish(report(range(options.seeds), options.jobs), MARKER, options.into)
