"""Channels of matrices that are no images, and of colours, into docs/channels.md.

The matrices are generated; photos are read from the folder ``photos`` of the data.
"""

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pages
from PIL import Image

from twofold import TSNMF
from twofold.channels import BANKS, PIXELS, OrientedGradients
from twofold.core.arrays import to_numpy
from twofold.estimators.mapping import bank_of
from twofold.estimators.problem import read_given
from twofold.metrics import clustering_accuracy

MARKER = "<!-- measured by benchmarks/channels.py: {} -->"
N, K, SEEDS = 300, 4, range(3)

Labelled = tuple[np.ndarray, np.ndarray]
"""Samples (n, h, w) and their classes (n,)."""


def time_series(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Twelve sensors, mixed differently in each class, autoregressive in time."""
    mixing = rng.normal(size=(K, 12, 12)) / np.sqrt(12)
    state, steps = np.zeros((N, 12)), []
    for _ in range(30):
        state = 0.9 * state + 0.4 * rng.normal(size=(N, 12))
        steps.append(np.einsum("nij,nj->ni", mixing[y], state))
    return np.stack(steps, axis=1)


def waves(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Ten sensors with a sine each, of its own frequency and phase in each class."""
    frequency, phase = rng.uniform(0.5, 3, (K, 10)), rng.uniform(0, 6, (K, 10))
    time = np.linspace(0, 2 * np.pi, 32)[:, None]
    means = np.sin(frequency[:, None] * time + phase[:, None])
    return means[y] + 0.8 * rng.normal(size=(N, 32, 10))


def tables(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """A random table for each class, and noise."""
    return rng.normal(size=(K, 16, 16))[y] + 2.5 * rng.normal(size=(N, 16, 16))


def covariances(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Covariance matrices of 60 draws."""
    factor = 0.5 * rng.normal(size=(K, 14, 14)) + np.eye(14)
    draws = rng.normal(size=(N, 60, 14)) @ np.swapaxes(factor[y], 1, 2)
    return np.swapaxes(draws, 1, 2) @ draws / 60


def low_rank(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Matrices of rank two in the row and column space of their class, and noise."""
    left, right = rng.normal(size=(K, 20, 2)), rng.normal(size=(K, 24, 2))
    weights = rng.normal(size=(N, 2))
    samples = np.einsum("nhr,nr,nwr->nhw", left[y], weights, right[y])
    return samples + 0.5 * rng.normal(size=(N, 20, 24))


def chirps(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Spectrograms of tones that rise or fall at the rate of their class."""
    pitch, time = np.arange(32)[:, None], np.linspace(-0.5, 0.5, 32)
    rate = np.linspace(-12, 12, K)[y][:, None, None]
    centre = 16 + rate * time + 2 * rng.normal(size=(N, 1, 1))
    loud = np.exp(-((pitch - centre) ** 2) / 6)
    return loud + 0.3 * rng.random((N, 32, 32))


def mats(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Pressure mats: two warm spots near the places of the class."""
    places = rng.uniform(3, 12, (K, 2, 2))[y] + 0.8 * rng.normal(size=(N, 2, 2))
    rows, columns = np.mgrid[:16, :16]
    down, across = (places[..., i, None, None] for i in (0, 1))
    spots = np.exp(-((rows - down) ** 2 + (columns - across) ** 2) / 8)
    return spots.sum(axis=1) + 0.15 * rng.random((N, 16, 16))


GENERATORS: tuple[Callable[[np.random.Generator, np.ndarray], np.ndarray], ...] = (
    time_series,
    waves,
    tables,
    covariances,
    low_rank,
    chirps,
    mats,
)


def accuracy(
    samples: np.ndarray, target: np.ndarray, channels: str, seed: int
) -> float:
    k = len(np.unique(target))
    labels = TSNMF(k, channels=channels, random_state=seed).fit_predict(samples)
    return 100 * clustering_accuracy(target, labels)


def matrices() -> str:
    """What every bank is worth on generated matrices, and what "auto" takes."""
    lines = [f"| accuracy | {' | '.join(BANKS)} | auto | it takes |"]
    lines.append("| --- " * (len(BANKS) + 3) + "|")
    for generator in GENERATORS:
        found: dict[str, list[float]] = {name: [] for name in (*BANKS, "auto")}
        taken = set()
        for seed in SEEDS:
            target = np.arange(N) % K
            samples = generator(np.random.default_rng(seed), target)
            for channels, values in found.items():
                values.append(accuracy(samples, target, channels, seed))
            bank = bank_of("auto", read_given(TSNMF(K), samples))
            taken |= {name for name, each in BANKS.items() if each is bank}
        cells = [f"{np.mean(values):.1f}" for values in found.values()]
        name = generator.__name__.replace("_", " ")
        lines.append(f"| {name} | {' | '.join([*cells, ', '.join(sorted(taken))])} |")
    return "\n".join(lines)


def photos(folder: Path) -> Labelled:
    """Photos of a folder in 48 x 48 pixels, shuffled; their folders are the classes."""
    paths = sorted(path for path in folder.glob("*/*") if path.is_file())
    paths = [paths[i] for i in np.random.RandomState(0).permutation(len(paths))]
    pictures = [Image.open(path).convert("RGB").resize((48, 48)) for path in paths]
    classes = np.unique([path.parent.name for path in paths], return_inverse=True)[1]
    return np.stack([np.asarray(picture, dtype=float) for picture in pictures]), classes


def ways(images: np.ndarray, pooling: float) -> dict[str, np.ndarray]:
    """Maps of colour images, made in three ways."""

    def maps(stack: np.ndarray) -> np.ndarray:
        return to_numpy(OrientedGradients(pooling=pooling).transform(stack))

    each = [maps(images[..., c]) for c in range(images.shape[-1])]
    return {
        f"grey, pooling {pooling:g}": maps(images.mean(axis=-1)),
        f"strongest channel, pooling {pooling:g}": maps(images),
        f"each channel, pooling {pooling:g}": np.concatenate(each, axis=-1),
    }


def colours() -> str:
    """Accuracy on the folders of photos of three ways to treat colours."""
    data = Path(os.environ.get("TWOFOLD_DATA", "../shared/data")) / "photos"
    folders = sorted(folder for folder in data.iterdir() if folder.is_dir())
    found: dict[str, list[str]] = {}
    for folder in folders:
        images, target = photos(folder)
        maps = {"pixels": images, **ways(images, 1.0), **ways(images, 2.0)}
        for name, samples in maps.items():
            scores = [accuracy(samples, target, PIXELS, seed) for seed in SEEDS]
            found.setdefault(name, []).append(f"{np.mean(scores):.1f}")
    head = "| accuracy | " + " | ".join(folder.name for folder in folders) + " |"
    rows = [f"| {name} | {' | '.join(cells)} |" for name, cells in found.items()]
    return "\n".join([head, "| --- " * (1 + len(folders)) + "|", *rows])


PARTS = {"matrices": matrices, "colours": colours}


def main() -> None:
    parser = pages.parser(__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.only.split(","):
        pages.publish(PARTS[name](), MARKER.format(name), options.into)


if __name__ == "__main__":
    main()
