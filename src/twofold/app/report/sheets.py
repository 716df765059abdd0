"""Many thumbnails in a few large pictures, so that a page of thousands stays small."""

from typing import Any

import numpy as np

from twofold.app.report.pictures import compressed_uri, reduced

_SIDE = 2048
"""The largest side of a sheet, in pixels."""

_EXACT = 32
"""Thumbnails up to this side are kept exactly; compression would blur them."""

_STEPS = ((1, 80), (1, 60), (1, 40), (1, 20), (2, 40), (2, 20), (4, 20))
"""How many pixels become one and the quality, until all sheets are small enough."""

_BUDGET = 9_000_000
"""Characters that all sheets may take."""

_TRIED = 128
"""Rows of each of many sheets by which their size is foretold."""


def sheets(thumbnails: np.ndarray, sizes: np.ndarray) -> dict[str, Any]:
    """Thumbnails on sheets, row after row.

    Parameters
    ----------
    thumbnails : uint8 array of shape (n, t, t, 3)
        Each in the middle of its square.
    sizes : int array of shape (n, 2)
        Height and width of each.

    Returns
    -------
    dict
        ``side``: t. ``width``: of every sheet, in pixels. ``images``: the sheets.
        ``places``: [sheet, left, top, width, height] of every thumbnail, on a sheet
        of that width; one of noise may have fewer pixels.
    """
    n, side = thumbnails.shape[:2]
    columns = max(1, min(_SIDE // side, int(np.ceil(n**0.5))))
    each = columns * max(1, _SIDE // side)
    pictures = [_sheet(thumbnails[i : i + each], columns) for i in range(0, n, each)]
    return {
        "side": side,
        "width": columns * side,
        "images": _within_budget(pictures, exact=side <= _EXACT),
        "places": [
            _place(i % each, columns, side, size, i // each)
            for i, size in enumerate(sizes.tolist())
        ],
    }


def _sheet(thumbnails: np.ndarray, columns: int) -> np.ndarray:
    n, side = thumbnails.shape[:2]
    rows = -(-n // columns)
    grid = np.zeros((rows * columns, side, side, 3), dtype=np.uint8)
    grid[:n] = thumbnails
    grid = grid.reshape(rows, columns, side, side, 3).transpose(0, 2, 1, 3, 4)
    return grid.reshape(rows * side, columns * side, 3)


def _place(i: int, columns: int, side: int, size: list[int], sheet: int) -> list[int]:
    row, column = divmod(i, columns)
    height, width = size
    left = column * side + (side - width) // 2
    top = row * side + (side - height) // 2
    return [sheet, left, top, width, height]


def _within_budget(pictures: list[np.ndarray], *, exact: bool) -> list[str]:
    first: list[tuple[int, int | None]] = [(1, None)] if exact else []
    tried = np.concatenate([picture[:_TRIED] for picture in pictures])
    share = len(tried) / sum(map(len, pictures))
    uris: list[str] = []
    for factor, quality in [*first, *_STEPS]:
        if share < 1:  # to encode all of them in vain would take long
            foretold = len(compressed_uri(reduced(tried, factor), quality)) / share
            if foretold > _BUDGET and (factor, quality) != _STEPS[-1]:
                continue
        uris = [compressed_uri(reduced(p, factor), quality) for p in pictures]
        if sum(map(len, uris)) <= _BUDGET:
            break
    return uris
