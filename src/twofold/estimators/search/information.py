"""What the graphs of one or several fitted searches tell about any labels."""

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import to_numpy
from twofold.core.edge_information import edge_information
from twofold.estimators.search.candidates import mean_of_best


def information_in(search: Any, others: Sequence[Any], labels: Any) -> float:
    """Return the edge information of labels (n,) in the graphs of searches.

    ``search`` and the ``others`` are an ``AutoTSNMF`` each, fitted to the same n
    samples in the same order. The information is a fraction of its largest value, log k
    for k clusters, and the mean over the kinds of graphs, of each the two graphs that
    tell most. NaN if no search has compared anything.
    """
    n = _number_of_samples(search, others)
    given = np.asarray(to_numpy(labels))
    if given.shape != (n,):
        raise ValueError(
            f"labels must have shape ({n},), one for each sample of the fit, got "
            f"{given.shape}"
        )
    names, clusters = np.unique(given, return_inverse=True)
    kinds: dict[str, list[float]] = {}
    for each in (search, *others):
        for preview in each._compared:
            told = edge_information(preview.adjacency, clusters[each._rows])
            kinds.setdefault(preview.candidate.graph, []).append(told)
    if not kinds:
        return float("nan")
    most = np.log(len(names)) or 1.0
    return float(np.mean([mean_of_best(told) for told in kinds.values()]) / most)


def _number_of_samples(search: Any, others: Sequence[Any]) -> int:
    """Return the number of samples, once it is the same for all fitted searches."""
    if not all(isinstance(each, type(search)) for each in others):
        kinds = reprlib.repr([type(each).__name__ for each in others])
        raise TypeError(f"others must be a sequence of AutoTSNMF, got {kinds}")
    for each in (search, *others):
        check_is_fitted(each)
    n, *numbers = (len(to_numpy(each.labels_)) for each in (search, *others))
    if set(numbers) - {n}:
        raise ValueError(
            f"others must be searches of the same {n} samples, got searches of "
            f"{', '.join(map(str, numbers))}"
        )
    return n
