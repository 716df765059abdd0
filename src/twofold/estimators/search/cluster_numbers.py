"""The number of clusters, chosen in the graph on which the candidates agree."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.core.cluster_number import choose_cluster_number
from twofold.estimators.parameters import check_enough, read_sequence
from twofold.estimators.reading import is_count
from twofold.estimators.search.candidates import CandidateProber, Preview, by_score
from twofold.estimators.search.consensus import consensus_graph
from twofold.estimators.search.views import Candidate

_MAX_CLUSTERS, _MIN_CLUSTER_SIZE, _RATIO = 60, 4, 1.15
"""Numbers to try by default: the largest number, the smallest mean size of a cluster,
and the ratio of consecutive numbers.
"""

_PROBED = (0.25, 0.75)
"""Positions among the numbers at which all candidates are previewed."""

_WIDE = 1.5
"""Ratio of the largest to the smallest likely number beyond which they say little."""


@dataclass(frozen=True)
class Curve:
    """The score of every number of clusters, and the choice among them.

    A score is what the labels tell about the edges of the consensus graph for what they
    cost, see ``core.cluster_number``, as a part of the best.
    """

    numbers: list[int]  # numbers that were tried, ascending
    scores: list[float]  # score of each number
    chosen: int  # number of the best score
    # From the smallest to the largest number whose score is within 3% of the best, or
    # that is next to it.
    likely: tuple[int, int]

    @property
    def at_end(self) -> bool:
        """Whether the largest of several numbers was chosen: there may be more."""
        return len(self.numbers) > 1 and self.chosen == self.numbers[-1]

    @property
    def unsure(self) -> bool:
        """Whether very different numbers are likely."""
        return is_wide(self.likely)


def is_wide(likely: tuple[int, int]) -> bool:
    """Return whether a range of likely numbers says little."""
    low, high = likely
    return high > max(_WIDE * low, low + 2)


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
    """Choose one of the numbers, with ``refine`` also of those between likely ones.

    All candidates are previewed at a small and at a large number, which shows the
    graphs that the consensus is made of. None if no graph is connected well enough, or
    none has so many clusters.
    """
    graphs: list[csr_array] = []
    previews: list[Preview] = []
    for position in _PROBED:
        if previews and prober.is_late():
            break
        k = numbers[int(position * (len(numbers) - 1))]
        previews = prober.preview_all(candidates, k)
        if previews:
            graphs.append(consensus_graph(previews, by_score(previews)[0].labels))
    n = len(prober.subset)
    several = [k for k in numbers if 1 < k < n]
    if not graphs or not several:
        return None
    found = choose_cluster_number(
        csr_array(sum(graphs[1:], graphs[0])),
        several,
        prober.seed,
        prober.sample_weight,
        fill=refine,
    )
    if found is None:
        return None
    return Curve(found.numbers, found.scores, found.chosen, found.likely)
