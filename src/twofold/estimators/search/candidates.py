"""Candidates of a search, and previews of them: their graphs before any iteration."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.core.arrays import Array, take, to_numpy
from twofold.core.communities import graph_clusters
from twofold.core.compact import Sides, compact_sides
from twofold.core.modularity import modularity
from twofold.core.null_model import chance_modularity
from twofold.core.start import (
    first_adjacency,
    first_projections,
    is_well_connected,
    joint_adjacency,
)
from twofold.core.state import SolverOptions
from twofold.estimators.problem import Problem
from twofold.estimators.search.cache import Parts, PreviewCache

MAX_SAMPLES = 4000
"""Maximum number of samples in a preview; of more a random subset is drawn."""

_POOR = 0.5
"""Fraction of the best score below which an energy weight is not tried further."""


@dataclass(frozen=True)
class Candidate:
    """Parameters of TSNMF that a search chooses."""

    graph: str  # name of a kind of graph
    n_neighbors: int
    n_directions: int
    energy_weight: float

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())


@dataclass(frozen=True)
class Preview:
    """The graphs of a candidate under the directions of a single cluster."""

    candidate: Candidate
    k: int  # number of clusters
    adjacency: csr_array  # (n, n), W_P + W_Q
    labels: np.ndarray  # (n,), clusters of this graph
    chance: float  # modularity found in a rewired graph, which has no clusters
    seconds: float  # time that the preview took

    def excess(self, labels: np.ndarray) -> float:
        """Return the excess modularity of labels: their modularity less chance."""
        return self.modularity(labels) - self.chance

    def modularity(self, labels: np.ndarray, counts: np.ndarray | None = None) -> float:
        """Return the modularity of labels in this graph.

        ``counts`` (n,) are the multiplicities of the samples in a bootstrap sample.
        """
        adjacency = self.adjacency
        if counts is not None:
            # Copies of a sample multiply its edges: w_ij becomes c_i c_j w_ij.
            each = np.repeat(counts, np.diff(adjacency.indptr))
            factors = each * counts[adjacency.indices]
            rows = factors * adjacency.data, adjacency.indices, adjacency.indptr
            adjacency = csr_array(rows, shape=adjacency.shape)
        return modularity(adjacency, labels)


def excess_by_kind(labels: np.ndarray, previews: Iterable[Preview]) -> dict[str, float]:
    """Return the excess modularity of labels in the graphs of every kind.

    It is the mean over the two graphs of a kind in which the labels have most excess.
    Clusters that exist in one kind of graph alone are likely artefacts of that kind:
    degenerate directions, or lighting in place of faces. Real clusters show in nearness
    as well as in subspace affinities, and not for one candidate alone.
    """
    values: dict[str, list[float]] = {}
    for preview in previews:
        kind = preview.candidate.graph
        values.setdefault(kind, []).append(preview.excess(labels))
    return {kind: float(np.mean(sorted(each)[-2:])) for kind, each in values.items()}


def mean_excess(by_kind: dict[str, float]) -> float:
    """Return the score of labels: the mean of the excess over the kinds of graphs."""
    return float(np.mean(list(by_kind.values())))


def score(labels: np.ndarray, previews: Iterable[Preview]) -> float:
    """Return the score of labels in the graphs of previews."""
    return mean_excess(excess_by_kind(labels, previews))


def fraction_of(best: float, fraction: float) -> float:
    """Return best - (1 - fraction) |best|, below the best also if it is negative."""
    return best - (1 - fraction) * abs(best)


def by_score(previews: Sequence[Preview]) -> list[Preview]:
    """Sort previews by the scores of their labels, the best first.

    Scores are rounded, so that previews with the same labels keep their order.
    """
    return sorted(previews, key=lambda each: -round(score(each.labels, previews), 9))


class CandidateProber:
    """Makes previews of candidates, each of them once, until a deadline.

    The deadline is a value of ``time.monotonic()``; the first preview is made even
    after it. Every new preview calls ``progress`` with "candidate" and a line of text.
    """

    def __init__(
        self,
        problem: Problem,
        cache: PreviewCache | None,
        deadline: float,
        progress: Callable[[str, str], None],
    ) -> None:
        n, self.seed = problem.samples.shape[0], problem.seeds[0]
        self.subset = np.arange(n)  # rows of the previews, ascending
        if n > MAX_SAMPLES:
            random = np.random.RandomState(self.seed)
            self.subset = np.sort(random.choice(n, MAX_SAMPLES, replace=False))
        self.problem, self.cache = problem, cache
        samples, roots = problem.weighted_samples()
        self.samples: Array = take(samples, self.subset)
        self.roots = None if roots is None else take(roots, self.subset)  # (n, 1)
        self.deadline, self.progress = deadline, progress
        self.out_of_time = False  # whether a preview was left out for lack of time
        self._sides: dict[tuple[int, int], tuple[Array, Sides]] = {}
        self._previews: dict[tuple[Candidate, int], Preview | None] = {}
        self._adjacency: dict[Candidate, csr_array] = {}

    def is_late(self) -> bool:
        """Return whether the deadline is over, and set ``out_of_time``."""
        self.out_of_time = self.out_of_time or time.monotonic() > self.deadline
        return self.out_of_time

    def labels_of(self, model: Any) -> np.ndarray:
        """Return the labels of a fitted model for the samples of the previews."""
        sorted_labels = to_numpy(model.labels_)[self.problem.order]
        return self.problem.copies.rows_of(sorted_labels)[self.subset]

    @property
    def previews(self) -> list[Preview]:
        """All previews so far."""
        return [preview for preview in self._previews.values() if preview is not None]

    def preview(self, candidate: Candidate, k: int) -> Preview | None:
        """Return the preview of a candidate with k clusters.

        None if its graph has more than k components, or there are too few samples.
        """
        if (candidate, k) not in self._previews:
            self._previews[candidate, k] = self._new_preview(candidate, k)
        return self._previews[candidate, k]

    def _new_preview(self, candidate: Candidate, k: int) -> Preview | None:
        if k > len(self.subset):
            return None
        begin = time.perf_counter()
        parts = self.cache and self.cache.read(candidate, k)
        parts = parts or self._graph_and_clusters(candidate, k)
        if parts is None:
            return None
        preview = Preview(candidate, k, *parts, time.perf_counter() - begin)
        excess = preview.excess(preview.labels)
        line = f"{candidate}, {k} clusters: {excess:.4f} beyond chance"
        self.progress("candidate", line)
        return preview

    def _graph_and_clusters(self, candidate: Candidate, k: int) -> Parts | None:
        """Compute the costly parts of a preview, and write them to the cache."""
        r, (height, width) = candidate.n_directions, self.samples.shape[2:]
        options = replace(
            self.problem.options,
            n_directions=(min(r, height), min(r, width)),
            n_neighbors=candidate.n_neighbors,
            graph=candidate.graph,
        )
        adjacency = self._first_adjacency(candidate, options, k)
        if adjacency is None:
            return None
        weights = None if self.roots is None else to_numpy(self.roots)[:, 0] ** 2
        labels = graph_clusters(adjacency, k, self.seed, sample_weight=weights)
        parts = adjacency, labels, chance_modularity(adjacency, k, self.seed)
        if self.cache is not None:
            self.cache.write(candidate, k, parts)
        return parts

    def _first_adjacency(
        self, candidate: Candidate, options: SolverOptions, k: int
    ) -> csr_array | None:
        """Return ``first_adjacency``; it rarely depends on the number of clusters."""
        known = self._adjacency.get(candidate)
        # Neighbours are added only if the graph is not connected well enough for k.
        if known is not None and is_well_connected(known, k):
            return known
        samples, sides = self._compact(options.n_directions)
        weights = self.problem.weights | {"energy_weight": candidate.energy_weight}
        projected = first_projections(samples, sides, options, weights, self.roots)
        joint = joint_adjacency(projected, candidate.n_neighbors, options)
        self._adjacency[candidate] = joint
        return first_adjacency(projected, k, options)

    def _compact(self, n_directions: tuple[int, int]) -> tuple[Array, Sides]:
        """Return the samples in compact form, and their sides."""
        if n_directions not in self._sides:
            samples, sides, _ = compact_sides(self.samples, n_directions)
            self._sides[n_directions] = samples, sides
        return self._sides[n_directions]

    def preview_all(self, candidates: Iterable[Candidate], k: int) -> list[Preview]:
        """Make previews of candidates until the deadline, fewer directions first.

        An energy weight whose previews all score less than half of the best is not
        tried with more directions.
        """
        previews: list[Preview] = []
        poor: set[float] = set()
        ordered = sorted(candidates, key=lambda candidate: candidate.n_directions)
        for _, group in groupby(ordered, key=lambda candidate: candidate.n_directions):
            for candidate in group:
                if previews and self.is_late():
                    return previews
                if candidate.energy_weight not in poor:
                    preview = self.preview(candidate, k)
                    previews += [] if preview is None else [preview]
            poor = _poor_weights(previews)
        return previews


def _poor_weights(previews: list[Preview]) -> set[float]:
    """Return the energy weights whose previews all score far below the best."""
    best: dict[float, float] = {}
    for preview in previews:
        weight = preview.candidate.energy_weight
        reached = score(preview.labels, previews)
        best[weight] = max(best.get(weight, -np.inf), reached)
    required = fraction_of(max(best.values(), default=0.0), _POOR)
    return {weight for weight, reached in best.items() if reached < required}
