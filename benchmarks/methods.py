"""The ten methods on all classes, best over the paper's grids, beside the paper."""

import time
import warnings
from itertools import product
from typing import Any

import numpy as np
import pages
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

import twofold
from twofold import datasets
from twofold.methods import METHODS, build
from twofold.metrics import clustering_accuracy, nmi
from twofold.paper import paper_rows, paper_tables

MARKER = "<!-- measured by benchmarks/methods.py -->"
CLOSE = 8.0
"""Points of difference that need no word."""

SETS = ("yale", "orl", "pix", "jaffe")

METRICS = {"accuracy": "accuracy", "NMI": "nmi"}
"""Measures under the names that they have here, and in the paper's tables."""


VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "ts-nmf, K-means start": ("ts-nmf", {"init": "k-means"}),
    "rpca, images of norm 1": ("rpca", {}),
    "semi-nmf, random start": ("semi-nmf", {"init": "random"}),
    "sc, radius 0.1": ("sc", {"radius": 0.1}),
}
"""Methods changed in one respect, which explains some differences."""

Scores = dict[str, float]


def clusterings(model: Any, images: np.ndarray, seed: int) -> tuple[Any, Any]:
    """Labels of a method, and those that a single random start of K-means reads off.

    Spectral clustering does not show what its K-means is given: its labels are both.
    """
    last = model
    if isinstance(model, Pipeline):
        last = model[-1]
        codes = model[:-1].fit_transform(images)
        labels = last.fit_predict(codes)
        if not isinstance(last, KMeans):
            return labels, labels
    else:
        labels = model.fit_predict(images)
        codes = getattr(model, "decomposition_", model).coefficients_
    single = KMeans(last.n_clusters, init="random", n_init=1, random_state=seed)
    return labels, single.fit_predict(codes)


def score(row: str, data: str, seed: int, setting: dict[str, Any]) -> Scores:
    """One seeded fit to all classes, in percent."""
    bunch = datasets.load(data, download=False)
    images, target = bunch.images.astype(float), bunch.target
    name, changes = VARIANTS.get(row, (row, {}))
    if "norm 1" in row:
        images /= np.linalg.norm(images, axis=(1, 2), keepdims=True)
    model = build(name, len(set(target)), random_state=seed, **(setting | changes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # corners of the grids need not converge
        labels, single = clusterings(model, images, seed)
    return {
        "accuracy": 100 * clustering_accuracy(target, labels),
        "NMI": 100 * nmi(target, labels),
        "accuracy, one start": 100 * clustering_accuracy(target, single),
        "NMI, one start": 100 * nmi(target, single),
    }


def settings(row: str) -> list[dict[str, Any]]:
    name, changes = VARIANTS.get(row, (row, {}))
    grid = METHODS[name].grid.items()
    return list(ParameterGrid({k: v for k, v in grid if k not in changes}))


def measure(seeds: int, jobs: int) -> dict[tuple[str, str], list[Scores]]:
    """For each row and set, the best of the grid in every measure, for every seed."""
    rows = (*METHODS, *VARIANTS)
    work = [
        (row, data, seed, setting)
        for row, data in product(rows, SETS)
        for seed in range(seeds)
        for setting in settings(row)
    ]
    calls = (delayed(score)(*job) for job in work)
    scores = iter(Parallel(n_jobs=jobs, verbose=1, batch_size=4)(calls))

    def best_of_grid(row: str) -> Scores:
        grid = [next(scores) for _ in settings(row)]
        return {metric: max(cell[metric] for cell in grid) for metric in grid[0]}

    return {
        (row, data): [best_of_grid(row) for _ in range(seeds)]
        for row, data in product(rows, SETS)
    }


def chance(data: str, metric: str) -> float:
    """What random labels score on average."""
    target = datasets.load(data, download=False).target
    draws = np.random.RandomState(0).randint(len(set(target)), size=(50, len(target)))
    measured = clustering_accuracy if metric == "accuracy" else nmi
    return float(np.mean([100 * measured(target, labels) for labels in draws]))


def in_paper(data: str, metric: str, method: str) -> float:
    """The paper's figure for all classes; NaN for a method of one's own."""
    key = data, METRICS[metric], paper_rows(data)[-1], METHODS[method].title
    cell = paper_tables().get(key)
    return np.nan if cell is None or cell.mean is None else cell.mean


def table(metric: str, best: dict[tuple[str, str], list[Scores]]) -> str:
    names = [part for data in SETS for part in (data, "one start", "paper")]
    lines = [f"| {metric} | " + " | ".join(names) + " |", "| --- " * 13 + "|"]
    for row in (*METHODS, *VARIANTS):
        cells = []
        for data in SETS:
            runs = np.array([run[metric] for run in best[row, data]])
            single = np.mean([run[f"{metric}, one start"] for run in best[row, data]])
            paper = in_paper(data, metric, row.partition(",")[0])
            apart = row in METHODS and abs(runs.mean() - paper) > CLOSE
            far = "**" if apart else ""
            cells += [f"{far}{runs.mean():.1f}{far} ± {runs.std():.1f}"]
            cells += [f"{single:.1f}", f"{paper:.1f}"]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    random = " | ".join(f"{chance(data, metric):.1f} | | " for data in SETS)
    return "\n".join([*lines, f"| random labels | {random}|"])


def report(seeds: int, jobs: int) -> str:
    begin = time.perf_counter()
    best = measure(seeds, jobs)
    minutes = (time.perf_counter() - begin) / 60
    return "\n\n".join(
        [
            f"`make methods JOBS={jobs}`: twofold {twofold.__version__}, {seeds} "
            f"seeds, {minutes:.0f} minutes on {jobs} cores. Percent; mean and standard "
            "deviation over the seeds, each of which takes the best of the grid; bold "
            f"where a method differs from the paper by more than {CLOSE:.0f} points. "
            "One start: the same with a single random start of K-means in place of "
            "ten.",
            *(table(metric, best) for metric in METRICS),
        ]
    )


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    pages.publish(report(options.seeds, options.jobs), MARKER, options.into)
