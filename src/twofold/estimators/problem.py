"""From parameters and X to what the solver takes: samples, settings and starts."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array, is_torch_array
from sklearn.utils import check_random_state

from twofold.core.arrays import Array, like, map_arrays, positive_or_one, take, to_numpy
from twofold.core.compact import compact_sides, expand
from twofold.core.devices import check_device, on_device, within_memory
from twofold.core.grams import Side, both_sides, both_ways
from twofold.core.graphs import default_kind, graph_kind
from twofold.core.missing.completion import Completion
from twofold.core.neighbors.approximate import load_index_library
from twofold.core.solver import Progress, solve
from twofold.core.start import starts as draw_starts
from twofold.core.state import Settings, Solution
from twofold.estimators.missing import completed, learn_missing, read_incomplete
from twofold.estimators.order import Rows, content_order
from twofold.estimators.samples import (
    are_vectors,
    check_finite,
    divisors,
    is_count,
    ordered_and_scaled,
    read_directions,
    read_numbers,
    sample_norms,
    typical_norm,
)

_FEWEST_DIRECTIONS, _FEWEST_FEATURES = 4, 32
"""What ``n_directions=None`` keeps of a side: directions, or entries if narrower."""

_LIFT = 1e-3
"""Entries of a given start are at least this fraction of its largest one."""

_COUNTS = ("n_clusters", "n_neighbors", "n_init", "max_iter")
"""Parameters that are positive integers, or None where scikit-learn let it pass."""

Pair = tuple[float, float]


@dataclass(frozen=True)
class Problem:
    """One reading of X by an estimator.

    Attributes
    ----------
    samples : array of shape (n, c, h, w)
        Divided by ``divisor`` and put into ``order``.
    shape : tuple of int
        Of one sample as the user gave it.
    order : array of shape (n,)
        Which of the given samples comes first, second, ...: see ``content_order``.
    group : array of shape (n,)
        The same number for identical samples.
    divisor : array of shape (n,)
    typical_norm : float
        Of the samples as given; it gives centroids back the unit of the pixels.
    scale : {"sample", "global"}
    settings : Settings
    n_clusters : int
    init : str or array of shape (n, k)
    seeds : list of int
        Of the starts.
    labels_seed : int
        Of the final K-means.
    missing : boolean array of shape (n, c, h, w), or None
        Which entries of the samples are guesses, if any.
    completion : Completion or None
        Of the samples as given, where some may be missing.
    device : str or None
        Where to solve it, if not where the samples lie.
    """

    samples: Array
    shape: tuple[int, ...]
    order: np.ndarray
    group: np.ndarray
    divisor: Array
    typical_norm: float
    scale: str
    settings: Settings
    n_clusters: int
    init: str | np.ndarray
    seeds: list[int]
    labels_seed: int
    missing: Array | None
    completion: Completion | None
    device: str | None = None

    def solve(
        self, weights: Sequence[Pair], progress: Progress
    ) -> list[list[Solution]]:
        """All starts under each (lambda_1, lambda_2), as one batch of runs.

        On a device with little memory it may be several.
        """
        if self.device is not None:
            return self._solve_there(self.device, weights, progress)
        samples, missing = self.samples, self.missing
        r = self.settings.n_directions
        if missing is None:
            samples, sides, long_sides = compact_sides(samples, r)
        else:
            long_sides = sides = both_sides(samples, r)
        distinct = dict.fromkeys(energy for energy, _ in weights)
        starts = {energy: self.starts(samples, sides, energy) for energy in distinct}
        start = np.concatenate([starts[energy] for energy, _ in weights])
        runs = len(start) // len(weights)
        pairs = np.repeat(np.asarray(weights, dtype=float), runs, axis=0)

        def solve_some(part: np.ndarray) -> list[Solution]:
            first, (energy, graph) = like(start[part], samples), pairs[part].T
            return solve(
                samples, sides, first, energy, graph, self.settings, progress, missing
            )

        solutions = within_memory(solve_some, len(start))
        if samples is not self.samples:
            solutions = [expand(solution, long_sides) for solution in solutions]
        return [solutions[i : i + runs] for i in range(0, len(solutions), runs)]

    def _solve_there(
        self, device: str, weights: Sequence[Pair], progress: Progress
    ) -> list[list[Solution]]:
        """``solve`` on a device, the solutions brought back to where X lies."""
        samples, missing = map_arrays(
            (self.samples, self.missing), lambda array: on_device(array, device)
        )
        there = replace(self, samples=samples, missing=missing, device=None)
        return [
            [solution.moved(self.samples) for solution in solutions]
            for solutions in there.solve(weights, progress)
        ]

    def starts(
        self, samples: Array, sides: tuple[Side, ...], energy_weight: float
    ) -> np.ndarray:
        """V^0 of every run under one lambda_1: (runs, n, k)."""
        if not isinstance(self.init, str):
            return self.init[None]
        return draw_starts(
            samples,
            sides,
            k=self.n_clusters,
            kind=self.init,
            settings=self.settings,
            energy_weight=energy_weight,
            seeds=self.seeds,
        )

    def as_given(self, array: Array) -> Array:
        """What belongs to the samples, back in the order in which they were given."""
        return take(array, np.argsort(self.order))


def read_problem(estimator: Any, X: Any, mask: Any = None) -> Problem:
    """Validate X against the parameters of ``estimator`` and draw the starts."""
    check_counts(estimator, _COUNTS)
    check_device(estimator.device)
    samples, missing, shape = read_incomplete(
        estimator, X, estimator.sample_shape, mask, reset=True
    )
    in_numpy = is_numpy_array(samples) and estimator.device is None
    if estimator.neighbors == "approximate" and in_numpy:
        load_index_library()
    n, k = samples.shape[0], estimator.n_clusters
    check_enough("n_clusters", k, n)
    check_weights([(estimator.energy_weight, estimator.graph_weight)], samples)
    init = estimator.init
    if not isinstance(init, str):
        init = given_start(init, (n, k), samples)
    scale = estimator.scale
    if scale == "auto":  # the lengths of vectors tell them apart
        scale = "global" if are_vectors(samples) else "sample"
    norms, completion = sample_norms(samples), None
    order, group = _order(samples, norms, missing, scale)
    places = order  # where the samples lie now
    if missing is not None:
        samples, missing = take(samples, order), take(missing, order)
        completion = learn_missing(samples, missing)
        samples = completed(samples, missing, completion)
        missing = missing if array_namespace(missing).any(missing) else None
        norms, places = sample_norms(samples), np.arange(n)
    norms = take(norms, places)
    typical = typical_norm(norms)
    divisor = divisors(norms, scale, typical)
    *seeds, last = draw_seeds(estimator.random_state, estimator.n_init + 1)
    return Problem(
        samples=ordered_and_scaled(samples, places, divisor),
        shape=shape,
        order=order,
        group=group,
        divisor=divisor,
        typical_norm=typical,
        scale=scale,
        settings=_settings(estimator, samples),
        n_clusters=k,
        init=init if isinstance(init, str) else init[order],
        seeds=seeds,
        labels_seed=last,
        missing=missing,
        completion=completion,
        device=estimator.device,
    )


def _settings(estimator: Any, samples: Array) -> Settings:
    if estimator.graph == "auto":
        kind = default_kind(math.prod(samples.shape[1:]))
    else:
        kind = graph_kind(estimator.graph)
    vectors = are_vectors(samples)
    usual = kind.n_neighbors_of_vectors if vectors else kind.n_neighbors
    return Settings(
        n_directions=_directions(estimator.n_directions, samples.shape[1:]),
        n_neighbors=estimator.n_neighbors or usual,
        graph=kind.name,
        neighbors=estimator.neighbors,
        max_iter=estimator.max_iter,
        tol=estimator.tol,
    )


def _order(
    samples: Array, norms: Array, missing: Array | None, scale: str
) -> tuple[np.ndarray, np.ndarray]:
    """``content_order`` of the samples as the fit sees them, but for rounding."""
    norms = to_numpy(norms)
    by_norm = np.argsort(norms, kind="stable")  # decides between what is else alike
    rows = _rounded_rows(samples, norms, missing, scale)
    columns = np.arange(math.prod(samples.shape[1:])).reshape(samples.shape[1:])
    transposed = both_ways(columns)[0].reshape(-1)
    if scale == "global":  # the norm stays where it is
        transposed = np.append(transposed, columns.size)
    return content_order(rows, by_norm, transposed)


def _rounded_rows(
    samples: Array, norms: np.ndarray, missing: Array | None, scale: str
) -> Rows:
    """Entries of samples by index, in units of the rounding in terms of their norms."""
    step = 1e-9 if norms.dtype == np.float64 else 1e-5
    if step > 1e-9 and scale == "sample":  # brightness is divided out with more error
        step = 0.01 / math.prod(samples.shape[1:]) ** 0.5
    sizes = positive_or_one(norms)
    lengths = norms / sizes.max()
    numbers = to_numpy(samples)
    holes = None if missing is None else to_numpy(missing)

    def rows(indices: np.ndarray) -> np.ndarray:
        flat = numbers[indices].reshape(len(indices), -1) / sizes[indices, None]
        if holes is not None:  # what is missing in both is alike, and no number is 2
            flat[holes[indices].reshape(flat.shape)] = 2.0
        if scale == "global":
            flat = np.column_stack([flat, lengths[indices]])
        return np.rint(flat / step).astype(np.int32)

    return rows


def lowest(solutions: list[Solution]) -> Solution:
    """The first solution whose objective is the lowest but for rounding."""
    totals = np.array([solution.history["total"][-1] for solution in solutions])
    rounding = 1e-9 * np.abs(totals).max()
    return solutions[np.flatnonzero(totals <= totals.min() + rounding)[0]]


def read_pairs(weights: Any) -> list[tuple[Any, Any]]:
    """The (energy_weight, graph_weight) pairs of a sweep, themselves unchecked."""
    if is_torch_array(weights):
        weights = weights.tolist()
    try:
        pairs = [(energy, graph) for energy, graph in weights]
    except (TypeError, ValueError):
        pairs = []
    if not pairs:
        raise ValueError(
            "weights must be a list of (energy_weight, graph_weight) pairs, got "
            f"{weights!r}"
        )
    return pairs


def check_enough(name: str, k: int, n: int) -> None:
    """Refuse more clusters or components, called ``name``, than samples."""
    if n < k:
        raise ValueError(
            f"{name}={k} must be at most the number of samples, got n_samples={n}"
        )


def check_weights(pairs: Iterable[Pair], samples: Array) -> None:
    """Refuse weights whose products with the samples would overflow."""
    for energy, graph in pairs:
        check_weight("energy_weight", energy, samples)
        check_weight("graph_weight", graph, samples)


def check_weight(name: str, weight: float, samples: Array) -> None:
    """Refuse a weight whose products with the samples would overflow."""
    limit = float(array_namespace(samples).finfo(samples.dtype).max) ** 0.5
    if weight > limit:
        raise ValueError(
            f"{name} must be at most {limit:.0e} for samples of {samples.dtype}, got "
            f"{weight}"
        )


def draw_seeds(random_state: Any, count: int) -> list[int]:
    """Seeds for parts of a fit that are not to depend on each other."""
    if random_state is None:  # NumPy's global state stays out of it
        random_state = np.random.RandomState()
    return check_random_state(random_state).randint(2**31 - 1, size=count).tolist()


def check_counts(estimator: Any, names: Iterable[str]) -> None:
    """Refuse True, which scikit-learn's own validation takes for 1."""
    for name in names:
        value = getattr(estimator, name)
        if value is not None and not is_count(value):
            raise ValueError(f"{name} must be a positive integer, got {value!r}")


def _directions(wanted: Any, sample: tuple[int, ...]) -> tuple[int, int]:
    """The (left, right) numbers of directions of samples (c, h, w), each capped."""
    channels, height, width = sample
    if wanted is None:
        # A direction of the rows keeps one number for each column, and vice versa.
        kept = (channels * width, channels * height)
        pair = tuple(max(_FEWEST_DIRECTIONS, -(-_FEWEST_FEATURES // m)) for m in kept)
        return min(pair[0], height), min(pair[1], width)
    pair = read_directions(wanted)
    if max(pair) > max(height, width):
        raise ValueError(
            f"n_directions={wanted!r} must be at most the larger side of the samples, "
            f"which are {height} x {width}"
        )
    return min(pair[0], height), min(pair[1], width)


def given_start(
    init: Any, shape: tuple[int, int], samples: Array, columns: str = "n_clusters"
) -> np.ndarray:
    """Coefficients that the user starts from, validated and lifted off zero.

    Errors call the number of their columns ``columns``.
    """
    start = np.asarray(to_numpy(read_numbers(init, "init")), dtype=float)
    if start.shape != shape:
        raise ValueError(
            f"init must be of shape (n_samples, {columns})={shape}, got {start.shape}"
        )
    check_finite(start, "init")
    limit = float(array_namespace(samples).finfo(samples.dtype).max) ** 0.25
    if not (start.min() >= 0 and 1 / limit <= start.max() <= limit):
        raise ValueError(
            f"init must hold nonnegative coefficients, the largest between "
            f"{1 / limit:.0e} and {limit:.0e}, got values from {start.min()} to "
            f"{start.max()}"
        )
    return np.maximum(start, _LIFT * start.max())
