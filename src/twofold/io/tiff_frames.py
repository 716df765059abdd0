"""Find out how the frames of a TIFF file are made of its pages.

A description that names other files, as that of OME-TIFF may, is used for the order of
the pages of this file alone.
"""

import re
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from PIL import Image

from twofold.io.tiff import PACKINGS, Stack, TiffReader

Planes = list[list[int]]
"""Pages of each frame; together they are its channels."""


def stack_of(path: Path, pages: list[int]) -> Stack | None:
    """Return how frames are made of pages, or None if Pillow can give them in full."""
    try:
        with Image.open(path, formats=("TIFF",)) as image:
            image.seek(pages[0])
            tags = dict(image.tag_v2)  # type: ignore[attr-defined]
        description, in_full = str(tags.get(270, "")), not _is_cut(tags)
        plain = in_full and "ImageJ=" not in description and "<OME" not in description
    except Exception:  # a damaged file can raise any exception
        description, in_full, plain = None, False, False
    try:
        return None if plain else _layout(path, pages, description, in_full)
    except Exception:
        # Pillow has them page by page; or reading them will tell the reason.
        return None if in_full else Stack([[page] for page in pages], 1)


def _layout(
    path: Path, pages: list[int], description: str | None, in_full: bool
) -> Stack | None:
    """Return how frames are made of pages, by a description or that of the file."""
    with TiffReader(path) as reader:
        page = reader.page(pages[0])
        description = page.description if description is None else description
        channels, room = reader.channels(pages[0]), reader.room(pages[0])
    planes = _planes(description, pages)
    # ImageJ stores the frames of a large stack after its only page.
    count = min(_number(description, "images"), room) if len(pages) == 1 else 1
    together = _number(description, "channels") or 1
    if count > 1 and together <= count:
        frames = [list(range(i, i + together)) for i in range(0, count, together)]
        return Stack(frames, channels * together, base=pages[0])
    if in_full and len(planes[0]) == 1:
        return None
    return Stack(planes, channels * len(planes[0]))


def _is_cut(tags: dict[int, Any]) -> bool:
    """Return whether Pillow drops bits or channels of a page."""
    photometric, bits = tags.get(262), tags.get(258, (1,))
    packed = tags.get(259, 1) in PACKINGS and photometric in (0, 1, 2)
    # Pillow does not turn deep pixels of which the smallest is white.
    several = tags.get(277, 1) > 1 or photometric == 0
    deep = several and max(np.atleast_1d(bits)) > 8
    return packed and bool(deep or 0 in np.atleast_1d(tags.get(338, 1)))


def _planes(description: str, pages: list[int]) -> Planes:
    """Group pages into frames by what ImageJ or OME says of them.

    Channels belong together, all other axes are frames. Each page is used once, or
    else all of them are frames by themselves.
    """
    groups = None
    if description.startswith("ImageJ="):
        channels = _number(description, "channels") or 1
        if len(pages) % channels == 0:
            groups = [pages[i : i + channels] for i in range(0, len(pages), channels)]
    elif "<OME" in description[:1000]:
        groups = [
            [pages[i] for i in group] for group in _ome_groups(description, len(pages))
        ]
    if groups and sorted(chain(*groups)) == pages and len({*map(len, groups)}) == 1:
        return groups
    return [[page] for page in pages]


def _number(description: str, name: str) -> int:
    """Return a number of ImageJ's description, or 0."""
    found = description.startswith("ImageJ=") and re.search(
        rf"^{name}=(\d{{1,9}})\s*$", description, re.MULTILINE
    )
    return int(found[1]) if found else 0


def _ome_groups(description: str, count: int) -> Planes:
    """Return the pages, up to ``count``, of each frame of an OME-TIFF file."""
    if "<!DOCTYPE" in description:  # entities could make it as long as they like
        return []
    try:
        root = ElementTree.fromstring(description.strip("\0 \n"))
        groups: Planes = []
        for pixels in root.iterfind("{*}Image/{*}Pixels"):
            groups += _ome_frames(pixels, root.get("UUID"), count)
    except (ElementTree.ParseError, KeyError, ValueError, ZeroDivisionError):
        return []
    return groups


def _ome_frames(pixels: ElementTree.Element, own: str | None, count: int) -> Planes:
    """Return the pages of each frame of one image of an OME-TIFF file."""
    order = pixels.attrib["DimensionOrder"][2:]  # the first varies fastest
    sizes = {axis: int(pixels.attrib[f"Size{axis}"]) for axis in order}
    channel = pixels.find("{*}Channel")
    sizes["C"] //= int(channel.get("SamplesPerPixel", 1)) if channel is not None else 1
    frames: dict[tuple[int, ...], dict[int, int]] = {}
    left = count
    for data in pixels.iterfind("{*}TiffData"):
        uuid = data.find("{*}UUID")
        if uuid is not None and own is not None and uuid.text != own:
            continue  # in another file, which is not opened
        page = int(data.get("IFD", 0))
        planes = int(data.get("PlaneCount", 1 if "IFD" in data.attrib else count))
        place, step = 0, 1
        for axis in order:
            place += step * int(data.get(f"First{axis}", 0))
            step *= sizes[axis]
        planes = max(0, min(planes, count - page, step - place))
        left -= planes
        if left < 0:
            raise ValueError("a page is used twice")
        for i in range(planes):
            rest, indices = place + i, {}
            for axis in order:
                rest, indices[axis] = divmod(rest, sizes[axis])
            key = tuple(indices[axis] for axis in order[::-1] if axis != "C")
            frames.setdefault(key, {})[indices["C"]] = page + i
    return [[pages[c] for c in sorted(pages)] for _, pages in sorted(frames.items())]
