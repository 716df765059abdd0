"""Coordinates of a line chart, which a template draws."""

from math import log10
from typing import Any

import numpy as np

WIDTH, HEIGHT = 640, 240
"""Size of the chart in pixels."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 14, 14, 34
"""Margins around the frame in pixels."""

_TICKS = 5
"""Number of ticks of the y axis."""

_DIGITS = 4, 7
"""Minimum and maximum number of digits of a y tick; a flat curve needs more."""


def line_chart(values: list[float], over: list[int] | None = None) -> dict[str, Any]:
    """Return the coordinates of a curve and its ticks, in pixels.

    The x axis has the integers ``over``, in rising order; None stands for 1, 2, ...
    The dict has ``width`` and ``height`` of the chart; ``points``: (x, y) pairs;
    ``across`` and ``up``: ticks of the x and y axis as (coordinate, text) pairs;
    ``frame``: left, right, top and bottom.
    """
    over = over or list(range(1, len(values) + 1))
    first, last = over[0], over[-1]
    low, high = min(values), max(values)
    # A constant curve has no range: it is drawn in the middle.
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - margin, high + margin
    frame = _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM

    def x(number: float) -> float:
        share = (number - first) / (last - first) if last > first else 0.5
        return round(frame[0] + share * (frame[1] - frame[0]), 1)

    def y(value: float) -> float:
        return round(frame[3] - (value - low) / (high - low) * (frame[3] - frame[2]), 1)

    count = min(last - first + 1, 10)
    steps = np.unique(np.linspace(first, last, count).round().astype(int)).tolist()
    levels = np.linspace(low + margin / 2, high - margin / 2, _TICKS).tolist()
    flatness = max(abs(low), abs(high)) / (high - low)
    digits = min(_DIGITS[0] + max(0, int(log10(flatness))), _DIGITS[1])
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "points": [(x(i), y(value)) for i, value in zip(over, values, strict=True)],
        "across": [(x(step), str(step)) for step in steps],
        "up": [(y(level), f"{level:.{digits}g}") for level in levels],
        "frame": frame,
    }
