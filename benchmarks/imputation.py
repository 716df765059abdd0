"""How far imputed pixels are from the truth, against other ways to fill them in."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pages
from settings import nearest_neighbors
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from twofold import TSNMF, datasets

MARKER = "<!-- measured by benchmarks/imputation.py -->"

MOST = 200
SETS = ("orl", "yale", "jaffe", "eyaleb", "semeion", "digits")

Imputer = Callable[[np.ndarray, int], np.ndarray]
"""From a stack with NaN, and a number of clusters, to a complete one."""


def removed(images: np.ndarray, share: float) -> np.ndarray:
    return np.isnan(datasets.remove_entries(images, share, fill=np.nan))


def covered(images: np.ndarray) -> np.ndarray:
    """A block of half the height and half the width, at a place of its own."""
    size = images.shape[1] // 2, images.shape[2] // 2
    return np.isnan(datasets.occlude(images, size, fill=np.nan))


PATTERNS = {
    "40% at random": lambda images: removed(images, 0.4),
    "60% at random": lambda images: removed(images, 0.6),
    "90% at random": lambda images: removed(images, 0.9),
    "a block, 25%": covered,
}


def by_rows(imputer: Any) -> Imputer:
    """An imputer of scikit-learn's, on flattened images."""

    def fill(images: np.ndarray, k: int) -> np.ndarray:
        rows = images.reshape(len(images), -1)
        kept = ~np.isnan(rows).all(axis=0)  # it drops pixels that nobody has seen
        full = np.where(np.isnan(rows), np.nanmean(rows), rows)
        full[:, kept] = imputer.fit_transform(rows[:, kept])
        return full.reshape(images.shape)

    return fill


def soft_impute(images: np.ndarray, k: int) -> np.ndarray:
    """Mazumder, Hastie, Tibshirani: shrunk singular values, the weight held out."""
    rows = images.reshape(len(images), -1)
    missing = np.isnan(rows)
    held = ~missing & (np.random.RandomState(1).uniform(size=rows.shape) < 0.1)
    hidden = missing | held
    guess = np.where(hidden, _means(rows, hidden), rows)
    weight = np.linalg.svd(guess - guess.mean(axis=0), compute_uv=False)[0]
    best = np.inf, weight, guess
    for _ in range(25):
        guess = _shrunk(rows, hidden, guess, weight)
        error = np.mean((guess - rows)[held] ** 2)
        if error < best[0]:
            best = error, weight, guess
        weight *= 0.7
    return _shrunk(rows, missing, np.where(missing, best[2], rows), best[1]).reshape(
        images.shape
    )


def _means(rows: np.ndarray, hidden: np.ndarray) -> np.ndarray:
    """Of each pixel, or of all for one that nobody has seen."""
    seen = np.ma.masked_array(rows, hidden)
    return seen.mean(axis=0).filled(seen.mean())


def _shrunk(
    rows: np.ndarray, hidden: np.ndarray, guess: np.ndarray, weight: float
) -> np.ndarray:
    for _ in range(10):
        mean = guess.mean(axis=0)
        left, values, right = np.linalg.svd(guess - mean, full_matrices=False)
        low = mean + left * np.maximum(values - weight, 0) @ right
        guess = np.where(hidden, low, rows)
    return guess


def impute(images: np.ndarray, k: int) -> np.ndarray:
    model = TSNMF(k, missing_values=np.nan, random_state=0, **nearest_neighbors(images))
    return model.fit(images).impute(images)


def rebuilt(images: np.ndarray, k: int) -> np.ndarray:
    """The reconstruction by the clusters, each as bright as its image."""
    model = TSNMF(
        k, missing_values=np.nan, random_state=0, **nearest_neighbors(images)
    ).fit(images)
    found = model.inverse_transform(model.coefficients_)
    missing, axes = np.isnan(images), (1, 2)
    seen = np.where(missing, 0, images)
    scale = (seen * found).sum(axes) / np.where(missing, 0, found**2).sum(axes)
    return np.where(missing, scale[:, None, None] * found, images)


IMPUTERS: dict[str, Imputer] = {
    "mean of the pixel": by_rows(SimpleImputer()),
    "KNNImputer, 5": by_rows(KNNImputer(n_neighbors=5)),
    "IterativeImputer": by_rows(
        IterativeImputer(n_nearest_features=20, max_iter=3, random_state=0)
    ),
    "soft-impute": soft_impute,
    "TSNMF, inverse_transform": rebuilt,
    "TSNMF, impute": impute,
}


def load(name: str) -> tuple[np.ndarray, int]:
    """At most 200 images, of all classes, and the number of these."""
    data = datasets.load(name, download=False)
    few = np.random.RandomState(0).permutation(len(data.images))[:MOST]
    return data.images[few].astype(float), len(np.unique(data.target))


def measured(
    images: np.ndarray, k: int, pattern: str
) -> dict[str, tuple[float, float]]:
    """The error as part of the spread about the mean image, and the seconds."""
    missing = PATTERNS[pattern](images)
    holed = np.where(missing, np.nan, images)
    spread = np.linalg.norm((images - images.mean(axis=0))[missing])
    found = {}
    for name, imputer in IMPUTERS.items():
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # three rounds of IterativeImputer are few
            error = np.linalg.norm((imputer(holed, k) - images)[missing])
        found[name] = float(error / spread), time.perf_counter() - begin
    return found


def shown_cell(error: float, seconds: float, best: float) -> str:
    mark = "**" if round(error, 2) == best else ""
    return f"{mark}{error:.2f}{mark}, {seconds:.1f} s"


def report() -> str:
    lines = [
        f"| images | missing | {' | '.join(IMPUTERS)} |",
        "| --- " * (len(IMPUTERS) + 2) + "|",
    ]
    for name in SETS:
        try:
            images, k = load(name)
        except FileNotFoundError:
            continue
        for pattern in PATTERNS:
            found = measured(images, k, pattern)
            best = min(round(error, 2) for error, _ in found.values())
            shown = [shown_cell(*cell, best) for cell in found.values()]
            lines.append(f"| {name} | {pattern} | {' | '.join(shown)} |")
            print(lines[-1], flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)
