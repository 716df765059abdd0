"""What the facts and arrays of a fitted TSNMF must be like, and checks of it."""

import math
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from twofold.core.graphs import KINDS
from twofold.core.solver import RECORDED as _TERMS
from twofold.estimators.labels import ASSIGNMENTS
from twofold.estimators.reading import is_count
from twofold.estimators.scaling import SCALES

Fields = dict[str, tuple[str, Callable[[Any], bool]]]
"""The names of fields, what each must be in words, and whether a value is it."""

SIDES = ("left", "right")

RECORDED = tuple(term for term in _TERMS if term != "total")
"""The terms of the objective."""

_LARGEST_SIZE = 2**40
"""Of any axis of an array."""

# Tables


@dataclass(frozen=True)
class Facts:
    """What is known of a fit besides its numbers.

    Attributes
    ----------
    n_samples, n_clusters, n_iter : int
    n_found : int
        Clusters that have samples.
    n_directions : (int, int)
        Of the left and of the right side.
    sample_shape : tuple of int
    scale : {"sample", "global"}
    graph : str
        Name of a kind of graph.
    feature_names : list of str or None
    completion : (int, int) or None
        Directions of the rows and of the columns in the completion, if there is one.
    reading : {"graph", "k-means"}
        How labels were read off V.
    """

    n_samples: int
    n_clusters: int
    n_found: int
    n_iter: int
    n_directions: tuple[int, ...]
    sample_shape: tuple[int, ...]
    scale: str
    graph: str
    feature_names: list[str] | None
    completion: tuple[int, ...] | None = None
    reading: str = "k-means"


class Wanted(NamedTuple):
    """What an array must be like; all its numbers must be finite."""

    shape: tuple[int, ...]
    dtypes: tuple[str, ...] = ("<f4", "<f8")
    lowest: float = -math.inf
    highest: float = math.inf


_DOUBLE, _INTEGER = ("<f8",), ("<i8",)

_POSITIVE = 5e-324
"""The lowest number above zero."""


def table(facts: Facts, *, with_init: bool) -> dict[str, Wanted]:
    """All arrays of a model, ``init`` being one only if it was given as an array."""
    n, k, shape = facts.n_samples, facts.n_clusters, facts.sample_shape
    labels = Wanted((n,), _INTEGER, 0, facts.n_found - 1)
    coefficients = Wanted((n, k), lowest=0)
    history = Wanted((facts.n_iter,), _DOUBLE)
    wanted = {
        "labels": labels,
        "fitted_labels": labels,
        "components": Wanted((k, *shape)),
        "coefficients": coefficients,
        "fitted_coefficients": coefficients,
        "lengths": Wanted((1, k), lowest=_POSITIVE),
        "centers": Wanted((facts.n_found, k), lowest=0),
        "reconstruction_error": Wanted((n,), lowest=0),
        "objective_history": history,
        "typical_norm": Wanted((), _DOUBLE, _POSITIVE),
        "graph_weight": Wanted((), _DOUBLE, 0),
        "n_neighbors": Wanted((), _INTEGER, 1, n),
    }
    wanted |= {f"objective_{term}": history for term in RECORDED}
    wanted |= {"init": coefficients} if with_init else {}
    return wanted | _table_of_sides(facts) | _table_of_completion(facts)


def _table_of_sides(facts: Facts) -> dict[str, Wanted]:
    n, k = facts.n_samples, facts.n_clusters
    height, width, channels = (*facts.sample_shape, 1, 1)[:3]
    sizes = (height, channels * width), (width, channels * height)
    wanted: dict[str, Wanted] = {}
    for side, (d, m), r in zip(SIDES, sizes, facts.n_directions, strict=True):
        wanted |= {
            f"{side}_projection": Wanted((d, r)),
            f"{side}_directions": Wanted((1, d, r)),
            f"{side}_features": Wanted((n, m * r)),
            f"{side}_centroids": Wanted((k, m * r)),
            f"{side}_bandwidth": Wanted((1, 1), lowest=0),
        }
    return wanted


def _table_of_completion(facts: Facts) -> dict[str, Wanted]:
    if facts.completion is None:
        return {}
    height, width, channels = (*facts.sample_shape, 1, 1)[:3]
    a, b = facts.completion
    return {
        "completion_mean": Wanted((channels, height, width)),
        "completion_left": Wanted((height, a)),
        "completion_right": Wanted((width, b)),
        "completion_gain": Wanted((channels, a, b), lowest=0, highest=1),
        "energy_weight": Wanted((), _DOUBLE, 0),
    }


def _is_size(value: Any) -> bool:
    return is_count(value) and value <= _LARGEST_SIZE


def are_sizes(values: Any, *counts: int) -> bool:
    """Whether ``values`` is a sequence of sizes, as many as one of ``counts``."""
    sequence = isinstance(values, list | tuple) and len(values) in counts
    return sequence and all(map(_is_size, values))


_SIZE = (f"an integer from 1 to {_LARGEST_SIZE}", _is_size)

_FITTED_SCALES = tuple(scale for scale in SCALES if scale != "auto")

FACTS: Fields = {
    "n_samples": _SIZE,
    "n_clusters": _SIZE,
    "n_found": _SIZE,
    "n_iter": _SIZE,
    "n_directions": ("two sizes", lambda value: are_sizes(value, 2)),
    "sample_shape": ("one to three sizes", lambda value: are_sizes(value, 1, 2, 3)),
    "scale": (f"one of {_FITTED_SCALES}", lambda value: value in _FITTED_SCALES),
    "graph": (f"one of {tuple(KINDS)}", lambda value: value in KINDS),
    "feature_names": (
        "a list of strings, or null",
        lambda value: (
            value is None
            or (isinstance(value, list) and all(isinstance(v, str) for v in value))
        ),
    ),
    "completion": (
        "two sizes, or null",
        lambda value: value is None or are_sizes(value, 2),
    ),
    "reading": (f"one of {ASSIGNMENTS}", lambda value: value in ASSIGNMENTS),
}

# Checks


def check_fields(found: Any, fields: Fields, what: str) -> None:
    """Refuse all but a dict of exactly these fields; errors call it ``what``."""
    if not isinstance(found, dict):
        raise ValueError(f"{what} must be an object, got {reprlib.repr(found)}")
    odd = sorted(found.keys() ^ fields.keys())
    if odd:
        raise ValueError(
            f"{what} must have the fields {', '.join(fields)}, got "
            f"{reprlib.repr(odd)} missing or in surplus"
        )
    for name, (words, is_right) in fields.items():
        if not is_right(found[name]):
            raise ValueError(f"{name} must be {words}, got {reprlib.repr(found[name])}")


def check_layout(
    name: str, wanted: Wanted, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> None:
    """Refuse an array of another shape or dtype, of which no more need be known."""
    if shape != wanted.shape or dtype.str not in wanted.dtypes:
        raise ValueError(
            f"{name} must be {' or '.join(wanted.dtypes)} of shape {wanted.shape}, got "
            f"{dtype.str} of shape {reprlib.repr(shape)}"
        )


def check_values(arrays: dict[str, np.ndarray], wanted: dict[str, Wanted]) -> None:
    """Refuse numbers that no fit leaves behind."""
    for name, (_, _, lowest, highest) in wanted.items():
        # As Python's numbers: single precision knows no lowest one above zero.
        least, most = float(arrays[name].min()), float(arrays[name].max())
        finite = math.isfinite(least) and math.isfinite(most)
        if not (finite and lowest <= least and most <= highest):
            raise ValueError(
                f"{name} must hold finite numbers from {lowest} to {highest}, got "
                f"{least} to {most}"
            )
    n_found = len(arrays["centers"])
    for name in ("labels", "fitted_labels"):
        n_labels = len(np.unique(arrays[name]))
        if n_labels != n_found:
            raise ValueError(f"{name} must name {n_found} clusters, got {n_labels}")
