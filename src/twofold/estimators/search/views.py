"""Candidates of a search, and the graphs of the samples in one kind of channels."""

from dataclasses import dataclass, replace
from pathlib import Path

from scipy.sparse import csr_array

from twofold.core.arrays import Array, gpu_of, map_arrays, to_numpy
from twofold.core.communities import graph_clusters
from twofold.core.compact import Sides, compact_sides
from twofold.core.devices import on_device
from twofold.core.null_model import chance_modularity
from twofold.core.start import (
    Pair,
    first_adjacency,
    first_projections,
    is_well_connected,
    joint_adjacency,
)
from twofold.core.state import SolverOptions
from twofold.estimators.problem import Problem
from twofold.estimators.search.cache import Parts, PreviewCache


@dataclass(frozen=True)
class Candidate:
    """Parameters of TSNMF that a search chooses."""

    channels: str  # name of a bank
    graph: str  # name of a kind of graph
    n_neighbors: int
    n_directions: int
    energy_weight: float

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())


class View:
    """Makes graphs of the samples of a problem, and keeps what they share."""

    def __init__(self, problem: Problem, cache: str | Path | None) -> None:
        self.problem, self.seed = problem, problem.seeds[0]
        self.cache = None if cache is None else PreviewCache(cache, problem)
        self.forget()

    def forget(self) -> None:
        """Forget what previews share, which is several times as large as the samples.

        Previews that are asked for afterwards make it anew.
        """
        self._weighted: tuple[Array, Array | None] | None = None
        self._sides: dict[tuple[int, int], tuple[Array, Sides]] = {}
        self._adjacency: dict[Candidate, csr_array] = {}
        self._last: tuple[tuple[int, float], Pair] | None = None

    @property
    def samples(self) -> Array:
        """The samples, each times the root of its weight."""
        return self._weighted_samples()[0]

    @property
    def roots(self) -> Array | None:
        """Square roots (n, 1) of the weights of the samples; None if all are 1."""
        return self._weighted_samples()[1]

    def _weighted_samples(self) -> tuple[Array, Array | None]:
        if self._weighted is None:
            given, device = self.problem.weighted_samples(), self.problem.device
            if device is not None:
                given = map_arrays(given, lambda array: on_device(array, device))
            self._weighted = given
        return self._weighted

    def graph_and_clusters(self, candidate: Candidate, k: int) -> Parts | None:
        """Return the parts of a preview, from the cache if they are there.

        None if the graph of the candidate has more than k components.
        """
        known = self.cache and self.cache.read(candidate, k)
        return known or self._graph_and_clusters(candidate, k)

    def _graph_and_clusters(self, candidate: Candidate, k: int) -> Parts | None:
        """Compute the costly parts of a preview, and write them to the cache."""
        adjacency = self.first_adjacency(candidate, k)
        if adjacency is None:
            return None
        weights = None if self.roots is None else to_numpy(self.roots)[:, 0] ** 2
        gpu = gpu_of(self.samples)
        labels = graph_clusters(
            adjacency, k, self.seed, sample_weight=weights, device=gpu
        )
        parts = adjacency, labels, chance_modularity(adjacency, k, self.seed, gpu)
        if self.cache is not None:
            self.cache.write(candidate, k, parts)
        return parts

    def first_adjacency(self, candidate: Candidate, k: int) -> csr_array | None:
        """Return the graph of a candidate, None if it has more than k components.

        It rarely depends on the number of clusters.
        """
        known = self._adjacency.get(candidate)
        # Neighbours are added only if the graph is not connected well enough for k.
        if known is not None and is_well_connected(known, k):
            return known
        options = self._options(candidate)
        projected = self._first_projections(candidate, options)
        joint = joint_adjacency(projected, candidate.n_neighbors, options)
        self._adjacency[candidate] = joint
        return first_adjacency(projected, k, options)

    def _options(self, candidate: Candidate) -> SolverOptions:
        r, (height, width) = candidate.n_directions, self.samples.shape[2:]
        return replace(
            self.problem.options,
            n_directions=(min(r, height), min(r, width)),
            n_neighbors=candidate.n_neighbors,
            graph=candidate.graph,
        )

    def _first_projections(self, candidate: Candidate, options: SolverOptions) -> Pair:
        """Return the projected samples; those of the candidate before, if the same."""
        key = candidate.n_directions, candidate.energy_weight
        if self._last is not None and self._last[0] == key:
            left, right = (side.with_graph(options) for side in self._last[1])
            return left, right
        self._last = None  # which may be as large as the samples
        samples, sides = self._compact(options.n_directions)
        weights = self.problem.weights | {"energy_weight": candidate.energy_weight}
        projected = first_projections(samples, sides, options, weights, self.roots)
        self._last = key, projected
        return projected

    def _compact(self, n_directions: tuple[int, int]) -> tuple[Array, Sides]:
        """Return the samples in compact form, and their sides."""
        if n_directions not in self._sides:
            samples, sides, _ = compact_sides(self.samples, n_directions)
            self._sides[n_directions] = samples, sides
        return self._sides[n_directions]
