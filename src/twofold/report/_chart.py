"""A line chart as coordinates, which the template draws."""

from math import log10
from typing import Any

import numpy as np

WIDTH, HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 14, 14, 34
_TICKS = 5
_DIGITS = 4, 7
"""Of the numbers beside it: more of them where it is nearly flat."""


def line_chart(values: list[float]) -> dict[str, Any]:
    """Where a curve over 1, 2, ... and its ticks are, in pixels.

    Returns
    -------
    dict
        ``width``, ``height``; ``points`` as (x, y) pairs; ``across`` and ``up``, the
        ticks as (place, text) pairs; ``frame``: left, right, top and bottom.
    """
    n = len(values)
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - margin, high + margin
    frame = _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM

    def x(iteration: float) -> float:
        part = (iteration - 1) / (n - 1) if n > 1 else 0.5
        return round(frame[0] + part * (frame[1] - frame[0]), 1)

    def y(value: float) -> float:
        return round(frame[3] - (value - low) / (high - low) * (frame[3] - frame[2]), 1)

    steps = np.unique(np.linspace(1, n, min(n, 10)).round().astype(int)).tolist()
    levels = np.linspace(low + margin / 2, high - margin / 2, _TICKS).tolist()
    flatness = max(abs(low), abs(high)) / (high - low)
    digits = min(_DIGITS[0] + max(0, int(log10(flatness))), _DIGITS[1])
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "points": [(x(i), y(value)) for i, value in enumerate(values, 1)],
        "across": [(x(step), str(step)) for step in steps],
        "up": [(y(level), f"{level:.{digits}g}") for level in levels],
        "frame": frame,
    }
