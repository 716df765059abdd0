"""What the benchmark times: TSNMF and its peers.

Each function prepares a piece of work on images (n, h, w) in k classes, and the work
returns what it ``Fitted``. Preparation is not timed.
"""

import importlib
import itertools
import time
import warnings
from typing import Any
from unittest import mock

import numpy as np
import textbook as vectorised
from perf_process import Fitted, Work
from settings import NEAREST
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import NMF

from twofold import TSNMF, AutoTSNMF
from twofold.core.arrays import to_numpy
from twofold.core.grams import both_sides
from twofold.estimators.problem import read_problem

POWERS = [10.0**power for power in range(-3, 4)]
PAIRS = list(itertools.product(POWERS, POWERS))
DIRECTIONS = NEIGHBORS = 5
TEXTBOOK_ITERATIONS = 5


def build(k: int, neighbors: str = "exact", **options: Any) -> TSNMF:
    """A TSNMF whose neighbours are found in the given way."""
    usual: Any = {**NEAREST, "tol": 1e-2, "random_state": 0}
    return TSNMF(k, neighbors=neighbors, **{**usual, **options})


def ts_nmf(images: np.ndarray, k: int, **options: Any) -> Work:
    """A whole fit, with neighbours by distance and the paper's labels."""
    return whole_fit(build(k, **options), images)


def defaults(images: np.ndarray, k: int, **options: Any) -> Work:
    """A whole fit at the defaults, but for some options."""
    return whole_fit(TSNMF(k, random_state=0, **options), images)


def search(images: np.ndarray, k: int) -> Work:
    """A whole search, told the number of clusters."""
    model = AutoTSNMF(k, random_state=0)

    def work() -> Fitted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(images)
        return Fitted(to_numpy(model.labels_), model.best_estimator_.n_iter_)

    return work


def whole_fit(model: TSNMF, images: np.ndarray) -> Work:
    """From X to labels."""

    def work() -> Fitted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit may be told to stop early
            model.fit(images)
        return Fitted(to_numpy(model.labels_), model.n_iter_)

    return work


def textbook(images: np.ndarray, k: int, model: Any, **options: Any) -> Work:
    """Some iterations of the vectorised textbook version, on what a fit starts from.

    ``model`` is ``build`` or TSNMF. The first step of U, which belongs to no iteration,
    is not counted.
    """
    problem = read_problem(model(k, random_state=0, **options), images)
    samples, settings = to_numpy(problem.samples), problem.options
    [start] = problem.starts(samples, both_sides(samples), [problem.weights])

    def work() -> Fitted:
        begin = time.perf_counter()
        vectorised.update_centroids(samples, start)
        once = time.perf_counter() - begin
        vectorised.ts_nmf(
            samples,
            start,
            n_directions=settings.n_directions,
            energy_weight=problem.weights["energy_weight"],
            graph_weight=problem.weights["graph_weight"],
            n_neighbors=settings.n_neighbors,
            n_iter=TEXTBOOK_ITERATIONS,
            graph=settings.graph,
        )
        return Fitted(iterations=TEXTBOOK_ITERATIONS, uncounted=2 * once)

    return work


def nmf(images: np.ndarray, k: int, max_iter: int = 100) -> Work:
    """scikit-learn's NMF by multiplicative updates, of flat images."""
    options: Any = {"solver": "mu", "init": "random", "tol": 0, "random_state": 0}
    model = NMF(k, max_iter=max_iter, **options)

    def work() -> Fitted:
        return Fitted(iterations=model.fit(images.reshape(len(images), -1)).n_iter_)

    return work


def spectral(images: np.ndarray, k: int) -> Work:
    """scikit-learn's SpectralClustering of a five-neighbour graph of flat images."""
    model = SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=NEIGHBORS, random_state=0
    )

    def work() -> Fitted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the graph need not be connected
            return Fitted(model.fit(images.reshape(len(images), -1)).labels_)

    return work


def kmeans(images: np.ndarray, k: int) -> Work:
    """scikit-learn's KMeans, the best of ten, of flat images."""
    model = KMeans(k, n_init=10, random_state=0)

    def work() -> Fitted:
        return Fitted(model.fit(images.reshape(len(images), -1)).labels_)

    return work


def sweep(images: np.ndarray, k: int) -> Work:
    """All pairs of weights in one call."""
    model = build(k)

    def work() -> Fitted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = model.fit_sweep(images, PAIRS)
        return Fitted(iterations=sum(fitted.n_iter_ for fitted in models))

    return work


def single_fits(images: np.ndarray, k: int) -> Work:
    """All pairs of weights, one fit after the other."""

    def work() -> Fitted:
        fits = [
            ts_nmf(images, k, energy_weight=energy, graph_weight=graph)()
            for energy, graph in PAIRS
        ]
        return Fitted(iterations=sum(fit.iterations or 0 for fit in fits))

    return work


def restarts(images: np.ndarray, k: int) -> Work:
    """As many starts as there are pairs, in one call."""
    return ts_nmf(images, k, n_init=len(PAIRS))


def single_starts(images: np.ndarray, k: int) -> Work:
    """As many starts, one fit after the other."""

    def work() -> Fitted:
        fits = [ts_nmf(images, k, random_state=seed)() for seed in range(len(PAIRS))]
        return Fitted(iterations=sum(fit.iterations or 0 for fit in fits))

    return work


def searched_share(
    images: np.ndarray, k: int, energy_weight: float, max_iter: int
) -> list[float]:
    """Full searches that the kept neighbour lists cost a fit, on the left and right.

    In every iteration each side makes new lists that say how many of their rows were
    searched anew; their sum over the fit, divided by n, is what is returned. The first
    lists count as 1, those of the start as well.
    """
    certified = importlib.import_module("twofold.core.neighbors.certified")
    lists_class, searched = certified.NeighborLists, []

    def recorded(*arguments: Any, **named: Any) -> Any:
        lists = lists_class(*arguments, **named)
        searched.append(lists.searched)
        return lists

    options: Any = {"n_directions": DIRECTIONS, "n_neighbors": NEIGHBORS, "tol": 0}
    fit = ts_nmf(images, k, energy_weight=energy_weight, max_iter=max_iter, **options)
    with mock.patch.object(certified, "NeighborLists", recorded):
        fit()
    return [sum(searched[side::2]) / len(images) for side in range(2)]


def gemm_rate(dtype: str, size: int = 3000, turns: int = 5) -> float:
    """Operations a second of the fastest product of two square matrices."""
    left, right = np.random.RandomState(0).uniform(size=(2, size, size)).astype(dtype)
    times = []
    for _ in range(turns):
        begin = time.perf_counter()
        left @ right
        times.append(time.perf_counter() - begin)
    return 2.0 * size**3 / min(times)
