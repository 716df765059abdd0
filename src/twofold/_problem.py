"""From parameters and X to what the solver takes: samples, settings and starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from twofold._samples import divisors, read_samples, sample_norms, scaled, typical_norm
from twofold.core import initial
from twofold.core.arrays import Array, like
from twofold.core.compact import compact, expand
from twofold.core.solver import Progress, solve
from twofold.core.state import Settings, Solution

_MOST_DIRECTIONS = 5
"""What ``n_directions=None`` stands for."""

_LIFT = 1e-3
"""Entries of a given start are at least this fraction of its largest one."""


@dataclass(frozen=True)
class Problem:
    """One reading of X by an estimator.

    Attributes
    ----------
    samples : array of shape (n, c, h, w)
        Divided by ``divisor``.
    shape : tuple of int
        Of one sample as the user gave it.
    divisor : array of shape (n,)
    typical_norm : float
        Of the samples as given; it gives centroids back the unit of the pixels.
    settings : Settings
    n_clusters : int
    init : str or array of shape (n, k)
    seeds : list of int
        Of the starts.
    labels_seed : int
        Of the final K-means.
    """

    samples: Array
    shape: tuple[int, ...]
    divisor: Array
    typical_norm: float
    settings: Settings
    n_clusters: int
    init: str | np.ndarray
    seeds: list[int]
    labels_seed: int

    def solve(
        self, weights: Sequence[tuple[float, float]], progress: Progress
    ) -> list[list[Solution]]:
        """All starts under each (lambda_1, lambda_2), as one batch of runs."""
        samples, bases = compact(self.samples, self.settings.n_directions)
        energies = {energy for energy, _ in weights}
        starts = {energy: self._starts(samples, energy) for energy in energies}
        start = np.concatenate([starts[energy] for energy, _ in weights])
        runs = len(start) // len(weights)
        energy, graph = np.repeat(np.asarray(weights, dtype=float), runs, axis=0).T
        solutions = solve(
            samples, like(start, samples), energy, graph, self.settings, progress
        )
        solutions = [expand(solution, bases) for solution in solutions]
        return [solutions[i : i + runs] for i in range(0, len(solutions), runs)]

    def _starts(self, samples: Array, energy_weight: float) -> np.ndarray:
        """V^0 of every run under one lambda_1: (runs, n, k)."""
        if not isinstance(self.init, str):
            return self.init[None]
        return initial.starts(
            samples,
            self.n_clusters,
            self.init,
            self.settings,
            energy_weight,
            self.seeds,
        )


def read_problem(estimator: Any, X: Any) -> Problem:
    """Validate X against the parameters of ``estimator`` and draw the starts."""
    samples, shape = read_samples(estimator, X, estimator.sample_shape, reset=True)
    n, k = samples.shape[0], estimator.n_clusters
    if n < k:
        raise ValueError(
            f"n_clusters={k} must be at most the number of samples, got n_samples={n}"
        )
    norms = sample_norms(samples)
    typical = typical_norm(norms)
    divisor = divisors(norms, estimator.scale, typical)
    samples = scaled(samples, divisor)
    settings = Settings(
        n_directions=_directions(estimator.n_directions, samples.shape[2:]),
        n_neighbors=estimator.n_neighbors,
        graph=estimator.graph,
        max_iter=estimator.max_iter,
        tol=estimator.tol,
    )
    random_state = estimator.random_state
    if random_state is None:  # NumPy's global state stays out of it
        random_state = np.random.RandomState()
    random_state = check_random_state(random_state)
    *seeds, last = random_state.randint(2**31 - 1, size=estimator.n_init + 1).tolist()
    init = estimator.init
    if not isinstance(init, str):
        init = _given_start(init, (n, k))
    return Problem(samples, shape, divisor, typical, settings, k, init, seeds, last)


def lowest(solutions: list[Solution]) -> Solution:
    """The first solution whose objective is the lowest but for rounding."""
    totals = np.array([solution.history["total"][-1] for solution in solutions])
    rounding = 1e-9 * np.abs(totals).max()
    return solutions[np.flatnonzero(totals <= totals.min() + rounding)[0]]


def _directions(wanted: Any, sides: tuple[int, ...]) -> tuple[int, int]:
    """The (left, right) numbers of directions, each capped at its side (h, w)."""
    if wanted is None:
        wanted = min(_MOST_DIRECTIONS, max(sides))
    pair = (wanted, wanted) if isinstance(wanted, Integral) else tuple(wanted)
    if len(pair) != 2 or any(not isinstance(r, Integral) or int(r) < 1 for r in pair):
        raise ValueError(
            "n_directions must be a positive integer or a (left, right) pair of them, "
            f"got {wanted!r}"
        )
    if max(pair) > max(sides):
        raise ValueError(
            f"n_directions={wanted!r} must be at most the larger side of the samples, "
            f"which are {sides[0]} x {sides[1]}"
        )
    return min(int(pair[0]), sides[0]), min(int(pair[1]), sides[1])


def _given_start(init: Any, shape: tuple[int, int]) -> np.ndarray:
    start = np.asarray(init, dtype=float)
    if start.shape != shape:
        raise ValueError(
            f"init must be of shape (n_samples, n_clusters)={shape}, got {start.shape}"
        )
    if not (start.min() >= 0 and 1e-100 <= start.max() <= 1e100):
        raise ValueError(
            "init must hold nonnegative coefficients, the largest between 1e-100 and "
            f"1e100, got values from {start.min()} to {start.max()}"
        )
    return np.maximum(start, _LIFT * start.max())
