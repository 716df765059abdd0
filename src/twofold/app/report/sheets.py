"""Many thumbnails in a few large pictures, so that a page of thousands stays small."""

from typing import Annotated

import numpy as np
from msgspec import Meta

from twofold.app.collection import THUMBNAIL
from twofold.app.report.clustering import Clustering
from twofold.app.report.pictures import compressed_uri, reduced, thumbnails_of
from twofold.app.report.schema import Count, Part, Picture

_SIDE = 2048
"""Maximum height and width of a sheet, in pixels."""

_EXACT = 32
"""Maximum side of thumbnails that are stored exactly; compression would blur them."""

_STEPS = ((1, 80), (1, 60), (1, 40), (1, 20), (2, 40), (2, 20), (4, 20))
"""Reduction factors and qualities, tried in turn until the sheets fit the budget."""

_BUDGET = 9_000_000
"""Maximum number of characters of all sheets."""

_TRIED = 128
"""Number of rows of each sheet from which the encoded size is estimated."""

_Size = Annotated[int, Meta(ge=1, le=2**53)]


class Sheets(Part, frozen=True):
    """Sheets of thumbnails."""

    side: _Size  # side of the square around a thumbnail, in pixels
    width: _Size  # width of every sheet, in pixels
    images: list[Picture]  # reduced sheets have fewer pixels than ``width``
    # Sheet, left, top, width and height of every thumbnail, for sheets of ``width``.
    places: list[tuple[Count, Count, Count, Count, Count]]

    def __post_init__(self) -> None:
        if not all(place[0] < len(self.images) for place in self.places):
            raise ValueError("it names sheets of thumbnails that it does not have")


def shown_sheets(clustering: Clustering) -> Sheets:
    """Return the thumbnails of the shown samples; image files already have theirs."""
    collection, shown = clustering.collection, clustering.shown
    if collection.thumbnails is None or collection.thumbnail_sizes is None:
        return make_sheets(*thumbnails_of(collection.images[shown], THUMBNAIL))
    return make_sheets(collection.thumbnails[shown], collection.thumbnail_sizes[shown])


def make_sheets(thumbnails: np.ndarray, sizes: np.ndarray) -> Sheets:
    """Arrange thumbnails on sheets, row by row.

    The thumbnails, uint8 (n, t, t, 3), are centred in their squares; ``sizes`` (n, 2)
    has the height and width of each.
    """
    n, side = thumbnails.shape[:2]
    columns = max(1, min(_SIDE // side, int(np.ceil(n**0.5))))
    each = columns * max(1, _SIDE // side)
    pictures = [_sheet(thumbnails[i : i + each], columns) for i in range(0, n, each)]
    return Sheets(
        side=side,
        width=columns * side,
        images=_encode_within_budget(pictures, exact=side <= _EXACT),
        places=[
            _place(i % each, columns, side, size, i // each)
            for i, size in enumerate(sizes.tolist())
        ],
    )


def _sheet(thumbnails: np.ndarray, columns: int) -> np.ndarray:
    """Return one sheet (h, w, 3); places without a thumbnail are black."""
    n, side = thumbnails.shape[:2]
    rows = -(-n // columns)
    grid = np.zeros((rows * columns, side, side, 3), dtype=np.uint8)
    grid[:n] = thumbnails
    # (row, y, column, x, channel): the pixels of a line of the sheet are adjacent.
    grid = grid.reshape(rows, columns, side, side, 3).transpose(0, 2, 1, 3, 4)
    return grid.reshape(rows * side, columns * side, 3)


def _place(
    i: int, columns: int, side: int, size: list[int], sheet: int
) -> tuple[int, int, int, int, int]:
    """Return where thumbnail ``i`` of a sheet is, centred in its square."""
    row, column = divmod(i, columns)
    height, width = size
    left = column * side + (side - width) // 2
    top = row * side + (side - height) // 2
    return sheet, left, top, width, height


def _encode_within_budget(pictures: list[np.ndarray], *, exact: bool) -> list[str]:
    """Encode the sheets with the best quality that the budget allows."""
    first: list[tuple[int, int | None]] = [(1, None)] if exact else []
    trial = np.concatenate([picture[:_TRIED] for picture in pictures])
    share = len(trial) / sum(map(len, pictures))
    uris: list[str] = []
    for factor, quality in [*first, *_STEPS]:
        if share < 1:  # estimate first: encoding all sheets in vain would take long
            estimate = len(compressed_uri(reduced(trial, factor), quality)) / share
            if estimate > _BUDGET and (factor, quality) != _STEPS[-1]:
                continue
        uris = [compressed_uri(reduced(p, factor), quality) for p in pictures]
        if sum(map(len, uris)) <= _BUDGET:
            break
    return uris
