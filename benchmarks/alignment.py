"""What shifts and turns of images cost in accuracy, and how much alignment brings back.

Pixels and gradients of real images are clustered by TSNMF's defaults, with the images
as they are, with each shifted by a random number of pixels along each axis (edge pixels
continued), and with each turned by a random angle (likewise).
"""

import sys
import time
import warnings
from typing import NamedTuple

import defaults
import numpy as np
import pages
from joblib import Parallel, delayed
from scipy import ndimage
from threadpoolctl import threadpool_limits

from twofold import TSNMF
from twofold.metrics import clustering_accuracy

MARKER = "<!-- measured by benchmarks/alignment.py -->"

SETS = ("yale", "jaffe", "notmnist", "coil20", "mnist-2000", "orl")
ALIGNED = ("eyaleb-5", "spoken_digits")
"""Measured as they are only: light and sound, in which nothing is to be moved."""
CHANNELS = ("pixels", "gradients")
REMEDIES: dict[str, bool | str] = {
    "as they come": False,
    '`align="shifts"`': "shifts",
    "`align=True`": True,
}


class Disturbance(NamedTuple):
    """What is done to each image, up to a random share of it."""

    name: str
    shift: int  # pixels along each axis
    turn: float  # degrees


DISTURBANCES = (
    Disturbance("none", 0, 0.0),
    Disturbance("shifts up to 4", 4, 0.0),
    Disturbance("turns up to 45°", 0, 45.0),
)


class Score(NamedTuple):
    """Means over the seeds, by channels."""

    accuracy: list[float]  # in percent
    seconds: list[float]  # of the fit


def disturbed(images: np.ndarray, by: Disturbance, seed: int) -> np.ndarray:
    """Images (n, h, w), each moved by itself."""
    rng = np.random.RandomState(100 + seed)
    shifts = rng.randint(-by.shift, by.shift + 1, size=(len(images), 2))
    turns = rng.uniform(-by.turn, by.turn, size=len(images))
    moved = images.astype(float)
    for i, (shift, turn) in enumerate(zip(shifts, turns, strict=True)):
        image = ndimage.shift(moved[i], shift, order=1, mode="nearest")
        if turn:
            image = ndimage.rotate(image, turn, reshape=False, order=1, mode="nearest")
        moved[i] = image
    return moved


def score(
    name: str, by: Disturbance, align: bool | str, channels: str, seed: int
) -> tuple[float, float]:
    """Accuracy in percent of one fit, and its seconds."""
    images, target = defaults.load(name)
    images = disturbed(images, by, seed)
    model = TSNMF(
        len(np.unique(target)), align=align, channels=channels, random_state=seed
    )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        labels = model.fit_predict(images)
        seconds = time.perf_counter() - begin
    return 100 * clustering_accuracy(target, labels), seconds


def mean_score(name: str, by: Disturbance, remedy: str, seeds: int, jobs: int) -> Score:
    """The mean over the seeds, for each of the channels."""
    calls = (
        delayed(score)(name, by, REMEDIES[remedy], channels, seed)
        for channels in CHANNELS
        for seed in range(seeds)
    )
    found = np.reshape(Parallel(n_jobs=jobs)(calls), (len(CHANNELS), seeds, 2))
    accuracy, seconds = found.mean(axis=1).T.tolist()
    print(name, by.name, remedy, accuracy, seconds, file=sys.stderr)
    return Score(accuracy, seconds)


def table(by: Disturbance, names: tuple[str, ...], seeds: int, jobs: int) -> list[str]:
    """Accuracies of pixels and gradients under one disturbance, a row a remedy."""
    lines = [f"| {by.name} | " + " | ".join(names) + " |", "| --- " * (len(names) + 1)]
    lines[1] += "|"
    rows = {
        remedy: [mean_score(name, by, remedy, seeds, jobs) for name in names]
        for remedy in REMEDIES
    }
    for remedy, scores in rows.items():
        cells = [" / ".join(f"{a:.1f}" for a in each.accuracy) for each in scores]
        lines.append(f"| {remedy} | " + " | ".join(cells) + " |")
    if by.name == "none":
        plain, *_, last = rows.values()
        pairs = zip(last, plain, strict=True)
        ratios = [f"{one.seconds[1] / other.seconds[1]:.1f}" for one, other in pairs]
        lines.append("| time of the last over the first | " + " | ".join(ratios) + " |")
    return [*lines, ""]


def report(
    sets: tuple[str, ...], aligned: tuple[str, ...], seeds: int, jobs: int
) -> str:
    """All tables."""
    lines = [f"Accuracy of pixels / of gradients, in percent; seeds: {seeds}.", ""]
    for by in DISTURBANCES:
        lines += table(by, sets + aligned if by.name == "none" else sets, seeds, jobs)
    return "\n".join(lines).rstrip()


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--only", nargs="+", help="data sets")
    parser.add_argument("--seeds", type=int, default=1, help="disturbances and fits")
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    options = parser.parse_args()
    sets = tuple(options.only) if options.only else SETS
    aligned = () if options.only else ALIGNED
    text = report(sets, aligned, options.seeds, options.jobs)
    pages.publish(text, MARKER, options.into)
