"""The number of clusters, chosen from previews with several numbers."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from twofold.estimators.parameters import check_enough, read_sequence
from twofold.estimators.reading import is_count
from twofold.estimators.search.candidates import (
    CandidateProber,
    Preview,
    by_score,
    fraction_of,
)
from twofold.estimators.search.views import Candidate

_MAX_CLUSTERS, _MIN_CLUSTER_SIZE, _RATIO = 60, 4, 1.15
"""Numbers to try by default: the largest number, the smallest mean size of a cluster,
and the ratio of consecutive numbers.
"""

_AS_GOOD = 0.99
"""Fraction of the best score: the smallest number that reaches it is chosen."""

_PROBED = (0.25, 0.75)
"""Positions among the numbers at which all candidates are previewed."""

_N_BOOTSTRAPS = 50

Previews = dict[int, list[Preview]]
"""Previews by number of clusters."""

Scored = tuple[np.ndarray, list[Preview]]
"""Labels, and the previews in whose graphs they are scored."""


@dataclass(frozen=True)
class Curve:
    """The score of every number of clusters, and the choice among them.

    A score is the modularity of the best labels, averaged over the kinds of graph. The
    likely range is from the 5% quantile of the numbers that the bootstrap samples
    choose to the 95% quantile of the numbers at which their scores peak.
    """

    numbers: list[int]  # numbers that were tried, ascending
    scores: list[float]  # score of each number
    chosen: int  # smallest number whose score is within a hundredth of the best score
    confidence: float  # fraction of bootstrap samples that choose the same number
    likely: tuple[int, int]  # smallest and largest likely number

    @property
    def at_end(self) -> bool:
        """Whether the largest of several numbers was chosen: there may be more."""
        return len(self.numbers) > 1 and self.chosen == self.numbers[-1]


def read_cluster_numbers(n_clusters: Any, n: int, distinct: int) -> list[int]:
    """Return the numbers to try of n samples, some of them the same.

    None stands for a geometric sequence, up to a fraction of the distinct samples.
    """
    if n_clusters is None:
        largest = max(2, min(_MAX_CLUSTERS, distinct // _MIN_CLUSTER_SIZE))
        count = 1 + int(np.log(largest / 2) / np.log(_RATIO))
        spread = np.geomspace(2, largest, max(count, 1)).round().astype(int)
        return sorted({min(int(k), distinct) for k in spread})
    expected = "a positive integer, a range or sequence of them, or None"
    one = isinstance(n_clusters, Integral)
    numbers = [n_clusters] if one else read_sequence(n_clusters, "n_clusters", expected)
    if not all(is_count(k) for k in numbers):
        raise ValueError(f"n_clusters must be {expected}, got {n_clusters!r}")
    check_enough("n_clusters", max(numbers), n)
    return sorted({int(k) for k in numbers})


def choose_number(
    prober: CandidateProber,
    candidates: list[Candidate],
    numbers: list[int],
    *,
    refine: bool,
) -> Curve | None:
    """Return the curve over numbers, with ``refine`` over all numbers around the best.

    All candidates are previewed at a small and at a large number. Only the best
    candidate of every kind of graph is previewed at the other numbers. None if no graph
    is connected well enough.
    """
    best_candidates: list[Candidate] = []
    previews: Previews = {}
    for position in _PROBED:
        k = numbers[int(position * (len(numbers) - 1))]
        previews[k] = _in_time(prober, candidates, k, previews)
        # In reverse, so that the best candidate of a kind replaces the others.
        ranked = by_score(previews[k])
        best = {each.candidate.graph: each.candidate for each in reversed(ranked)}
        best_candidates += [c for c in best.values() if c not in best_candidates]
    previews |= {k: _in_time(prober, best_candidates, k, previews) for k in numbers}
    if not any(previews.values()):
        return None
    if refine:
        around = _between(numbers, _choice(_scores(_best_labels(previews))))
        previews |= {k: _in_time(prober, best_candidates, k, previews) for k in around}
    return curve_of(previews, prober.seed)


def _in_time(
    prober: CandidateProber, candidates: list[Candidate], k: int, previews: Previews
) -> list[Preview]:
    """Make previews at a number; after the deadline return the known previews."""
    if any(previews.values()) and prober.is_late():
        return previews.get(k, [])
    return prober.preview_all(candidates, k)


def _between(numbers: list[int], chosen: int) -> range:
    """Return all numbers between the neighbours of the chosen one, inclusive."""
    at = numbers.index(chosen)
    return range(numbers[max(at - 1, 0)], 1 + numbers[min(at + 1, len(numbers) - 1)])


def curve_of(previews: Previews, seed: int) -> Curve:
    """Return the curve of previews."""
    best = _best_labels(previews)
    scores = _scores(best)
    chosen = _choice(scores)
    random = np.random.RandomState(seed)
    n = len(best[chosen][0])
    choices, peaks = [], []
    for _ in range(_N_BOOTSTRAPS if len(best) > 1 else 1):
        counts = np.bincount(random.randint(n, size=n), minlength=n)
        resampled = _scores(best, counts)
        choices.append(_choice(resampled))
        peaks.append(max(resampled, key=lambda k: resampled[k]))
    return Curve(
        numbers=list(scores),
        scores=list(scores.values()),
        chosen=chosen,
        confidence=float(np.mean(np.array(choices) == chosen)),
        likely=(_quantile(choices, 0.05), _quantile(peaks, 0.95)),
    )


def _best_labels(previews: Previews) -> dict[int, Scored]:
    """Return the best labels of every number that was previewed in all kinds of graph.

    Without one of the kinds, the mean over the kinds is not comparable.
    """
    kinds = {k: {p.candidate.graph for p in each} for k, each in previews.items()}
    most = max(map(len, kinds.values()))
    complete = [k for k in sorted(previews) if len(kinds[k]) == most]
    return {k: _best_of(previews[k]) for k in complete}


def _scores(
    best: dict[int, Scored], counts: np.ndarray | None = None
) -> dict[int, float]:
    """Return the mean modularity of the best labels for every number.

    Chance is not subtracted: it rises with the number of clusters almost as fast as the
    modularity of real clusters, and would hide them. Modularity itself falls when
    clusters are split. ``counts`` are the multiplicities of a bootstrap sample.
    """
    return {
        k: float(np.mean([preview.modularity(labels, counts) for preview in previews]))
        for k, (labels, previews) in best.items()
    }


def _quantile(numbers: list[int], fraction: float) -> int:
    return int(np.quantile(numbers, fraction, method="nearest"))


def _choice(scores: dict[int, float]) -> int:
    required = fraction_of(max(scores.values()), _AS_GOOD)
    return min(k for k, reached in scores.items() if reached >= required)


def _best_of(previews: list[Preview]) -> Scored:
    """Return the best labels, and of every kind the preview with most excess."""
    labels = by_score(previews)[0].labels
    # Ascending, so that the last preview of a kind has the most excess.
    ascending = sorted(previews, key=lambda preview: preview.excess(labels))
    kinds = {preview.candidate.graph: preview for preview in ascending}
    return labels, list(kinds.values())
