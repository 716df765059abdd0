"""What is run: every method over its grid on the same random subsets of classes."""

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

STUDY_DIRECTIONS = tuple(range(1, 20, 2))
"""r in the paper's study of it."""

TRACED_ITERATIONS = 100

GridPoint = dict[str, Any]

_TRACED = ('{"energy_weight":1.0,"graph_weight":1.0,"n_directions":5,"tol":0.0}',)
"""The fit of TS-NMF whose objective is drawn."""


@dataclass(frozen=True)
class Protocol:
    """What is run.

    Attributes
    ----------
    data, methods : tuple of str
        Names, or import paths.
    clusters : tuple of int
        The numbers of classes, N. Empty takes the rows of the paper's tables, or
        those of a data set of the user's.
    subsets : int
        Random subsets for each N; all classes are run once.
    seed : int
        Of the subsets, the removed entries and the starts.
    max_iter : int or None
        Of iterative methods; None leaves each its own.
    quick : bool
        Every second value of a grid and two values of N.
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
    """Fits that share all but the parameters that a method sweeps.

    Attributes
    ----------
    data, method : str
    n_clusters, subset, seed : int
        Which subset: of how many classes, its number, and the protocol's seed.
    grid_points : tuple of str
        The parameters of each fit, as JSON.
    max_iter : int or None
    traced : bool
        Whether the objective of each iteration is kept.
    """

    data: str
    method: str
    n_clusters: int
    subset: int
    seed: int
    grid_points: tuple[str, ...]
    max_iter: int | None = None
    traced: bool = False

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What tells each fit from all others: everything that determines it.

        A job does not take its keys along to another process, which may have other
        data or another version of the code.
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
        return {name: v for name, v in vars(self).items() if name != "keys"}


def as_json(value: Any) -> str:
    """The same text for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def data_at_hand(quick: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The data sets to run where none are named, and those that are not here.

    The digits, which come with scikit-learn, stand in where none of the others is.
    """
    wanted = QUICK_DATA if quick else PAPER_DATA
    here = tuple(name for name in wanted if is_here(name))
    missing = tuple(name for name in wanted if name not in here)
    return here or ("digits",), missing


def all_jobs(protocol: Protocol) -> list[Job]:
    """The jobs of a protocol; those on the same subset follow each other."""
    if not any(methods_of(protocol, data) for data in protocol.data):
        raise ValueError(
            f"--method {','.join(protocol.methods)} is for data sets with missing "
            f"entries, which {','.join(protocol.data)} have not; add orl-40 or orl-60"
        )
    jobs = [
        Job(
            data,
            method,
            n,
            subset,
            protocol.seed,
            grid_points,
            _max_iter(protocol, method),
        )
        for data in protocol.data
        for n in rows(protocol, data)
        for subset in range(n_subsets(protocol, data, n))
        for method in methods_of(protocol, data)
        for grid_points in _batches(method, grid_points_of(protocol, data, method))
    ]
    return jobs + list(_studies(protocol))


def methods_of(protocol: Protocol, data: str) -> tuple[str, ...]:
    """The methods that a data set is run with.

    Those that are told what is missing are left out where nothing is.
    """
    if load_data(data, protocol.seed).missing is not None:
        return protocol.methods
    return tuple(m for m in protocol.methods if not find_method(m).handles_missing)


def rows(protocol: Protocol, data: str) -> tuple[int, ...]:
    """The numbers of classes that a data set is run with."""
    loaded = load_data(data, protocol.seed)
    if protocol.clusters:
        largest = max(protocol.clusters)
        if largest > loaded.n_classes:
            raise ValueError(
                f"--clusters must be at most {loaded.n_classes}, the number of classes "
                f"of {data}, got {largest}"
            )
        return tuple(sorted(set(protocol.clusters)))
    return loaded.rows[1::3][:2] or loaded.rows if protocol.quick else loaded.rows


def n_subsets(protocol: Protocol, data: str, n_clusters: int) -> int:
    """How many subsets of ``n_clusters`` classes are run: one if that is all."""
    every = n_clusters == load_data(data, protocol.seed).n_classes
    return 1 if every else protocol.subsets


def grid_points_of(protocol: Protocol, data: str, method: str) -> list[GridPoint]:
    """The combinations of parameters that the tables choose from."""
    grid = dict(find_method(method).grid)
    if protocol.quick:
        grid = {name: values[1::2] or values for name, values in grid.items()}
    return _possible(protocol, data, grid)


def _possible(protocol: Protocol, data: str, grid: dict[str, Any]) -> list[GridPoint]:
    """The combinations of a grid, with no more directions than the images have."""
    side = max(load_data(data, protocol.seed).images.shape[1:3])
    grid_points = ParameterGrid(grid) if all(map(len, grid.values())) else []
    return [s for s in grid_points if s.get("n_directions", 0) <= side]


def _batches(method: str, grid_points: list[GridPoint]) -> list[tuple[str, ...]]:
    """Settings that differ in swept parameters alone, together."""
    swept = find_method(method).swept
    batches: dict[str, list[str]] = {}
    for grid_point in grid_points:
        fixed = {name: value for name, value in grid_point.items() if name not in swept}
        batches.setdefault(as_json(fixed), []).append(as_json(grid_point))
    return [tuple(batch) for batch in batches.values()]


def _studies(protocol: Protocol) -> Iterator[Job]:
    """On the last row: more directions than the tables have, and a traced fit."""
    for data in protocol.data:
        n = rows(protocol, data)[-1]
        for method in sorted({"2dpca", "ts-nmf"}.intersection(protocol.methods)):
            limit = _max_iter(protocol, method)
            for batch in _batches(method, _further_directions(protocol, data, method)):
                yield Job(data, method, n, 0, protocol.seed, batch, limit)
        if "ts-nmf" in protocol.methods:
            limit = protocol.max_iter or TRACED_ITERATIONS
            yield Job(data, "ts-nmf", n, 0, protocol.seed, _TRACED, limit, traced=True)


def _further_directions(protocol: Protocol, data: str, method: str) -> list[GridPoint]:
    """The grid at those r of the study that the tables have not; none if quick."""
    if protocol.quick:
        return []
    grid = dict(METHODS[method].grid)
    beyond = set(STUDY_DIRECTIONS).difference(grid["n_directions"])
    return _possible(protocol, data, grid | {"n_directions": tuple(sorted(beyond))})


def _max_iter(protocol: Protocol, method: str) -> int | None:
    return protocol.max_iter if find_method(method).iterative else None
