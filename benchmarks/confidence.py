"""How well notions of confidence tell right assignments from wrong ones."""

from collections.abc import Callable

import numpy as np
import pages
from sklearn.metrics import roc_auc_score

from twofold import TSNMF, datasets
from twofold.app.results import assign_trained
from twofold.estimators.labels import mean_rows

MARKER = "<!-- measured by benchmarks/confidence.py -->"
MOST = 4000

Notion = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From V (n, k) and the clusters (n,) to a number for each sample."""


def own_column(v: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """The coefficient of each sample on the centroid of its cluster."""
    columns = mean_rows(v, clusters).argmax(axis=1)
    return v[np.arange(len(v)), columns[clusters]]


def share(v: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    return own_column(v, clusters) / v.sum(axis=1)


def squared_share(v: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    return own_column(v, clusters) ** 2 / (v**2).sum(axis=1)


def lead(v: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """How far the own coefficient is ahead of the next one."""
    own = own_column(v, clusters)
    others = np.where(v == own[:, None], 0, v).max(axis=1)
    return (own - others) / (own + others)


def margin(v: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """How much nearer the own center is than the next one."""
    means = mean_rows(v, clusters)
    distances = np.linalg.norm(v[:, None] - means, axis=2)
    rows = np.arange(len(v))
    own = distances[rows, clusters]
    distances[rows, clusters] = np.inf
    return 1 - own / distances.min(axis=1)


NOTIONS: dict[str, Notion] = {
    "part of squares": squared_share,
    "part of sum": share,
    "lead over the next": lead,
    "margin to the next center": margin,
}


def row(name: str) -> str | None:
    try:
        data = datasets.load(name, download=False)
    except FileNotFoundError:
        return None
    few = np.random.RandomState(0).permutation(len(data.images))[:MOST]
    images, target = data.images[few], data.target[few]
    model = TSNMF(len(np.unique(target)), random_state=0).fit(images)
    v, clusters = model.coefficients_, model.labels_
    majority = [np.bincount(target[clusters == c]).argmax() for c in set(clusters)]
    right = np.array(majority)[clusters] == target
    cells = [roc_auc_score(right, notion(v, clusters)) for notion in NOTIONS.values()]
    sure = assign_trained(model, images).confidence
    quarter = right[np.argsort(sure)][: len(sure) // 4].mean()
    best = right[np.argsort(sure)][-len(sure) // 4 :].mean()
    areas = " | ".join(f"{cell:.2f}" for cell in cells)
    return f"| {name} | {areas} | {quarter:.0%} | {best:.0%} |"


def report() -> str:
    heads = (*NOTIONS, "right, least sure quarter", "right, most sure quarter")
    lines = ["| | " + " | ".join(heads) + " |", "| --- " * (len(heads) + 1) + "|"]
    lines += [line for line in map(row, datasets.NAMES) if line is not None]
    return "\n".join(lines)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)
