"""Choose size and colour from a sample of the image files."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import TiffImageFile

from twofold.io.pixels import Size, flattened, opened, shrunk, thumbnail

_SAMPLE = 100
"""Maximum number of files in the sample."""

_LONGEST = 64
"""Maximum longer side of a size that is chosen."""

_VISIBLE = 0.02
"""Mean spread of the channels, as a share of their range, above which is colour."""


class Plan(NamedTuple):
    """How all files are read."""

    size: Size
    color: bool  # whether the images keep their colours
    longest: int | None  # longer side of the thumbnails, if any


class _Preview(NamedTuple):
    """Properties of one file."""

    shape: Size
    color: bool | None  # None if it is not known


def planned(
    paths: Sequence[Path],
    size: Size | None,
    color: bool | None,
    thumbnails: int | None,
    max_pixels: int,
    workers: int,
) -> Plan:
    """Choose the values that are None, and limit thumbnails to the size of the images.

    The size is the median; colours are kept if a tenth of the files has any. Files are
    opened only if a value depends on them; files of more than ``max_pixels`` pixels are
    left out. ``thumbnails`` is the maximum longer side, or None for no thumbnails.
    """
    if size is not None and color is not None and thumbnails is None:
        return Plan(size, color, None)
    previews = _preview_sample(paths, max_pixels, workers, pixels=color is None)
    if color is None:
        known = [preview.color for preview in previews if preview.color is not None]
        color = 10 * sum(known) >= len(known) > 0
    if not previews:  # reading the files will raise the error
        return Plan(size or (_LONGEST, _LONGEST), color, thumbnails)
    height, width = np.median([preview.shape for preview in previews], axis=0).tolist()
    if thumbnails is not None:
        thumbnails = max(shrunk((height, width), thumbnails))
    return Plan(size or shrunk((height, width), _LONGEST), color, thumbnails)


def _preview_sample(
    paths: Sequence[Path], max_pixels: int, workers: int, pixels: bool
) -> list[_Preview]:
    """Preview an even sample of the sorted paths; unreadable files are left out."""
    positions = np.linspace(0, len(paths) - 1, min(_SAMPLE, len(paths))).round()
    ordered = sorted(paths)  # the choice must not depend on the order of a list
    sample = [ordered[int(position)] for position in positions]
    with ThreadPoolExecutor(workers) as pool:
        preview = partial(_preview, max_pixels=max_pixels, pixels=pixels)
        return [made for made in pool.map(preview, sample) if made is not None]


def _preview(path: Path, max_pixels: int, pixels: bool) -> _Preview | None:
    """Return the properties of a file; its colour is known only with ``pixels``."""
    shape = None
    try:
        with opened(path, max_pixels) as image:
            shape = _upright_shape(image)
            return _Preview(shape, has_color(image) if pixels else None)
    except Exception:  # a damaged file can raise any exception
        return None if shape is None else _Preview(shape, None)


def _upright_shape(image: Image.Image) -> Size:
    """Return height and width of an open image after it is turned upright."""
    width, height = image.size
    if isinstance(image, TiffImageFile):  # some versions of Pillow swap its sides
        width = image.tag_v2[ExifTags.Base.ImageWidth]
        height = image.tag_v2[ExifTags.Base.ImageLength]
    # The method of PNG images would decode the file to find EXIF data at its end.
    exif = Image.Image.getexif(image)
    on_its_side = exif.get(ExifTags.Base.Orientation) in (5, 6, 7, 8)
    return (width, height) if on_its_side else (height, width)


def has_color(image: Image.Image) -> bool:
    """Return whether an open image has visible colour, as ``read_images`` defines it.

    Grey stored as RGB is grey, even with the noise of a scanner or a slight tint. A
    sepia print has colour, since its hue may distinguish it from others.
    """
    if Image.getmodebase(image.mode) == "L":  # grey by its header
        return False
    image.draft("RGB", (64, 64))
    spread = np.ptp(thumbnail(flattened(image), 32), axis=2)
    return bool(spread.mean() > _VISIBLE * 255)
