"""Approximate neighbours by our cells and by libraries: time, share found, MiB."""

import importlib
import time
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pages

from twofold import datasets
from twofold.core.neighbors.approximate import divide
from twofold.core.neighbors.exact import nearest

MARKER = "<!-- measured by benchmarks/indexes.py -->"

COUNT, COMPARED, SIZES = 30, 500, (10_000, 70_000)


def cells(points: np.ndarray) -> np.ndarray:
    """As TSNMF has it; the point itself is not among the neighbours."""
    return divide(points, COUNT).nearest(COUNT)[1]


def faiss_hnsw(points: np.ndarray) -> np.ndarray:
    """A graph of neighbours that is walked through."""
    index = importlib.import_module("faiss").IndexHNSWFlat(points.shape[1], 16)
    index.hnsw.efConstruction = 40
    index.add(points)
    index.hnsw.efSearch = 64
    return index.search(points, COUNT + 1)[1]


def faiss_ivf(points: np.ndarray) -> np.ndarray:
    """Cells of K-means, 16 of which are looked into."""
    faiss = importlib.import_module("faiss")
    d, cells = points.shape[1], int(4 * np.sqrt(len(points)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, cells)
    index.train(points)
    index.add(points)
    index.nprobe = 16
    return index.search(points, COUNT + 1)[1]


def pynndescent(points: np.ndarray) -> np.ndarray:
    """Neighbours of neighbours, at its defaults."""
    module = importlib.import_module("pynndescent")
    index = module.NNDescent(points, n_neighbors=COUNT + 1, random_state=0)
    return index.neighbor_graph[0]


def usearch(points: np.ndarray) -> np.ndarray:
    """HNSW as well."""
    index: Any = importlib.import_module("usearch.index").Index(
        ndim=points.shape[1], metric="l2sq", connectivity=16
    )
    index.add(np.arange(len(points)), points)
    return index.search(points, COUNT + 1).keys.astype(int)


FINDERS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "twofold, cells": ("twofold", cells),
    "Faiss, HNSW": ("faiss-cpu", faiss_hnsw),
    "Faiss, IVF": ("faiss-cpu", faiss_ivf),
    "PyNNDescent": ("pynndescent", pynndescent),
    "USearch": ("usearch", usearch),
}


def features(n: int) -> np.ndarray:
    """Digits (n, 140) of unit length, projected on five directions of most energy."""
    images = datasets.load("mnist", download=False).images
    chosen = images[np.random.RandomState(0).permutation(len(images))[:n]] / 255.0
    chosen /= np.linalg.norm(chosen, axis=(1, 2))[:, None, None]
    rows = chosen.reshape(-1, chosen.shape[2])
    directions = np.linalg.eigh(rows.T @ rows)[1][:, -5:]
    return (chosen @ directions).reshape(n, -1).astype(np.float32)


def share_found(found: np.ndarray, points: np.ndarray, q: int = 5) -> float:
    """Of the q nearest of some points, those that are listed."""
    some = np.random.RandomState(1).choice(len(points), COMPARED, replace=False)
    exact = nearest(points[None].astype(float), q + 1, points[None, some].astype(float))
    pairs = zip(exact[1][0][:, 1:], found[some], strict=True)
    return float(np.mean([np.isin(ours, listed).mean() for ours, listed in pairs]))


def installed_size(package: str) -> float:
    """MiB of the files of a package."""
    files = distribution(package).files or []
    return sum(Path(str(f.locate())).stat().st_size for f in files) / 2**20


def report() -> str:
    """A line for each library that is installed, at each size."""
    lines = [
        "| library | points | seconds, first call | seconds | nearest 5 found | "
        "the same twice | MiB |",
        "| --- " * 7 + "|",
    ]
    for name, (package, find) in FINDERS.items():
        try:
            size = installed_size(package)
        except ModuleNotFoundError:
            continue
        for n in SIZES:
            points, times, found = features(n), [], []
            for _ in range(2):
                begin = time.perf_counter()
                found.append(find(points))
                times.append(time.perf_counter() - begin)
            same = np.mean(found[0] == found[1])
            share = share_found(found[1], points)
            lines.append(
                f"| {name} | {n:,} | {times[0]:.1f} | {times[1]:.1f} | {share:.2%} | "
                f"{same:.2%} | {size:.0f} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)
