"""A look at some of the image files, for what the caller has left open."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import TiffImageFile

from twofold.io.pixels import flattened, opened, shrunk, thumbnail

_SAMPLE = 100
"""Files that are looked at."""

_LONGEST = 64
"""Longer side of a size that is not given."""

_VISIBLE = 0.02
"""Mean spread of the channels, as a part of their range, above which it is colour."""


class Plan(NamedTuple):
    """What to make of each file."""

    size: tuple[int, int]
    color: bool
    longest: int | None
    """The longer side of the thumbnails, or None for none."""


class _Look(NamedTuple):
    """What one file is like."""

    shape: tuple[int, int]
    color: bool | None
    """None if it was not looked for, or the pixels cannot be read."""


def planned(
    paths: Sequence[Path],
    size: tuple[int, int] | None,
    color: bool | None,
    thumbnails: int | None,
    max_pixels: int,
    workers: int,
) -> Plan:
    """Choose what is None, and no larger thumbnails than the images are.

    Files are looked at only if something depends on them.

    Parameters
    ----------
    paths : sequence of Path
    size : (int, int) or None
    color : bool or None
    thumbnails : int or None
    max_pixels : int
        Files of more pixels are as good as unreadable.
    workers : int
        Threads.
    """
    if size is not None and color is not None and thumbnails is None:
        return Plan(size, color, None)
    looks = _looks(paths, max_pixels, workers, pixels=color is None)
    if color is None:
        seen = [look.color for look in looks if look.color is not None]
        color = 10 * sum(seen) >= len(seen) > 0
    if not looks:  # reading them will say what is wrong
        return Plan(size or (_LONGEST, _LONGEST), color, thumbnails)
    height, width = np.median([look.shape for look in looks], axis=0).tolist()
    if thumbnails is not None:
        thumbnails = max(shrunk((height, width), thumbnails))
    return Plan(size or shrunk((height, width), _LONGEST), color, thumbnails)


def _looks(
    paths: Sequence[Path], max_pixels: int, workers: int, pixels: bool
) -> list[_Look]:
    """Looks at files spread evenly over the sorted paths, but for unreadable ones."""
    places = np.linspace(0, len(paths) - 1, min(_SAMPLE, len(paths))).round()
    ordered = sorted(paths)
    sample = [ordered[int(place)] for place in places]
    with ThreadPoolExecutor(workers) as pool:
        look = partial(_look, max_pixels=max_pixels, pixels=pixels)
        return [found for found in pool.map(look, sample) if found is not None]


def _look(path: Path, max_pixels: int, pixels: bool) -> _Look | None:
    """What a file is like, from its header unless its ``pixels`` are asked for."""
    shape = None
    try:
        with opened(path, max_pixels) as image:
            shape = _upright_shape(image)
            return _Look(shape, has_color(image) if pixels else None)
    except Exception:  # broken files raise anything
        return None if shape is None else _Look(shape, None)


def _upright_shape(image: Image.Image) -> tuple[int, int]:
    """Height and width of an open image, once it is turned."""
    width, height = image.size
    if isinstance(image, TiffImageFile):  # which some versions of Pillow swap by then
        width = image.tag_v2[ExifTags.Base.ImageWidth]
        height = image.tag_v2[ExifTags.Base.ImageLength]
    # That of PNG files themselves would decode them in search of a late orientation.
    exif = Image.Image.getexif(image)
    on_its_side = exif.get(ExifTags.Base.Orientation) in (5, 6, 7, 8)
    return (width, height) if on_its_side else (height, width)


def has_color(image: Image.Image) -> bool:
    """Whether colour is to be seen in an open image.

    It is if, with the image reduced to 32 x 32, the largest and smallest of the
    three channels differ by more than 2% of their range in the mean over the pixels.
    Grey stored as RGB is thus grey, also with the noise of a scanner or a slight
    tint. A sepia print has colour: its one hue is seen, and may tell it from others.
    """
    if Image.getmodebase(image.mode) == "L":  # which the header tells
        return False
    image.draft("RGB", (64, 64))
    spread = np.ptp(thumbnail(flattened(image), 32), axis=2)
    return bool(spread.mean() > _VISIBLE * 255)
