"""Checks of parameters that go beyond scikit-learn's own."""

import math
import reprlib
import sys
from collections.abc import Iterable
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from sklearn.utils import check_random_state

from twofold.core.arrays import Array, to_numpy
from twofold.core.graphs import default_kind, graph_kind
from twofold.core.neighbors.approximate import MANY_SAMPLES
from twofold.core.state import SolverOptions
from twofold.core.terms import TERMS
from twofold.estimators.reading import (
    are_vectors,
    check_finite,
    check_marker,
    is_count,
    read_numbers,
)

_MIN_FEATURES = 32
"""Minimum number of projected entries with ``n_directions=None``."""

COUNTS = ("n_clusters", "n_neighbors", "n_init", "max_iter")
"""Parameters of TSNMF that are positive integers, or None if that is accepted."""

_MAX_COUNT = 10**9
"""Largest value of such a parameter."""

_LIFT = 1e-3
"""Entries of a given start are at least this fraction of its largest entry."""


def solver_options(
    estimator: Any, samples: Array, n_directions: int = 4
) -> SolverOptions:
    """Return the options of the solver for samples (n, c, h, w).

    ``n_directions`` is the least number of directions if the estimator has None.
    """
    name, n_features = estimator.graph, math.prod(samples.shape[1:])
    kind = default_kind(n_features) if name == "auto" else graph_kind(name)
    vectors = are_vectors(samples)
    default = kind.n_neighbors_of_vectors if vectors else kind.n_neighbors
    return SolverOptions(
        n_directions=capped_directions(
            estimator.n_directions, samples.shape[1:], n_directions
        ),
        n_neighbors=estimator.n_neighbors or default,
        graph=kind.name,
        neighbors=search_name(estimator.neighbors, samples.shape[0]),
        max_iter=estimator.max_iter,
        tol=estimator.tol,
        eigen_tol=estimator.eigen_tol,
    )


def search_name(neighbors: str, n: int) -> str:
    """Return the search that the parameter ``neighbors`` stands for, for n samples."""
    if neighbors != "auto":
        return neighbors
    return "approximate" if n >= MANY_SAMPLES else "exact"


def check_parameters(model: Any) -> None:
    """Raise the errors of ``TSNMF.fit`` that do not depend on X."""
    model._validate_params()
    check_marker(model.missing_values)
    check_counts(model, COUNTS)
    if model.n_directions is not None:
        read_directions(model.n_directions)


def term_weights(estimator: Any, energy_weight: float = 1.0) -> dict[str, float]:
    """Return the weights of the terms of the objective, by parameter.

    ``energy_weight`` is taken if the estimator has None.
    """
    weights = {term.parameter: getattr(estimator, term.parameter) for term in TERMS}
    if weights["energy_weight"] is None:
        weights["energy_weight"] = energy_weight
    return weights


def read_directions(directions: Any) -> tuple[int, int]:
    """Return ``n_directions`` as a (left, right) pair of positive integers."""
    try:
        pair = (directions,) * 2 if is_count(directions) else tuple(directions)
    except TypeError:
        pair = ()
    if len(pair) != 2 or not all(map(is_count, pair)):
        raise ValueError(
            "n_directions must be a positive integer or a (left, right) pair of them, "
            f"got {directions!r}"
        )
    return int(pair[0]), int(pair[1])


def capped_directions(
    directions: Any, sample: tuple[int, ...], least: int = 4
) -> tuple[int, int]:
    """Return the (left, right) numbers of directions of samples (c, h, w), capped.

    ``least`` is the least default of each.
    """
    channels, height, width = sample
    # A direction of the rows keeps one number for each column, and vice versa.
    kept = channels * width, channels * height
    left, right = (max(least, -(-_MIN_FEATURES // m)) for m in kept)
    if directions is not None:
        left, right = read_directions(directions)
    if directions is not None and max(left, right) > max(height, width):
        raise ValueError(
            f"n_directions={directions!r} must be at most the larger side of the "
            f"samples, which are {height} x {width}"
        )
    return min(left, height), min(right, width)


def read_pairs(weights: Any) -> list[tuple[Any, Any]]:
    """Return the (energy_weight, graph_weight) pairs of a sweep, values unchecked."""
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
    """Raise a ValueError if the parameter ``name``, k, exceeds the n samples."""
    if n < k:
        raise ValueError(
            f"{name}={k} must be at most the number of samples, got n_samples={n}"
        )


def check_weights(weights: Iterable[dict[str, float]], samples: Array) -> None:
    """Apply ``check_weight`` to all weights, given by parameter."""
    for name, weight in chain.from_iterable(each.items() for each in weights):
        check_weight(name, weight, samples)


def check_weight(name: str, weight: float, samples: Array) -> None:
    """Raise a ValueError for a weight whose products with the samples overflow."""
    limit = float(array_namespace(samples).finfo(samples.dtype).max) ** 0.5
    if weight > limit:
        raise ValueError(
            f"{name} must be at most {limit:.0e} for samples of {samples.dtype}, got "
            f"{weight}"
        )


def draw_seeds(random_state: Any, count: int) -> list[int]:
    """Draw independent seeds for the parts of a fit."""
    if random_state is None:  # not NumPy's global state
        random_state = np.random.RandomState()
    return check_random_state(random_state).randint(2**31 - 1, size=count).tolist()


def check_counts(estimator: Any, names: Iterable[str]) -> None:
    """Raise a ValueError for numbers that scikit-learn's validation lets pass.

    It takes True for 1, and has no limit for integers, which become floats or sizes.
    """
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, Integral) and abs(int(value)) > sys.float_info.max:
            most = f"{sys.float_info.max:.1e}"
            raise ValueError(
                f"{name} must be at most {most}, got {reprlib.repr(value)}"
            )
    for name in names:
        value = getattr(estimator, name)
        if value is not None and not is_count(value):
            raise ValueError(f"{name} must be a positive integer, got {value!r}")
        if value is not None and value > _MAX_COUNT:
            raise ValueError(f"{name} must be at most {_MAX_COUNT:,}, got {value!r}")


def read_sequence(values: Any, name: str, expected: str) -> list[Any]:
    """Return the values of a parameter that is a sequence, which must not be empty."""
    try:
        found = [] if isinstance(values, str | bytes) else list(values)
    except TypeError:
        found = []
    if not found:
        raise ValueError(f"{name} must be {expected}, got {reprlib.repr(values)}")
    return found


def given_start(
    init: Any, shape: tuple[int, int], samples: Array, columns: str = "n_clusters"
) -> np.ndarray:
    """Validate the V^0 of a user and lift it off zero; errors name its ``columns``."""
    start = np.asarray(to_numpy(read_numbers(init, "init")), dtype=float)
    if start.shape != shape:
        raise ValueError(
            f"init must be of shape (n_samples, {columns})={shape}, got {start.shape}"
        )
    check_finite(start, "init")
    # The fourth power of the largest entry must neither overflow nor vanish.
    limit = float(array_namespace(samples).finfo(samples.dtype).max) ** 0.25
    if not (start.min() >= 0 and 1 / limit <= start.max() <= limit):
        raise ValueError(
            f"init must hold nonnegative coefficients, the largest between "
            f"{1 / limit:.0e} and {limit:.0e}, got values from {start.min()} to "
            f"{start.max()}"
        )
    return np.maximum(start, _LIFT * start.max())  # a multiplicative step keeps zeros
