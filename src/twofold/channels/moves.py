"""Images that are moved: shifted, turned, and filled where nothing comes from."""

from typing import NamedTuple

import numpy as np

_MOST = 2.0
"""Largest factor by which a filled pixel differs from the nearest known one."""


_LEAST = 1e-6
"""Lowest value of a mean image by which is divided, as a fraction of the highest."""


class Transforms(NamedTuple):
    """How images are moved: first shifted, then turned about the centre."""

    shifts: np.ndarray  # (n, 2), pixels downwards and to the right
    turns: np.ndarray  # (n,), degrees, in the sense of ``scipy.ndimage.rotate``

    @classmethod
    def none(cls, n: int) -> "Transforms":
        """Return those that leave n images where they are."""
        return cls(np.zeros((n, 2)), np.zeros(n))

    def part(self, rows: slice) -> "Transforms":
        """Return those of some of the images."""
        return Transforms(self.shifts[rows], self.turns[rows])


class Moved(NamedTuple):
    """Moved images, with their edge pixels continued outwards."""

    images: np.ndarray  # (n, c, h, w), interpolated linearly
    inside: np.ndarray  # (n, h, w), whether a pixel comes from inside its image
    nearest: np.ndarray  # (2, n, h, w), where it comes from: the nearest place inside


def move(images: np.ndarray, transforms: Transforms) -> Moved:
    """Shift and turn images (n, c, h, w)."""
    h, w = images.shape[2:]
    y, x = np.arange(h)[:, None] - (h - 1) / 2, np.arange(w)[None, :] - (w - 1) / 2
    cos, sin = _rotation(transforms)
    down, right = (transforms.shifts[:, axis, None, None] for axis in (0, 1))
    source = np.stack(
        [
            cos * y + sin * x + (h - 1) / 2 - down,
            cos * x - sin * y + (w - 1) / 2 - right,
        ]
    )
    nearest = np.stack([np.clip(source[0], 0, h - 1), np.clip(source[1], 0, w - 1)])
    inside = (np.abs(source - nearest) < 0.5).all(axis=0)
    return Moved(_interpolated(images, nearest), inside, nearest)


def move_and_fill(
    images: np.ndarray, transforms: Transforms, mean: np.ndarray, darkest: np.ndarray
) -> np.ndarray:
    """Move images (n, c, h, w), and fill what comes from outside by their mean.

    Such a pixel takes the value of the nearest pixel inside, times the ratio of the
    ``mean`` (c, h, w) of moved images at the two places. Values are counted from the
    ``darkest`` (c,) of each channel.
    """
    moved, inside, nearest = move(images, transforms)
    # where the nearest pixel inside an image lies when that image is moved
    places = _targets(nearest, transforms, images.shape[2:])
    low = darkest[:, None, None].astype(np.float64)
    above = np.maximum(mean - low, 0)
    there = _interpolated(np.broadcast_to(above, images.shape), places)
    least = _LEAST * above.max() + np.finfo(np.float64).tiny  # for a division
    ratio = np.clip(above / np.maximum(there, least), 1 / _MOST, _MOST)
    return np.where(inside[:, None], moved, low + (moved - low) * ratio)


def _targets(
    places: np.ndarray, transforms: Transforms, shape: tuple[int, ...]
) -> np.ndarray:
    """Return the places (2, n, h, w) in the frame that given places are moved to."""
    h, w = shape
    cos, sin = _rotation(transforms)
    y = places[0] + transforms.shifts[:, 0, None, None] - (h - 1) / 2
    x = places[1] + transforms.shifts[:, 1, None, None] - (w - 1) / 2
    return np.stack(
        [
            np.clip(cos * y - sin * x + (h - 1) / 2, 0, h - 1),
            np.clip(sin * y + cos * x + (w - 1) / 2, 0, w - 1),
        ]
    )


def _rotation(transforms: Transforms) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and the sines (n, 1, 1) of the turns."""
    angles = np.deg2rad(transforms.turns)[:, None, None]
    return np.cos(angles), np.sin(angles)


def _interpolated(images: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return images (n, c, h, w) at places (2, n, h, w), by linear interpolation."""
    (n, _, h, w), (y, x) = images.shape, places
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    bottom, right = np.minimum(top + 1, h - 1), np.minimum(left + 1, w - 1)
    down, across = (y - top)[..., None], (x - left)[..., None]
    each = np.arange(n)[:, None, None]
    rows = images.transpose(0, 2, 3, 1)  # channels last: the places index n, h and w
    above = rows[each, top, left] * (1 - across) + rows[each, top, right] * across
    below = rows[each, bottom, left] * (1 - across) + rows[each, bottom, right] * across
    return (above * (1 - down) + below * down).transpose(0, 3, 1, 2)
