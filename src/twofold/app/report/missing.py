"""How much of the images was missing, and pictures before and after filling it in."""

from typing import Any

import numpy as np

from twofold.app.collection import Collection
from twofold.app.report.pictures import data_uri, picture_of, shown_range, shrunk

_MOST_PAIRS = 12

_LONGEST = 128
"""The longest side of a picture."""

_HOLE = (255, 0, 200)
"""A missing pixel: magenta, which no grey image has."""


def chosen_pairs(collection: Collection) -> list[int]:
    """The images to be shown before and after: an even choice, most missing first."""
    if collection.missing is None or collection.images.ndim == 2:  # vectors
        return []
    shares = _shares(collection.missing)
    incomplete = np.flatnonzero(shares)
    order = incomplete[np.argsort(-shares[incomplete], kind="stable")]
    places = np.linspace(0, len(order) - 1, min(_MOST_PAIRS, len(order)))
    return order[places.astype(int)].tolist()


def missing_facts(
    collection: Collection, pairs: list[int], place: dict[int, int]
) -> dict[str, Any] | None:
    """What a report says of missing entries, None where there are none.

    Parameters
    ----------
    collection : Collection
        Completed.
    pairs : list of int
        The images that are shown before and after.
    place : dict of int to int
        Where they are among those that the report shows.

    Returns
    -------
    dict or None
        ``images``: how many are incomplete. ``share``: the part of all entries that
        is missing; ``least`` and ``most``: of the entries of an incomplete image.
        ``pairs``: of each the ``item``, its ``share``, and two pictures.
    """
    if collection.missing is None:
        return None
    shares = _shares(collection.missing)
    incomplete = shares[shares > 0]
    low, high = shown_range(collection.images)
    return {
        "images": len(incomplete),
        "share": _rounded(shares.mean()),
        "least": _rounded(incomplete.min()),
        "most": _rounded(incomplete.max()),
        "pairs": [
            {"item": place[i], "share": _rounded(shares[i])}
            | _pictures(collection.images[i], collection.missing[i], low, high)
            for i in pairs
        ],
    }


def _shares(missing: np.ndarray) -> np.ndarray:
    """The part of each sample that is missing, (n,)."""
    return missing.reshape(len(missing), -1).mean(axis=1)


def _pictures(
    sample: np.ndarray, missing: np.ndarray, low: float, high: float
) -> dict[str, str]:
    """A sample with its holes marked and filled; in colour a hole is of any channel."""
    after = picture_of(sample, low, high)
    before = after.copy()
    before[missing.any(axis=2) if missing.ndim == 3 else missing] = _HOLE
    return {
        "before": data_uri(shrunk(before, _LONGEST)),
        "after": data_uri(shrunk(after, _LONGEST)),
    }


def _rounded(share: float) -> float:
    return round(float(share), 4)
