"""The score of any labels in the graphs of one or several fitted searches."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from twofold.core.arrays import to_numpy
from twofold.estimators.search.candidates import joint_score


def score_in(searches: Sequence[Any], labels: Any) -> float:
    """Return the score of labels (n,) in the graphs of searches taken together.

    All are an ``AutoTSNMF`` fitted to the same n samples, in the same order. NaN if
    none of them has compared anything.
    """
    numbers = [len(to_numpy(each.labels_)) for each in searches]
    if len(set(numbers)) > 1:
        raise ValueError(
            f"others must be searches of the same {numbers[0]} samples, got searches "
            f"of {', '.join(map(str, numbers[1:]))}"
        )
    given = np.asarray(to_numpy(labels))
    if given.shape != (numbers[0],):
        raise ValueError(
            f"labels must have shape ({numbers[0]},), one for each sample of the fit, "
            f"got {given.shape}"
        )
    clusters = np.unique(given, return_inverse=True)[1]
    compared = [each for each in searches if each._compared]
    if not compared:
        return float("nan")
    return joint_score((clusters[each._rows], each._compared) for each in compared)
