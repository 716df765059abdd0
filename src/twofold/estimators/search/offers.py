"""Labels that the best candidates of a search offer to each other.

Where candidates are nearly as good, one of them has often missed the best clusters of
its own graph, and another has found them in a graph of its own.
"""

from collections.abc import Sequence
from dataclasses import replace

from twofold.core.modularity import LEAST_RISE, refine_labels
from twofold.estimators.search.candidates import Preview, fraction_of, with_scores

_NEARLY = 0.98
"""Fraction of the best score from which on a candidate takes part."""


def offer_labels(previews: Sequence[Preview]) -> list[Preview]:
    """Return the previews, with labels of others where these are better.

    Labels are better if their modularity in the own graph is higher, once single
    samples have moved in it.
    """
    best = nearly_best(previews)
    taking_part = {id(preview) for preview in best}
    return [
        _best_offer(preview, best) if id(preview) in taking_part else preview
        for preview in previews
    ]


def nearly_best(previews: Sequence[Preview]) -> list[Preview]:
    """Return the previews whose scores are close to the best, the best first."""
    ranked = with_scores(previews)
    required = fraction_of(ranked[0][0], _NEARLY) if ranked else 0.0
    return [preview for reached, preview in ranked if reached >= required]


def _best_offer(preview: Preview, others: Sequence[Preview]) -> Preview:
    """Return a preview with the best labels that it and the others have."""
    highest = preview.modularity(preview.labels) + LEAST_RISE
    taken = preview
    for other in (each for each in others if each is not preview):
        labels = refine_labels(preview.adjacency, other.labels)
        reached = preview.modularity(labels)
        if reached > highest:
            highest, taken = reached, replace(preview, labels=labels)
    return taken
