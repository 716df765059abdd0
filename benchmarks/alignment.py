"""What shifts and turns of images cost in accuracy, and how much alignment brings back.

Pixels and coarse oriented gradients of real images are clustered by TSNMF's defaults,
with the images as they are, with each shifted by a random number of pixels along each
axis (edge pixels continued), and with each turned by a random angle (likewise).
"""

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import defaults
import numpy as np
import pages
from scipy import ndimage
from threadpoolctl import threadpool_limits

from twofold import TSNMF
from twofold.channels.align import align
from twofold.metrics import clustering_accuracy

MARKER = "<!-- measured by benchmarks/alignment.py -->"

SETS = ("yale", "jaffe", "notmnist", "coil20", "mnist-2000", "orl")
ALIGNED = ("eyaleb-5", "spoken_digits")
"""Measured as they are only: light and sound, in which nothing is to be moved."""
TURN = 45.0
REMEDIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "as they come": lambda images: images,
    "aligned by shifts": lambda images: aligned(images, 0.0),
    "by shifts and turns": lambda images: aligned(images, TURN),
}


class Disturbance(NamedTuple):
    name: str
    shift: int
    turn: float


DISTURBANCES = (
    Disturbance("none", 0, 0.0),
    Disturbance("shifts up to 4", 4, 0.0),
    Disturbance("turns up to 45°", 0, 45.0),
)


class Score(NamedTuple):
    """Accuracies in percent of the channels, and seconds."""

    pixels: float
    gradients: float
    remedy_s: float
    fit_s: float
    """Of gradients and their fit."""


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images and classes: of the paper, or of a file of that name in a folder more."""
    folder = Path(os.environ.get("TWOFOLD_DATA", "../shared/data")) / "more"
    file = folder / f"{name}.npz"
    if not file.exists():
        return defaults.load(name)
    with np.load(file) as arrays:
        return arrays["X"], arrays["y"]


def disturbed(images: np.ndarray, by: Disturbance, seed: int) -> np.ndarray:
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


def aligned(images: np.ndarray, max_turn: float) -> np.ndarray:
    return align(images[:, None], max_turn=max_turn)[1][:, 0]


def gradients(images: np.ndarray) -> np.ndarray:
    """Maps (n, h', w', 8) of the gradient in eight directions, coarsely smoothed."""
    images = ndimage.gaussian_filter(images.astype(float), (0, 0.7, 0.7))
    width = max(images.shape[1:]) / 16
    down, across = np.gradient(images, axis=(1, 2))
    place = np.arctan2(down, across) / (np.pi / 4)
    maps = []
    for direction in range(8):
        distance = np.abs((place - direction + 4) % 8 - 4)
        part = np.clip(1 - distance, 0, None) * np.hypot(down, across)
        part = ndimage.gaussian_filter(part, (0, width, width))
        maps.append(part[:, 1::2, 1::2])
    size = ndimage.gaussian_filter(sum(maps), (0, width, width))
    size = size + 0.05 * size.mean(axis=(1, 2), keepdims=True) + 1e-12
    return np.sqrt(np.stack(maps, axis=-1) / size[..., None])


def score(name: str, by: Disturbance, remedy: str, seed: int) -> Score:
    images, target = load(name)
    images = disturbed(images, by, seed)
    begin = time.perf_counter()
    images = REMEDIES[remedy](images)
    remedied = time.perf_counter()
    model = TSNMF(len(np.unique(target)), random_state=seed)
    ours = clustering_accuracy(target, model.fit_predict(gradients(images)))
    end = time.perf_counter()
    plain = clustering_accuracy(target, model.fit_predict(images))
    return Score(100 * plain, 100 * ours, remedied - begin, end - remedied)


def mean_score(name: str, by: Disturbance, remedy: str, seeds: int) -> Score:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = [score(name, by, remedy, seed) for seed in range(seeds)]
    mean = Score(*np.mean(scores, axis=0).tolist())
    print(name, by.name, remedy, *(f"{value:.2f}" for value in mean), file=sys.stderr)
    return mean


def table(by: Disturbance, names: tuple[str, ...], seeds: int) -> list[str]:
    """Accuracies of pixels and gradients under one disturbance, a row a remedy."""
    lines = [f"| {by.name} | " + " | ".join(names) + " |", "| --- " * (len(names) + 1)]
    lines[1] += "|"
    for remedy in REMEDIES:
        scores = [mean_score(name, by, remedy, seeds) for name in names]
        cells = [f"{s.pixels:.1f} / {s.gradients:.1f}" for s in scores]
        lines.append(f"| {remedy} | " + " | ".join(cells) + " |")
    ratios = [f"{1 + s.remedy_s / s.fit_s:.1f}" for s in scores]
    if by.name == "none":
        lines.append("| cost of the last, in fits | " + " | ".join(ratios) + " |")
    return [*lines, ""]


def report(sets: tuple[str, ...], seeds: int) -> str:
    lines = [f"Accuracy of pixels / of gradients, in percent; seeds: {seeds}.", ""]
    for by in DISTURBANCES:
        lines += table(by, sets + ALIGNED if by.name == "none" else sets, seeds)
    return "\n".join(lines).rstrip()


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--only", nargs="+", default=SETS, help="data sets")
    parser.add_argument("--seeds", type=int, default=1, help="disturbances and fits")
    options = parser.parse_args()
    text = report(tuple(options.only), options.seeds)
    pages.publish(text, MARKER, options.into)
