"""Damaged pixels that nobody marked, and ways to deal with them."""

import warnings
from collections.abc import Callable

import numpy as np
import pages
from joblib import Parallel, delayed
from settings import nearest_neighbors

from twofold import TSNMF, datasets
from twofold.core.missing.completion import complete, learn_completion
from twofold.decomposition import RobustPCA
from twofold.metrics import clustering_accuracy

MARKER = "<!-- measured by benchmarks/unmarked.py -->"

SETS = {"orl": 20, "yale": 15, "jaffe": 10, "digits": 10}
"""Data sets, and how many classes of them are clustered."""

SUBSETS, MOST = 3, 300

DAMAGE = {
    "none": ("zeros", 0.0),
    "zeros, 10%": ("zeros", 0.1),
    "zeros, 20%": ("zeros", 0.2),
    "zeros, 40%": ("zeros", 0.4),
    "noise, 10%": ("noise", 0.1),
    "noise, 20%": ("noise", 0.2),
    "noise, 40%": ("noise", 0.4),
}

Clusterer = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""Labels from damaged images, a mask of what is damaged, and k."""


def damaged(
    images: np.ndarray, kind: str, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Images in which entries were replaced, and where."""
    rng = np.random.RandomState(seed)
    mask = rng.uniform(size=images.shape) < share
    noise = rng.uniform(images.min(), images.max(), size=images.shape)
    return np.where(mask, 0.0 if kind == "zeros" else noise, images), mask


def clusterer(images: np.ndarray, k: int) -> TSNMF:
    return TSNMF(k, random_state=0, **nearest_neighbors(images))


def plain(images: np.ndarray, mask: np.ndarray, k: int) -> np.ndarray:
    return clusterer(images, k).fit_predict(images)


def told(images: np.ndarray, mask: np.ndarray, k: int) -> np.ndarray:
    """What could be reached if the damage were known."""
    return clusterer(images, k).fit_predict(images, mask=mask)


def low_rank(images: np.ndarray, mask: np.ndarray, k: int) -> np.ndarray:
    """A sparse residual taken off first."""
    model = RobustPCA().fit(images)
    rows = model.inverse_transform(model.coefficients_)
    return clusterer(images, k).fit_predict(rows.reshape(images.shape))


def found(*cuts: float) -> Clusterer:
    """Entries far from the completion of the others, taken for missing.

    Each cut is in robust deviations; all but the last only make the next completion
    better.
    """

    def labels(images: np.ndarray, mask: np.ndarray, k: int) -> np.ndarray:
        odd = odd_entries(images[:, None], cuts)[:, 0]
        return clusterer(images, k).fit_predict(images, mask=odd)

    return labels


def odd_entries(samples: np.ndarray, cuts: tuple[float, ...]) -> np.ndarray:
    odd = np.zeros(samples.shape, dtype=bool)
    for cut in cuts:
        known = np.where(odd, 0.0, samples)
        completion = learn_completion(known, odd)
        off = np.abs(samples - completion.smooth(complete(known, odd, completion)))
        odd = off > cut * 1.4826 * np.median(off)
        odd &= ~odd.all(axis=(1, 2, 3), keepdims=True)
    return odd


WAYS: dict[str, Clusterer] = {
    "as they are": plain,
    "RobustPCA first": low_rank,
    "found, cut 5": found(5, 5, 5, 5),
    "found, cuts rising to 5": found(1, 1.5, 2, 3, 5),
    "found, cut 3": found(3, 3, 3, 3),
    "told": told,
}


def scores(name: str, damage: str, subset: int) -> list[float]:
    """The accuracy of every way, in percent."""
    data = datasets.load(name, download=False)
    few = datasets.sample_classes(data.target, SETS[name], subset)
    few = np.random.RandomState(subset).permutation(few)[:MOST]
    images, target = data.images[few].astype(float), data.target[few]
    broken, mask = damaged(images, *DAMAGE[damage], subset)
    accuracies = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for way in WAYS.values():
            try:
                labels = way(broken, mask, SETS[name])
                accuracies.append(100 * clustering_accuracy(target, labels))
            except ValueError:  # no low-rank part was left
                accuracies.append(float("nan"))
    return accuracies


def report(jobs: int) -> str:
    lines = [f"| images | damage | {' | '.join(WAYS)} |"]
    lines.append("| --- " * (len(WAYS) + 2) + "|")
    cases = [(name, damage) for name in SETS for damage in DAMAGE]
    runs = Parallel(jobs)(
        delayed(scores)(*case, subset) for case in cases for subset in range(SUBSETS)
    )
    by_case = np.reshape(runs, (len(cases), SUBSETS, len(WAYS))).mean(axis=1)
    for (name, damage), means in zip(cases, by_case, strict=True):
        shown = " | ".join(f"{mean:.1f}" for mean in means)
        lines.append(f"| {name} | {damage} | {shown} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    pages.publish(report(options.jobs), MARKER, options.into)
