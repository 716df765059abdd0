"""A first look at settings of TSNMF: their graphs before any iteration."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.core.arrays import Array, take, to_numpy
from twofold.core.compact import Sides, compact_sides
from twofold.core.modularity import modularity
from twofold.core.null_model import chance_modularity, graph_clusters
from twofold.core.start import (
    first_adjacency,
    first_views,
    holds_together,
    joint_adjacency,
)
from twofold.core.state import Settings
from twofold.estimators.problem import Problem
from twofold.estimators.search.cache import LookFiles

MOST_SAMPLES = 4000
"""That are looked at; of more a random part."""

_HOPELESS = 0.5
"""Of the best score: what an energy weight must reach to be looked at further."""


@dataclass(frozen=True)
class Setting:
    """Parameters of TSNMF that are chosen.

    Attributes
    ----------
    graph : {"shared", "self", "heat", "binary", "cosine"}
    n_neighbors : int
    n_directions : int
    energy_weight : float
    """

    graph: str
    n_neighbors: int
    n_directions: int
    energy_weight: float

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())


@dataclass(frozen=True)
class Look:
    """The graphs of a setting under the directions of a single cluster.

    Attributes
    ----------
    setting : Setting
    k : int
        Number of clusters.
    weights : csr_array of shape (n, n)
        W_P + W_Q.
    labels : int array of shape (n,)
        The clusters of this graph.
    chance : float
        The modularity of clusters in a graph like it that has none.
    seconds : float
        That it took.
    """

    setting: Setting
    k: int
    weights: csr_array
    labels: np.ndarray
    chance: float
    seconds: float

    def excess(self, labels: np.ndarray) -> float:
        """How much more labels stand out in these graphs than by chance."""
        return self.modularity(labels) - self.chance

    def modularity(self, labels: np.ndarray, times: np.ndarray | None = None) -> float:
        """Of labels in these graphs; with ``times`` (n,) of so many of each sample."""
        weights = self.weights
        if times is not None:
            both = np.repeat(times, np.diff(weights.indptr)) * times[weights.indices]
            rows = both * weights.data, weights.indices, weights.indptr
            weights = csr_array(rows, shape=weights.shape)
        return modularity(weights, labels)


def visibility(labels: np.ndarray, looks: Iterable[Look]) -> dict[str, float]:
    """How much labels stand out in the two graphs of each kind where they do so most.

    Clusters that one kind of graph alone can see are likely made by it: of degenerate
    directions, or of lights in place of faces. What is there shows in nearness as well
    as in shares, and not with one setting alone.
    """
    found: dict[str, list[float]] = {}
    for look in looks:
        found.setdefault(look.setting.graph, []).append(look.excess(labels))
    return {kind: float(np.mean(sorted(each)[-2:])) for kind, each in found.items()}


def mean_visibility(seen: dict[str, float]) -> float:
    """Over the kinds of graphs: the score of labels."""
    return float(np.mean(list(seen.values())))


def score(labels: np.ndarray, looks: Iterable[Look]) -> float:
    """The mean visibility of labels."""
    return mean_visibility(visibility(labels, looks))


def part_of(best: float, part: float) -> float:
    """So much of the best, below it even where that is negative."""
    return best - (1 - part) * abs(best)


def by_score(looks: Sequence[Look]) -> list[Look]:
    """The looks in the order of their labels' scores, the best first.

    Those of the same labels keep their order: rounding must not choose between them.
    """
    return sorted(looks, key=lambda look: -round(score(look.labels, looks), 9))


class Observer:
    """Looks at settings, one after another.

    Parameters
    ----------
    problem : Problem
    files : LookFiles or None
        Where looks are kept and found again.
    deadline : float
        Of ``time.monotonic()``, after which there are no more looks but the first.
    tell : callable
        Called with "looking" and a line on each new look.

    Attributes
    ----------
    some : int array
        The numbers of the samples that are looked at, in the order of the problem.
    late : bool
        Whether a look was left out for lack of time.
    """

    def __init__(
        self,
        problem: Problem,
        files: LookFiles | None,
        deadline: float,
        tell: Callable[[str, str], None],
    ) -> None:
        n, self.seed = problem.samples.shape[0], problem.seeds[0]
        self.some = np.arange(n)
        if n > MOST_SAMPLES:
            random = np.random.RandomState(self.seed)
            self.some = np.sort(random.choice(n, MOST_SAMPLES, replace=False))
        self.problem = problem
        self.samples: Array = take(problem.samples, self.some)
        self._sides: dict[tuple[int, int], tuple[Array, Sides]] = {}
        self.files = files
        self.deadline = deadline
        self.tell = tell
        self.late = False
        self._seen: dict[tuple[Setting, int], Look | None] = {}
        self._weights: dict[Setting, csr_array] = {}

    def is_late(self) -> bool:
        """Whether nothing new is to be begun; remembered in ``late``."""
        self.late = self.late or time.monotonic() > self.deadline
        return self.late

    def labels_of(self, model: Any) -> np.ndarray:
        """The labels that a fitted model gave to the samples that are looked at."""
        return to_numpy(model.labels_)[self.problem.order][self.some]

    @property
    def n_distinct(self) -> int:
        """How many different samples the problem has."""
        return int(self.problem.group[-1]) + 1

    @property
    def seen(self) -> list[Look]:
        """All looks so far."""
        return [look for look in self._seen.values() if look is not None]

    def look(self, setting: Setting, k: int) -> Look | None:
        """One look; None where its graphs fall apart, or there are too few samples."""
        key = setting, k
        if key not in self._seen:
            self._seen[key] = self._new_look(setting, k)
        return self._seen[key]

    def _new_look(self, setting: Setting, k: int) -> Look | None:
        if k > len(self.some):
            return None
        begin = time.perf_counter()
        parts = self.files and self.files.read(setting, k)
        parts = parts or self._graph_and_clusters(setting, k)
        if parts is None:
            return None
        look = Look(setting, k, *parts, time.perf_counter() - begin)
        excess = look.excess(look.labels)
        self.tell("looking", f"{setting}, {k} clusters: {excess:.4f} beyond chance")
        return look

    def _graph_and_clusters(
        self, setting: Setting, k: int
    ) -> tuple[csr_array, np.ndarray, float] | None:
        """What is costly to know: the weights, the labels and the chance of a look."""
        _, _, height, width = self.samples.shape
        r = setting.n_directions
        settings = replace(
            self.problem.settings,
            n_directions=(min(r, height), min(r, width)),
            n_neighbors=setting.n_neighbors,
            graph=setting.graph,
        )
        weights = self._first_weights(setting, settings, k)
        if weights is None:
            return None
        labels = graph_clusters(weights, k, self.seed)
        parts = weights, labels, chance_modularity(weights, k, self.seed)
        if self.files is not None:
            self.files.write(setting, k, *parts)
        return parts

    def _first_weights(
        self, setting: Setting, settings: Settings, k: int
    ) -> csr_array | None:
        """``first_adjacency``, which is seldom another for another number."""
        known = self._weights.get(setting)
        if known is not None and holds_together(known, k):
            return known
        samples, sides = self._compact(settings.n_directions)
        views = first_views(samples, sides, settings, setting.energy_weight)
        self._weights[setting] = joint_adjacency(views, setting.n_neighbors, settings)
        return first_adjacency(views, k, settings)

    def _compact(self, n_directions: tuple[int, int]) -> tuple[Array, Sides]:
        """The samples as short as they can be, and their sides."""
        if n_directions not in self._sides:
            samples, sides, _ = compact_sides(self.samples, n_directions)
            self._sides[n_directions] = samples, sides
        return self._sides[n_directions]

    def look_at_all(self, settings: Iterable[Setting], k: int) -> list[Look]:
        """Looks at settings while there is time, fewer directions first.

        Energy weights whose looks have all scored less than half of the best are not
        looked at again with more directions.
        """
        looks: list[Look] = []
        hopeless: set[float] = set()
        ordered = sorted(settings, key=lambda setting: setting.n_directions)
        for _, group in groupby(ordered, key=lambda setting: setting.n_directions):
            for setting in group:
                if looks and self.is_late():
                    return looks
                if setting.energy_weight not in hopeless:
                    look = self.look(setting, k)
                    looks += [] if look is None else [look]
            hopeless = _hopeless(looks)
        return looks


def _hopeless(looks: list[Look]) -> set[float]:
    """The energy weights of looks that are all far from the best."""
    best: dict[float, float] = {}
    for look in looks:
        weight = look.setting.energy_weight
        reached = score(look.labels, looks)
        best[weight] = max(best.get(weight, -np.inf), reached)
    enough = part_of(max(best.values(), default=0.0), _HOPELESS)
    return {weight for weight, reached in best.items() if reached < enough}
