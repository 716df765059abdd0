"""Choose size and colour from a sample of the image files."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import TiffImageFile

from twofold.io.contents import Contents
from twofold.io.opening import ArrayFrames, ImageFrames, Limits, opened
from twofold.io.pixels import Rendering, shrunk
from twofold.io.strips import Size

_SAMPLE = 100
"""Maximum number of files in the sample."""

_LONGEST = 64
"""Maximum longer side of a size that is chosen."""

_VISIBLE = 0.02
"""Mean spread of the channels, as a share of their range, above which is colour."""


_SMALL = Rendering((1, 1), 3, longest=32)
"""A thumbnail, in which colours are looked for."""


class _File(Protocol):
    """A file of which it is known what it holds."""

    @property
    def path(self) -> Path: ...
    @property
    def contents(self) -> Contents: ...


class Plan(NamedTuple):
    """How all files are read."""

    size: Size
    channels: int | None  # None if the images are grey
    longest: int | None  # longer side of the thumbnails, if any


class _Preview(NamedTuple):
    """Properties of the first frame of a file."""

    shape: Size
    channels: int  # 3 for images that are grey or have colours
    color: bool | None  # None if it is not known


def planned(
    files: Sequence[_File],
    size: Size | None,
    color: bool | None,
    thumbnails: int | None,
    limits: Limits,
    workers: int,
) -> Plan:
    """Choose the values that are None, and limit thumbnails to the size of the images.

    The size is the median; colours are kept if a tenth of the files has any, and other
    numbers of channels if most files have that number. Files are opened only if a value
    depends on them; files beyond the limits are left out. ``thumbnails`` is the maximum
    longer side, or None for no thumbnails.
    """
    plain = color is not True or not any(file.contents.stack for file in files)
    if size is not None and color is not None and thumbnails is None and plain:
        return Plan(size, 3 if color else None, None)
    previews = _preview_sample(files, limits, workers, pixels=color is None)
    channels = _chosen_channels(previews) if color is not False else 3
    if color is None and channels == 3:
        known = [preview.color for preview in previews if preview.color is not None]
        color = 10 * sum(known) >= len(known) > 0
    kept = None if color is False else channels
    if not previews:  # reading the files will raise the error
        return Plan(size or (_LONGEST, _LONGEST), kept, thumbnails)
    height, width = np.median([preview.shape for preview in previews], axis=0).tolist()
    if thumbnails is not None:
        thumbnails = max(shrunk((height, width), thumbnails))
    return Plan(size or shrunk((height, width), _LONGEST), kept, thumbnails)


def _chosen_channels(previews: Sequence[_Preview]) -> int:
    """Return the most frequent number of channels, 3 if there are several."""
    counts = Counter(preview.channels for preview in previews)
    return max([3, *counts], key=lambda channels: (counts[channels], channels == 3))


def _preview_sample(
    files: Sequence[_File], limits: Limits, workers: int, pixels: bool
) -> list[_Preview]:
    """Preview an even sample of the sorted paths; unreadable files are left out."""
    positions = np.linspace(0, len(files) - 1, min(_SAMPLE, len(files))).round()
    # The choice must not depend on the order of a list.
    ordered = sorted(files, key=lambda file: file.path)
    sample = [ordered[int(position)] for position in positions]
    pool = ThreadPoolExecutor(workers)
    try:
        preview = partial(_preview, limits=limits, pixels=pixels)
        return [made for made in pool.map(preview, sample) if made is not None]
    except BaseException:  # also KeyboardInterrupt: nobody shall wait for the budget
        limits.budget.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _preview(file: _File, limits: Limits, pixels: bool) -> _Preview | None:
    """Return the properties of a file; its colour is known only with ``pixels``."""
    seen = None
    try:
        with opened(file.path, file.contents.first(), _SMALL, limits) as frames:
            seen = _headed(frames)
            if pixels and seen.color is None:
                seen = seen._replace(color=_has_color(frames))
    except Exception:  # a damaged file can raise any exception
        pass
    return seen


def _headed(frames: ImageFrames | ArrayFrames) -> _Preview:
    """Return the properties that the header of a file tells."""
    if isinstance(frames, ImageFrames):
        grey = Image.getmodebase(frames.image.mode) == "L"
        return _Preview(
            _whole(_upright_shape(frames.image)), 3, False if grey else None
        )
    channels = frames.stack.channels
    known = None if channels == 3 else channels > 1
    kind = 3 if channels == 1 else channels
    return _Preview(_whole(frames.reader.shape(frames.stack, 0)), kind, known)


def _whole(shape: Size) -> Size:
    """Return height and width; a damaged header may have anything in their place."""
    if not all(isinstance(side, int) and side > 0 for side in shape):
        raise ValueError("its header has no size")
    return shape


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


def _has_color(frames: ImageFrames | ArrayFrames) -> bool:
    """Return whether a file has visible colour, as ``read_images`` defines it.

    Grey stored as RGB is grey, even with the noise of a scanner or a slight tint. A
    sepia print has colour, since its hue may distinguish it from others.
    """
    small = frames.rendered(0)[1]
    assert small is not None
    return bool(np.ptp(small, axis=2).mean() > _VISIBLE * 255)
