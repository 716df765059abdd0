"""How many clusters there are, from looks at several numbers of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.estimators.problem import check_enough
from twofold.estimators.samples import is_count
from twofold.estimators.search.candidates import (
    Look,
    Observer,
    Setting,
    by_score,
    part_of,
)

_LARGEST, _FEWEST_EACH, _RATIO = 60, 4, 1.15
"""Numbers tried where none is given: up to which, with how many samples in a cluster
at least on average, and how much more one is than the other.
"""

_AS_GOOD = 0.99
"""Of the best score: the smallest number that reaches it is taken."""

_TRIALS = (0.25, 0.75)
"""How far along the numbers all settings are looked at."""

_RESAMPLES = 50

Seen = tuple[np.ndarray, list[Look]]
"""Labels, and the looks in which they are seen."""


@dataclass(frozen=True)
class Curve:
    """The score of each number of clusters, and what follows from it.

    Attributes
    ----------
    numbers : list of int
    scores : list of float
        The modularity of the best labels for each number, in the mean over the kinds
        of graphs.
    chosen : int
        The smallest number whose score is within a hundredth of the best.
    confidence : float
        The part of resamples of the samples, drawn with replacement, that choose it.
    likely : (int, int)
        From what they choose to the number of their best score, in nine of ten of them.
    """

    numbers: list[int]
    scores: list[float]
    chosen: int
    confidence: float
    likely: tuple[int, int]

    @property
    def at_end(self) -> bool:
        """Whether the largest of several numbers was chosen: there may be more."""
        return len(self.numbers) > 1 and self.chosen == self.numbers[-1]


def read_cluster_numbers(wanted: Any, n: int) -> list[int]:
    """The numbers to try: one, those of a sequence, or with None a few of many."""
    if wanted is None:
        largest = max(2, min(_LARGEST, n // _FEWEST_EACH))
        count = 1 + int(np.log(largest / 2) / np.log(_RATIO))
        spread = np.geomspace(2, largest, max(count, 1)).round().astype(int)
        return sorted({min(int(k), n) for k in spread})
    numbers = [wanted] if is_count(wanted) else _listed(wanted)
    if not numbers or not all(is_count(k) for k in numbers):
        raise ValueError(
            "n_clusters must be a positive integer, a range or sequence of them, or "
            f"None, got {wanted!r}"
        )
    check_enough("n_clusters", max(numbers), n)
    return sorted({int(k) for k in numbers})


def _listed(wanted: Any) -> list[Any]:
    return list(wanted) if isinstance(wanted, Iterable) else []


def look_for_number(
    observer: Observer, settings: list[Setting], numbers: list[int], *, refine: bool
) -> Curve | None:
    """The curve over numbers, and with ``refine`` over all around the best of them.

    All settings are looked at for a small and a large number, and those that are then
    the best of their kind of graph for all others. None where no graph held together.
    """
    few: list[Setting] = []
    found: dict[int, list[Look]] = {}
    for part in _TRIALS:
        k = numbers[int(part * (len(numbers) - 1))]
        found[k] = _in_time(observer, settings, k, found)
        ranked = by_score(found[k])
        best = {look.setting.graph: look.setting for look in reversed(ranked)}
        few += [setting for setting in best.values() if setting not in few]
    found |= {k: _in_time(observer, few, k, found) for k in numbers}
    if not any(found.values()):
        return None
    if refine:
        around = _between(numbers, _chosen(_scores(_best_labels(found))))
        found |= {k: _in_time(observer, few, k, found) for k in around}
    return curve_of(found, observer.seed)


def _in_time(
    observer: Observer, settings: list[Setting], k: int, found: dict[int, list[Look]]
) -> list[Look]:
    """Looks at a number, or those that there are when time is over."""
    if any(found.values()) and observer.is_late():
        return found.get(k, [])
    return observer.look_at_all(settings, k)


def _between(numbers: list[int], chosen: int) -> range:
    """The numbers from the one tried before the chosen to the one tried after it."""
    at = numbers.index(chosen)
    return range(numbers[max(at - 1, 0)], 1 + numbers[min(at + 1, len(numbers) - 1)])


def curve_of(found: dict[int, list[Look]], seed: int) -> Curve:
    """The curve of looks by their number of clusters."""
    best = _best_labels(found)
    scores = _scores(best)
    chosen = _chosen(scores)
    random = np.random.RandomState(seed)
    n = len(best[chosen][0])
    choices, peaks = [], []
    for _ in range(_RESAMPLES if len(best) > 1 else 1):
        times = np.bincount(random.randint(n, size=n), minlength=n)
        again = _scores(best, times)
        choices.append(_chosen(again))
        peaks.append(max(again, key=lambda k: again[k]))
    return Curve(
        numbers=list(scores),
        scores=list(scores.values()),
        chosen=chosen,
        confidence=float(np.mean(np.array(choices) == chosen)),
        likely=(_quantile(choices, 0.05), _quantile(peaks, 0.95)),
    )


def _best_labels(found: dict[int, list[Look]]) -> dict[int, Seen]:
    """``_best_seen`` for each number at which all kinds of graphs were looked at.

    Where one is lacking, the mean over the kinds is of another sort.
    """
    kinds = {k: {look.setting.graph for look in looks} for k, looks in found.items()}
    most = max(map(len, kinds.values()))
    return {k: _best_seen(found[k]) for k in sorted(found) if len(kinds[k]) == most}


def _scores(best: dict[int, Seen], times: np.ndarray | None = None) -> dict[int, float]:
    return {k: _mean_modularity(*seen, times) for k, seen in best.items()}


def _quantile(numbers: list[int], part: float) -> int:
    return int(np.quantile(numbers, part, method="nearest"))


def _chosen(scores: dict[int, float]) -> int:
    enough = part_of(max(scores.values()), _AS_GOOD)
    return min(k for k, reached in scores.items() if reached >= enough)


def _best_seen(looks: list[Look]) -> Seen:
    """The best labels, and of each kind the look in which they stand out most."""
    labels = by_score(looks)[0].labels
    kinds: dict[str, Look] = {}
    for look in sorted(looks, key=lambda look: look.excess(labels)):
        kinds[look.setting.graph] = look
    return labels, list(kinds.values())


def _mean_modularity(
    labels: np.ndarray, looks: list[Look], times: np.ndarray | None = None
) -> float:
    """Of labels in the graphs of looks, each sample being there so many times.

    Chance is left in it: it rises with the number almost as what is there does, and
    would hide it. Modularity by itself falls when clusters are split.
    """
    return float(np.mean([look.modularity(labels, times) for look in looks]))
