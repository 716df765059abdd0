"""Measure what TSNMF's defaults are chosen by, into the tables of docs/defaults.md.

Every fit is the public estimator's; classes are used for scoring only.
"""

import argparse
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import real_data
from joblib import Parallel, delayed
from sklearn.cluster import KMeans

import twofold
from twofold import TSNMF
from twofold.metrics import accuracy, nmi

SETS = (
    "yale",
    "orl",
    "jaffe",
    "pix",
    "semeion",
    "digits",
    "mnist-2000",
    "eyaleb-5",
    "eyaleb-10",
)
MARKER = "<!-- measured: everything below is written by benchmarks/defaults.py -->"
VARIATIONS: dict[str, tuple[Any, ...]] = {
    "init": ("spectral", "k-means", "random"),
    "scale": ("sample", "global"),
    "n_directions": (3, 4, 5, 7, 9, 13),
    "energy_weight": (0.1, 0.3, 1.0, 3.0, 10.0),
    "graph_weight": (0.0, 0.03, 0.1, 0.3, 1.0, 10.0),
    "graph": ("heat", "binary", "cosine"),
    "n_neighbors": (3, 5, 8),
    "tol": (1e-2, 3e-3, 1e-3, 3e-4, 1e-4),
    "n_init": (1, 5),
}

ALSO = {"tol": ("agreement", "iterations")}
"""What is shown beside the accuracy."""


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A data set, or the part of a large one that its suffix names."""
    base, _, part = name.partition("-")
    images, target = real_data.load(base)
    kept = np.arange(len(target))
    if base == "eyaleb":  # that many random persons
        persons = np.random.RandomState(0).permutation(38)[: int(part)]
        kept = np.flatnonzero(np.isin(target, persons))
    elif part:  # that many random images
        kept = np.random.RandomState(0).permutation(len(target))[: int(part)]
    return images[kept], target[kept]


def score(name: str, seed: int, **changes: Any) -> dict[str, float]:
    """One seeded fit at the defaults but for ``changes``."""
    images, target = load(name)
    changes = {key: _fitting(key, value, images) for key, value in changes.items()}
    model = TSNMF(len(set(target)), random_state=seed, **changes)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = model.fit_predict(images)
    return {
        "accuracy": accuracy(target, labels),
        "nmi": nmi(target, labels),
        "iterations": model.n_iter_,
        "seconds": time.perf_counter() - begin,
        "agreement": float(np.mean(model.predict(images) == labels)),
    }


def score_kmeans(name: str, seed: int) -> dict[str, float]:
    """scikit-learn's K-means on the flattened images."""
    images, target = load(name)
    flat = images.reshape(len(images), -1)
    labels = KMeans(len(set(target)), n_init=10, random_state=seed).fit_predict(flat)
    return {"accuracy": accuracy(target, labels), "nmi": nmi(target, labels)}


def _fitting(key: str, value: Any, images: np.ndarray) -> Any:
    return min(value, max(images.shape[1:])) if key == "n_directions" else value


def measure(
    settings: list[dict[str, Any]], seeds: range, jobs: int
) -> list[dict[str, list[dict[str, float]]]]:
    """For each setting, for each data set, the scores of all seeds."""
    work = [(s, name, seed) for s in settings for name in SETS for seed in seeds]
    calls = (
        delayed(score_kmeans)(name, seed)
        if setting.get("method") == "k-means"
        else delayed(score)(name, seed, **setting)
        for setting, name, seed in work
    )
    scores = iter(Parallel(n_jobs=jobs, verbose=1)(calls))
    return [{name: [next(scores) for _ in seeds] for name in SETS} for _ in settings]


def row(label: str, scores: dict[str, list[dict[str, float]]], key: str) -> str:
    """One line of a table: the mean over seeds for every set, and over all sets."""
    factor, digits = {"iterations": (1, 0), "seconds": (1, 1)}.get(key, (100, 1))
    means = [factor * float(np.mean([s[key] for s in scores[name]])) for name in SETS]
    cells = [f"{mean:.{digits}f}" for mean in [*means, float(np.mean(means))]]
    return f"| {label} | " + " | ".join(cells) + " |"


def table(title: str, rows: Iterable[str]) -> list[str]:
    head = f"| {title} | " + " | ".join([*SETS, "mean"]) + " |"
    return [head, "| --- " * (len(SETS) + 2) + "|", *rows, ""]


def report(seeds: range, jobs: int) -> str:
    default = TSNMF().get_params()
    default["n_directions"] = 5  # what None stands for
    settings: list[dict[str, Any]] = [{"method": "k-means"}, {}]
    settings += [
        {key: value}
        for key, values in VARIATIONS.items()
        for value in values
        if value != default[key]
    ]
    results = measure(settings, seeds, jobs)
    kmeans, ours = results[:2]
    varied = dict(zip(map(str, settings), results, strict=True))
    lines = [
        MARKER,
        "",
        f"`make defaults`: twofold {twofold.__version__}, {len(seeds)} seeds.",
        "Accuracy, NMI and agreement in percent, means over the seeds.",
        "",
        *table(
            "at the defaults",
            [
                row("K-means, accuracy", kmeans, "accuracy"),
                row("TSNMF, accuracy", ours, "accuracy"),
                row("K-means, NMI", kmeans, "nmi"),
                row("TSNMF, NMI", ours, "nmi"),
                row("`predict` agrees with `labels_`", ours, "agreement"),
                row("iterations", ours, "iterations"),
                row("seconds", ours, "seconds"),
            ],
        ),
    ]
    for key, values in VARIATIONS.items():
        for measured in ("accuracy", *ALSO.get(key, ())):
            rows = []
            for value in values:
                chosen = value == default[key]
                scores = ours if chosen else varied[str({key: value})]
                label = f"**{value}** (default)" if chosen else f"{value}"
                rows.append(row(label, scores, measured))
            lines += table(f"`{key}`, {measured}", rows)
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--into", type=Path, help="page whose tables are replaced")
    options = parser.parse_args()
    text = report(range(options.seeds), options.jobs)
    if options.into is not None:
        prose, _, _ = options.into.read_text(encoding="utf-8").partition(MARKER)
        options.into.write_text(prose + text, encoding="utf-8")
    print(text)
