"""The missing entries: how many, and pictures before and after filling them in."""

import numpy as np

from twofold.app.collection import Collection
from twofold.app.report.clustering import Clustering
from twofold.app.report.pictures import data_uri, picture_of, shown_range, shrunk
from twofold.app.report.schema import Count, Fraction, Part, Picture

_MOST_PAIRS = 12
"""Maximum number of samples that are shown before and after."""

_LONGEST = 128
"""Maximum height and width of a picture, in pixels."""

_MISSING_COLOR = (255, 0, 200)
"""Colour of a missing pixel: magenta, which does not occur in grey images."""


class Pair(Part, frozen=True):
    """One sample before and after its missing entries are filled in."""

    item: Count  # position of the sample
    share: Fraction  # share of its entries that is missing
    before: Picture  # with the missing entries marked
    after: Picture  # with the missing entries filled in


class Missing(Part, frozen=True):
    """Missing entries of all samples."""

    images: Count  # number of samples with missing entries
    share: Fraction  # share of all entries that is missing
    least: Fraction  # smallest share of a sample with missing entries
    most: Fraction  # largest share of a sample
    pairs: list[Pair]  # the sample with most missing entries first


def build_missing(clustering: Clustering) -> Missing | None:
    """Return a description of the missing entries, or None if nothing was missing."""
    collection = clustering.collection
    if collection.missing is None:
        return None
    shares = _shares(collection.missing)
    nonzero = shares[shares > 0]
    value_range = shown_range(collection.images)
    return Missing(
        images=len(nonzero),
        share=_rounded(shares.mean()),
        least=_rounded(nonzero.min()),
        most=_rounded(nonzero.max()),
        pairs=[
            Pair(
                clustering.positions[i],
                _rounded(shares[i]),
                *_pictures(collection.images[i], collection.missing[i], *value_range),
            )
            for i in select_pairs(collection)
        ],
    )


def select_pairs(collection: Collection) -> list[int]:
    """Return the samples to show before and after, evenly spread over the shares."""
    if collection.missing is None or collection.images.ndim == 2:  # vectors
        return []
    shares = _shares(collection.missing)
    affected = np.flatnonzero(shares)
    order = affected[np.argsort(-shares[affected], kind="stable")]
    positions = np.linspace(0, len(order) - 1, min(_MOST_PAIRS, len(order)))
    return order[positions.astype(int)].tolist()


def _shares(missing: np.ndarray) -> np.ndarray:
    """Return the share of each sample that is missing, (n,)."""
    return missing.reshape(len(missing), -1).mean(axis=1)


def _pictures(
    sample: np.ndarray, missing: np.ndarray, low: float, high: float
) -> tuple[str, str]:
    """Return pictures of a sample with its missing pixels marked, and filled in.

    A pixel of a colour image is missing if any of its channels is.
    """
    after = picture_of(sample, low, high)
    before = after.copy()
    before[missing.any(axis=2) if missing.ndim == 3 else missing] = _MISSING_COLOR
    return data_uri(shrunk(before, _LONGEST)), data_uri(shrunk(after, _LONGEST))


def _rounded(share: float) -> float:
    return round(float(share), 4)
