"""The protocol: every method over its grid on the same random subsets of classes."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sklearn.model_selection import ParameterGrid

import twofold
from twofold.paper.data import PAPER_DATA, is_here, load_data
from twofold.paper.methods import METHODS, all_methods
from twofold.paper.objects import find_method, source_digest

QUICK_DATA = ("yale", "jaffe", "orl-40")
"""Data sets of a quick run."""

STUDY_DIRECTIONS = tuple(range(1, 20, 2))
"""Numbers of directions r in the paper's study of r."""

TRACED_ITERATIONS = 100
"""Number of iterations of the fit whose objective is drawn."""

GridPoint = dict[str, Any]

_TRACED = ('{"energy_weight":1.0,"graph_weight":1.0,"n_directions":5,"tol":0.0}',)
"""Grid point of the TS-NMF fit whose objective is drawn. It never stops early."""


@dataclass(frozen=True)
class Protocol:
    """Data sets, methods and options of a reproduction.

    Attributes
    ----------
    data, methods : tuple of str
        Names or import paths of the data sets and the methods.
    clusters : tuple of int
        Numbers of classes, N. Empty means the rows of each data set, which are those of
        the paper's tables for the paper's data.
    subsets : int
        Number of random subsets for each N. All classes together are run once.
    seed : int
        Seed of the subsets, the removed entries and the starts.
    max_iter : int or None
        Maximum number of iterations of the iterative methods. None means the default
        of each method.
    quick : bool
        Whether only every second value of a grid and two values of N are run.
    """

    data: tuple[str, ...] = PAPER_DATA
    methods: tuple[str, ...] = tuple(all_methods())
    clusters: tuple[int, ...] = ()
    subsets: int = 10
    seed: int = 0
    max_iter: int | None = None
    quick: bool = False


@dataclass(frozen=True)
class Job:
    """Fits of one method to one subset, which differ only in the swept parameters."""

    data: str
    method: str
    n_clusters: int
    subset: int  # index of the subset
    seed: int  # seed of the protocol
    grid_points: tuple[str, ...]  # parameters of each fit, as JSON
    max_iter: int | None = None  # None means the default of the method
    traced: bool = False  # whether the objective of each iteration is kept

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Key of each fit: a digest of everything that determines the result.

        Keys are not pickled. A worker computes them from its own data and code, so that
        a difference between the machines is detected.
        """
        shared = as_json(
            {
                "protocol": 1,
                "version": twofold.__version__,
                "data": [self.data, load_data(self.data, self.seed).digest],
                "method": [self.method, source_digest(self.method)],
                "subset": [self.n_clusters, self.subset, self.seed],
                "limits": [self.max_iter, self.traced],
            }
        ).encode()
        return tuple(
            hashlib.sha256(shared + grid_point.encode()).hexdigest()[:32]
            for grid_point in self.grid_points
        )

    def __getstate__(self) -> dict[str, Any]:
        # Leave the cached keys out, see ``keys``.
        return {name: v for name, v in vars(self).items() if name != "keys"}


def as_json(value: Any) -> str:
    """Return canonical JSON: equal values give the same text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def data_at_hand(quick: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the default data sets that are available, and the missing ones.

    If none is available, scikit-learn's digits are used.
    """
    names = QUICK_DATA if quick else PAPER_DATA
    here = tuple(name for name in names if is_here(name))
    missing = tuple(name for name in names if name not in here)
    return here or ("digits",), missing


def all_jobs(protocol: Protocol) -> list[Job]:
    """Return the jobs of a protocol, the jobs on one subset side by side."""
    if not any(methods_of(protocol, data) for data in protocol.data):
        raise ValueError(
            f"--method {','.join(protocol.methods)} is for data sets with missing "
            f"entries, which {','.join(protocol.data)} have not; add orl-40 or orl-60"
        )
    # Jobs on one subset are neighbours, because a process caches only two subsets.
    jobs = [
        Job(data, method, n, subset, protocol.seed, points, _max_iter(protocol, method))
        for data in protocol.data
        for n in rows(protocol, data)
        for subset in range(n_subsets(protocol, data, n))
        for method in methods_of(protocol, data)
        for points in _batches(method, grid_points_of(protocol, data, method))
    ]
    return jobs + list(_studies(protocol))


def methods_of(protocol: Protocol, data: str) -> tuple[str, ...]:
    """Return the methods that are run on a data set.

    Missing-aware methods are left out if no entry is missing.
    """
    if load_data(data, protocol.seed).missing is not None:
        return protocol.methods
    return tuple(m for m in protocol.methods if not find_method(m).handles_missing)


def rows(protocol: Protocol, data: str) -> tuple[int, ...]:
    """Return the numbers of classes, N, that are run on a data set."""
    loaded = load_data(data, protocol.seed)
    if protocol.clusters:
        largest = max(protocol.clusters)
        if largest > loaded.n_classes:
            raise ValueError(
                f"--clusters must be at most {loaded.n_classes}, the number of classes "
                f"of {data}, got {largest}"
            )
        return tuple(sorted(set(protocol.clusters)))
    # A data set with a single row has no second row; it keeps its row.
    return loaded.rows[1::3][:2] or loaded.rows if protocol.quick else loaded.rows


def n_subsets(protocol: Protocol, data: str, n_clusters: int) -> int:
    """Return the number of subsets of ``n_clusters`` classes."""
    all_classes = n_clusters == load_data(data, protocol.seed).n_classes
    return 1 if all_classes else protocol.subsets


def grid_points_of(protocol: Protocol, data: str, method: str) -> list[GridPoint]:
    """Return the grid points among which the tables choose the best."""
    grid = dict(find_method(method).grid)
    if protocol.quick:  # a parameter with a single value keeps its value
        grid = {name: values[1::2] or values for name, values in grid.items()}
    return _possible(protocol, data, grid)


def _possible(protocol: Protocol, data: str, grid: dict[str, Any]) -> list[GridPoint]:
    """Return the points of a grid with at most as many directions as the images."""
    side = max(load_data(data, protocol.seed).images.shape[1:3])
    # ParameterGrid refuses a parameter without values.
    grid_points = ParameterGrid(grid) if all(map(len, grid.values())) else []
    return [s for s in grid_points if s.get("n_directions", 0) <= side]


def _batches(method: str, grid_points: list[GridPoint]) -> list[tuple[str, ...]]:
    """Group grid points that differ only in the swept parameters."""
    swept = find_method(method).swept
    batches: dict[str, list[str]] = {}
    for grid_point in grid_points:
        fixed = {name: value for name, value in grid_point.items() if name not in swept}
        batches.setdefault(as_json(fixed), []).append(as_json(grid_point))
    return [tuple(batch) for batch in batches.values()]


def _studies(protocol: Protocol) -> Iterator[Job]:
    """Yield the jobs of the parameter studies, on the first subset of the last row.

    The jobs are fits with further numbers of directions, and a traced fit.
    """
    for data in protocol.data:
        n = rows(protocol, data)[-1]
        # A set has no order, but all processes must list the jobs in the same order.
        for method in sorted({"2dpca", "ts-nmf"}.intersection(protocol.methods)):
            limit = _max_iter(protocol, method)
            for batch in _batches(method, _further_directions(protocol, data, method)):
                yield Job(data, method, n, 0, protocol.seed, batch, limit)
        if "ts-nmf" in protocol.methods:
            limit = protocol.max_iter or TRACED_ITERATIONS
            yield Job(data, "ts-nmf", n, 0, protocol.seed, _TRACED, limit, traced=True)


def _further_directions(protocol: Protocol, data: str, method: str) -> list[GridPoint]:
    """Return the grid points of the study whose r is not in the tables."""
    if protocol.quick:
        return []
    grid = dict(METHODS[method].grid)
    further = set(STUDY_DIRECTIONS).difference(grid["n_directions"])
    return _possible(protocol, data, grid | {"n_directions": tuple(sorted(further))})


def _max_iter(protocol: Protocol, method: str) -> int | None:
    return protocol.max_iter if find_method(method).iterative else None
