"""A line chart as coordinates, which the template draws."""

from math import log10
from typing import Any

import numpy as np

WIDTH, HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 14, 14, 34
_TICKS = 5
_DIGITS = 4, 7
"""Of the numbers beside it: more of them where it is nearly flat."""


def line_chart(values: list[float], over: list[int] | None = None) -> dict[str, Any]:
    """Where a curve and its ticks are, in pixels.

    Parameters
    ----------
    values : list of float
    over : list of int or None
        What they belong to, in rising order; None stands for 1, 2, ...

    Returns
    -------
    dict
        ``width``, ``height``; ``points`` as (x, y) pairs; ``across`` and ``up``, the
        ticks as (place, text) pairs; ``frame``: left, right, top and bottom.
    """
    over = over or list(range(1, len(values) + 1))
    first, last = over[0], over[-1]
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - margin, high + margin
    frame = _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM

    def x(number: float) -> float:
        part = (number - first) / (last - first) if last > first else 0.5
        return round(frame[0] + part * (frame[1] - frame[0]), 1)

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
