"""What copies of samples do to the clusters, and what they cost, merged and kept."""

import time

import numpy as np
import pages
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from twofold import TSNMF

MARKER = "<!-- measured by benchmarks/copies.py -->"

K, N, COPIES, TURNS = 10, 600, 1200, 3


def digits(n: int) -> np.ndarray:
    images = load_digits().images
    return images[np.random.RandomState(0).permutation(len(images))[:n]]


def model(duplicates: str) -> TSNMF:
    return TSNMF(K, duplicates=duplicates, random_state=0)


def agreement(copy: np.ndarray, duplicates: str) -> float:
    """Compare the labels of samples that come ``copy`` times with those of one each."""
    images = digits(N)
    origin = np.random.RandomState(1).permutation(np.repeat(np.arange(N), copy))
    once = model(duplicates).fit(images).labels_
    return float(
        adjusted_rand_score(once[origin], model(duplicates).fit(images[origin]).labels_)
    )


def seconds(images: np.ndarray, duplicates: str) -> float:
    """The time of an iteration from a random start, the fastest of some fits."""
    fits = []
    for _ in range(TURNS):
        options = {"init": "random", "max_iter": 10, "tol": 0.0}
        fitted = model(duplicates).set_params(**options)
        begin = time.perf_counter()
        fitted.fit(images)
        fits.append((time.perf_counter() - begin) / 10)
    return min(fits)


def report() -> str:
    some = 1 + (np.random.RandomState(2).uniform(size=N) < 0.2)
    crowd = np.concatenate([digits(N), np.repeat(digits(1), COPIES - 3, axis=0)])
    many = digits(N + COPIES - 3)  # all 1,797 digits
    lines = [
        "| `duplicates` | every sample twice | every fifth twice | 600 digits and "
        "1,197 copies of one | 1,797 digits | ratio |",
        "| --- " * 6 + "|",
    ]
    for duplicates in ("merge", "keep"):
        twice = agreement(np.full(N, 2), duplicates)
        fifth = agreement(some, duplicates)
        times = seconds(crowd, duplicates), seconds(many, duplicates)
        cells = " | ".join(f"{1e3 * t:.1f} ms" for t in times)
        lines.append(
            f"| {duplicates} | {twice:.2f} | {fifth:.2f} | {cells} | "
            f"{times[0] / times[1]:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)
