"""Previews of the candidates of a search: their graphs before any iteration."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.channels import BANKS, Bank
from twofold.core.modularity import modularity
from twofold.estimators.given import GivenSamples
from twofold.estimators.parameters import draw_seeds
from twofold.estimators.problem import Problem, make_problem
from twofold.estimators.search.views import Candidate, View

MAX_SAMPLES = 4000
"""Maximum number of samples in a preview; of more a random subset is drawn."""

_N_GRAPHS = 2
"""Number of graphs of each kind in which labels are scored, the best for them."""

_POOR = 0.5
"""Fraction of the best score below which an energy weight is not tried further."""


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
    return {
        kind: mean_of_best(excess for excess, _ in best)
        for kind, best in best_graphs(labels, previews).items()
    }


def best_graphs(
    labels: np.ndarray, previews: Iterable[Preview]
) -> dict[str, list[tuple[float, Preview]]]:
    """Return the two previews of every kind in whose graphs labels have most excess.

    The excess stands before each preview.
    """
    kinds: dict[str, list[tuple[float, Preview]]] = {}
    for preview in previews:
        scored = preview.excess(labels), preview
        kinds.setdefault(preview.candidate.graph, []).append(scored)
    return {
        kind: sorted(each, key=lambda scored: scored[0])[-_N_GRAPHS:]
        for kind, each in kinds.items()
    }


def mean_excess(by_kind: dict[str, float]) -> float:
    """Return the score of labels: the mean of the excess over the kinds of graphs."""
    return float(np.mean(list(by_kind.values())))


def score(labels: np.ndarray, previews: Iterable[Preview]) -> float:
    """Return the score of labels in the graphs of previews."""
    return mean_excess(excess_by_kind(labels, previews))


def mean_of_best(values: Iterable[float]) -> float:
    """Return the mean of the two largest of the values in graphs of one kind."""
    return float(np.mean(sorted(values)[-_N_GRAPHS:]))


def fraction_of(best: float, fraction: float) -> float:
    """Return best - (1 - fraction) |best|, below the best also if it is negative."""
    return best - (1 - fraction) * abs(best)


def by_score(previews: Sequence[Preview]) -> list[Preview]:
    """Sort previews by the scores of their labels, the best first."""
    return [preview for _, preview in with_scores(previews)]


def with_scores(previews: Sequence[Preview]) -> list[tuple[float, Preview]]:
    """Return the scores of the labels of previews beside them, the best first.

    Scores are rounded, so that previews with the same labels keep their order.
    """
    pairs = [(score(preview.labels, previews), preview) for preview in previews]
    return sorted(pairs, key=lambda pair: -round(pair[0], 9))


class CandidateProber:
    """Makes previews of candidates, each of them once, until a deadline.

    The deadline is a value of ``time.monotonic()``; the first preview is made even
    after it. Every new preview calls ``progress`` with "candidate" and a line of text.
    """

    def __init__(
        self,
        base: Any,
        given: GivenSamples,
        banks: dict[str, Bank],
        deadline: float,
        progress: Callable[[str, str], None],
        cache: str | Path | None = None,
    ) -> None:
        n, self.seed = len(given.first), draw_seeds(base.random_state, 1)[0]
        self.subset = np.arange(n)  # rows of the previews, ascending
        some = given
        if n > MAX_SAMPLES:
            random = np.random.RandomState(self.seed)
            self.subset = np.sort(random.choice(n, MAX_SAMPLES, replace=False))
            some = given.some(self.subset)
        self.base, self.given, self.banks = base, given, banks
        self.views = {
            name: View(make_problem(base, some, bank), cache)
            for name, bank in banks.items()
        }
        self.deadline, self.progress = deadline, progress
        self.out_of_time = False  # whether a preview was left out for lack of time
        self._previews: dict[tuple[Candidate, int], Preview | None] = {}
        self._whole: tuple[str, View] | None = None  # the last ``whole_view``

    @property
    def all_previewed(self) -> bool:
        """Whether previews are of all samples, not of a subset."""
        return len(self.subset) == len(self.given.first)

    def forget(self) -> None:
        """Forget what previews share, before a fit that needs memory of its own."""
        for view in self.views.values():
            view.forget()
        if self._whole is not None:
            self._whole[1].forget()

    def problem_of(self, channels: str) -> Problem:
        """Return the problem of all samples in the given channels."""
        return self.whole_view(channels).problem

    def whole_view(self, channels: str) -> View:
        """Return the view of all samples in the given channels.

        Beside those of the previews only the last one is kept, since the samples may be
        many.
        """
        if self.all_previewed:
            return self.views[channels]
        if self._whole is None or self._whole[0] != channels:
            self._whole = None  # before the next one takes memory
            problem = make_problem(self.base, self.given, self.banks[channels])
            self._whole = channels, View(problem, None)
        return self._whole[1]

    def parameters(self, candidate: Candidate) -> dict[str, Any]:
        """Return the parameters of TSNMF that a candidate stands for."""
        return vars(candidate) | {"channels": self.channels_of(candidate.channels)}

    def channels_of(self, name: str) -> Any:
        """Return the parameter ``channels`` of TSNMF that is meant by a name."""
        return name if name in BANKS else self.banks[name].transformer

    def is_late(self) -> bool:
        """Return whether the deadline is over, and set ``out_of_time``."""
        self.out_of_time = self.out_of_time or time.monotonic() > self.deadline
        return self.out_of_time

    @property
    def sample_weight(self) -> np.ndarray | None:
        """Weights of the samples of the previews; None if all are 1."""
        weights = self.given.copies.weights
        return None if weights is None else weights[self.subset]

    @property
    def rows(self) -> np.ndarray:
        """The samples of the previews as rows of X."""
        return self.given.copies.rows_of(self.given.order)[self.subset]

    def labels_of(self, model: Any) -> np.ndarray:
        """Return the labels of a fitted model for the samples of the previews."""
        placed: np.ndarray = model.state_.placed_labels
        return placed[self.rows]

    def labels_as_given(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels of previews in the order of X; -1 for all other samples."""
        every = np.full(len(self.given.first), -1)
        every[self.subset] = labels
        return self.given.as_given(every)

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
        parts = self.views[candidate.channels].graph_and_clusters(candidate, k)
        if parts is None:
            return None
        preview = Preview(candidate, k, *parts, time.perf_counter() - begin)
        excess = preview.excess(preview.labels)
        line = f"{candidate}, {k} clusters: {excess:.4f} beyond chance"
        self.progress("candidate", line)
        return preview

    def replace(self, previews: Iterable[Preview]) -> None:
        """Keep other previews of the same candidates and numbers."""
        for preview in previews:
            self._previews[preview.candidate, preview.k] = preview

    def preview_all(self, candidates: Iterable[Candidate], k: int) -> list[Preview]:
        """Make previews of candidates until the deadline, fewer directions first.

        Channels and an energy weight whose previews all score less than half of the
        best are not tried with more directions.
        """
        previews: list[Preview] = []
        poor: set[tuple[str, float]] = set()
        ordered = sorted(candidates, key=lambda candidate: candidate.n_directions)
        for _, group in groupby(ordered, key=lambda candidate: candidate.n_directions):
            for candidate in group:
                if previews and self.is_late():
                    return previews
                if (candidate.channels, candidate.energy_weight) not in poor:
                    preview = self.preview(candidate, k)
                    previews += [] if preview is None else [preview]
            poor = _poor_weights(previews)
        return previews


def _poor_weights(previews: list[Preview]) -> set[tuple[str, float]]:
    """Return channels and weights whose previews all score far below the best."""
    best: dict[tuple[str, float], float] = {}
    for preview in previews:
        tried = preview.candidate.channels, preview.candidate.energy_weight
        reached = score(preview.labels, previews)
        best[tried] = max(best.get(tried, -np.inf), reached)
    required = fraction_of(max(best.values(), default=0.0), _POOR)
    return {tried for tried, reached in best.items() if reached < required}
