"""Images of any size and unit as the square colour pictures that networks take."""

import numpy as np
from PIL import Image

FRAMES = ("crop", "pad")
"""Ways to make a square of an image without stretching it."""

_UNITS = (1.0, 255.0, 65535.0)
"""Values of white in the units that images come in."""

_BEYOND = 2.0
"""Largest entry of an image, in units of white: filled pixels may exceed white."""

_DARK = 1 / 8
"""Largest entry of an image, in units of white, below which it is stretched: 12 bits in
a file of 16 look black, and say as much as in a file of their own.
"""

_NEGATIVE = 0.1
"""Smallest entry of an image below 0, in units of its largest, for the same reason."""


def pictures(images: np.ndarray, side: int, frame: str) -> np.ndarray:
    """Return pictures (n, 3, side, side), float32 in [0, 1], of images (n, c, h, w).

    Each is made by itself: centred squares of the images, or the images on a square of
    middle grey, reduced or enlarged.
    """
    found = np.empty((len(images), 3, side, side), np.float32)
    for image, picture in zip(images, found, strict=True):
        bright = brightness(image)
        for channel, out in zip(bright, picture, strict=False):
            out[...] = _framed(channel, side, frame)
        picture[len(bright) :] = picture[0]  # grey, three times
    return found


def brightness(image: np.ndarray) -> np.ndarray:
    """Return the entries of one image, in any unit, as float32 in [0, 1].

    White is the first of 1, 255 and 65535 of which no entry is more than the double.
    An image with larger or with negative entries, and one that is nearly black, is
    stretched so that it reaches up to 1.
    """
    image = np.asarray(image, np.float64)
    low, high = float(image.min()), float(image.max())
    if low >= -_NEGATIVE * high and high <= _BEYOND * _UNITS[-1]:
        white = next(unit for unit in _UNITS if high <= _BEYOND * unit)
        found = image / (high if 0 < high < _DARK * white else white)
    else:
        # Halves, since the range of two numbers may not be one.
        found = (image / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
    return np.clip(found, 0, 1).astype(np.float32)


def _framed(channel: np.ndarray, side: int, frame: str) -> np.ndarray:
    """Return one channel (h, w) in a square of the given side."""
    height, width = channel.shape
    if height == width == side:
        return channel
    picture = Image.fromarray(channel)
    if frame == "crop":
        square = min(height, width)
        left, top = (width - square) / 2, (height - square) / 2
        box = left, top, left + square, top + square
        return np.asarray(picture.resize((side, side), Image.Resampling.BILINEAR, box))
    longest = max(height, width)
    rows, columns = (max(1, round(d * side / longest)) for d in (height, width))
    small = picture.resize((columns, rows), Image.Resampling.BILINEAR)
    above, before = (side - rows) // 2, (side - columns) // 2
    found = np.full((side, side), 0.5, np.float32)
    found[above : above + rows, before : before + columns] = np.asarray(small)
    return found
