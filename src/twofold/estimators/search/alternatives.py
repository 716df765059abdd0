"""Other ways to cluster the samples, which a search has seen but not chosen.

Images of faces under lamps can be grouped by person or by lamp. Each grouping stands
out in some channels and kinds of graphs, and the score can choose only one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twofold.estimators.search.candidates import (
    CandidateProber,
    Preview,
    fraction_of,
    with_scores,
)
from twofold.metrics import ari

_MOST = 3
"""Maximum number of alternatives."""

_ALIKE = 0.5
"""Adjusted Rand index from which on two clusterings are the same way to cluster."""

_LEAST = 0.5
"""Fraction of the best score below which a clustering is no alternative."""


@dataclass(frozen=True)
class Alternative:
    """The clusters of a preview that differ from those that were chosen."""

    parameters: dict[str, Any]  # of TSNMF, as in ``Candidate``
    score: float  # as ``best_score_`` of AutoTSNMF
    agreement: float  # adjusted Rand index with the chosen labels
    labels: np.ndarray  # (n,), -1 for samples that were not previewed


def alternatives(
    previews: Sequence[Preview], prober: CandidateProber, labels: np.ndarray
) -> list[Alternative]:
    """Return the best previews that differ from the chosen labels and each other.

    Parameters
    ----------
    previews : sequence of Preview
        All with the chosen number of clusters.
    prober : CandidateProber
        What made the previews.
    labels : array of shape (n,)
        The chosen labels, in the order of X.
    """
    ranked = with_scores(previews)
    required = fraction_of(ranked[0][0], _LEAST) if ranked else 0.0
    different: list[np.ndarray] = [labels]
    found: list[Alternative] = []
    for reached, preview in ranked:
        # What stands out no more than chance is no way to cluster.
        if len(found) == _MOST or reached < required or reached <= 0:
            break
        own = prober.labels_as_given(preview.labels)
        agreements = [_agreement(own, other) for other in different]
        if max(agreements) < _ALIKE:
            different.append(own)
            parameters = prober.parameters(preview.candidate)
            found.append(Alternative(parameters, reached, agreements[0], own))
    return found


def _agreement(labels: np.ndarray, others: np.ndarray) -> float:
    """Return the adjusted Rand index over the samples that were previewed."""
    known = labels >= 0
    return ari(others[known], labels[known])
