"""The number of clusters: the labels that tell most for their entropy.

I(k), the partition information of the best k clusters, is what their labels tell about
an edge. H(k), their entropy, is what they cost. Parting two real clusters tells about
as much for a nat of labels as parting others did, large or small; cutting a cluster of
a graph of nearest neighbours tells a fraction of that. So the number is the k of the
highest I(k) / H(k)^b: up to there, each further nat of labels told at least b times
what those before it did on average.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import entr

from twofold.core.partitions import Partitions

EXPONENT = 0.7
"""b; docs/number.md has other values."""

_MARGIN = 0.03
"""Numbers whose score is lower by at most this part of the best are likely."""

_MAX_FILLED = 3
"""How often numbers between those that were tried are filled in."""

_LEAST = 1e-12
"""Least information, for its logarithm."""


@dataclass(frozen=True)
class NumberChoice:
    """The scores of numbers of clusters, and the choice among them."""

    numbers: list[int]  # that were tried, ascending
    scores: list[float]  # I / H^b, as a part of the best
    chosen: int  # of the best score
    likely: tuple[int, int]  # the smallest and the largest number nearly as good
    labels: np.ndarray  # (n,), the best labels of the chosen number


def choose_cluster_number(
    weights: csr_array,
    numbers: Sequence[int],
    seed: int,
    sample_weight: np.ndarray | None = None,
    device: Any = None,
    *,
    fill: bool,
) -> NumberChoice | None:
    """Choose the number of clusters of a graph.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    numbers : sequence of int
        Numbers to try, from 2 on and less than n.
    seed : int
    sample_weight : array of shape (n,) or None
        Weights of the samples; None if all are 1.
    device : torch.device or None
        GPU that finds eigenvectors; None for the CPU.
    fill : bool
        Whether the numbers between likely ones are tried as well.

    Returns
    -------
    NumberChoice, or None if so many clusters cannot be found
    """
    graph = without_loops(weights)
    counts = np.ones(graph.shape[0]) if sample_weight is None else sample_weight
    floor = neighborhood(graph) / counts.sum()
    found = Partitions(graph, max(numbers), seed, sample_weight, device)
    found.add(numbers)
    scores = _scores(found, counts, floor)
    for _ in range(_MAX_FILLED if fill and scores else 0):
        low, high = _around(scores)
        if not set(range(low, high + 1)) - set(scores):
            break
        found.add(range(low, high + 1))
        scores = _scores(found, counts, floor)
    if not fill:  # fewer clusters may have been found than were asked for
        scores = {k: score for k, score in scores.items() if k in numbers}
    if not scores:
        return None
    best = max(scores, key=lambda k: scores[k])
    relative = np.exp(np.array(list(scores.values())) - scores[best])
    return NumberChoice(
        list(scores), relative.tolist(), best, _likely(scores), found.labels[best]
    )


def without_loops(weights: csr_array) -> csr_array:
    """Return the graph without the edges of samples to themselves."""
    bare = csr_array(weights, copy=True, dtype=float)
    bare.setdiag(0)
    bare.eliminate_zeros()
    return bare


def neighborhood(weights: csr_array) -> float:
    """Return the effective number of neighbours of a sample.

    It is the mean perplexity of the weights of its edges, those without an edge left
    out; 1 if none has one.
    """
    degree = weights.sum(axis=1)
    rows = np.repeat(np.arange(len(degree)), np.diff(weights.indptr))
    parts = weights.data / degree[rows]
    entropy = np.bincount(rows, entr(parts), len(degree))
    joined = degree > 0
    return float(np.exp(entropy[joined]).mean()) if joined.any() else 1.0


def label_entropy(labels: np.ndarray, counts: np.ndarray, floor: float) -> float:
    """Return -sum_c s_c log max(s_c, floor), Eq. (entropy), for shares s_c of samples.

    ``floor`` is the share of a neighbourhood: no cluster counts as smaller, since its
    samples have neighbours beyond it in any case. ``counts`` (n,) are the weights of
    the samples.
    """
    shares = np.bincount(labels, counts) / counts.sum()
    return float(-shares @ np.log(np.maximum(shares, min(floor, 1.0))))


def _scores(found: Partitions, counts: np.ndarray, floor: float) -> dict[int, float]:
    """Return log I - b log H of all numbers from 2 on, ascending."""
    scores = {}
    for k in sorted(found.labels):
        if k > 1:
            entropy = label_entropy(found.labels[k], counts, floor)
            information = max(found.told[k], _LEAST)
            scores[k] = np.log(information) - EXPONENT * np.log(max(entropy, _LEAST))
    return scores


def _likely(scores: dict[int, float]) -> tuple[int, int]:
    """Return the smallest and the largest number whose score is nearly the best.

    One more or less than the best is likely in any case, if it was tried.
    """
    required = max(scores.values()) + np.log1p(-_MARGIN)
    best = max(scores, key=lambda k: scores[k])
    near = [k for k in scores if scores[k] >= required or abs(k - best) == 1]
    return min(near), max(near)


def _around(scores: dict[int, float]) -> tuple[int, int]:
    """Return the likely range, and at least that between the best one's neighbours."""
    numbers, (low, high) = list(scores), _likely(scores)
    at = numbers.index(max(scores, key=lambda k: scores[k]))
    near = numbers[max(at - 1, 0) : at + 2]
    return min(low, near[0]), max(high, near[-1])
