"""Find out what an image file holds, without decoding anything."""

import io
import os
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

from PIL import Image

from twofold.io.strips import Size
from twofold.io.tiff import Stack
from twofold.io.tiff_frames import stack_of

GIF = (b"GIF87a", b"GIF89a")
PNG = b"\x89PNG\r\n\x1a\n"
TIFF = (b"II*\0", b"MM\0*", b"II\0*", b"MM*\0", b"II+\0", b"MM\0+")
ICO = b"\0\0\1\0"


class Contents(NamedTuple):
    """The frames of a file.

    A still is one picture; an animation is decoded from its first frame on; ``pages``
    are the numbers of the pages of a TIFF file that are frames.
    """

    frames: int = 1
    animated: bool = False
    pages: list[int] | None = None
    stack: Stack | None = None  # how the frames are made, if Pillow is not enough
    # Height and width, of what would be decoded when the file is opened.
    canvas: Size | None = None

    def first(self) -> "Contents":
        """Return the first frame alone."""
        return self._replace(frames=1, animated=False)


def contents_of(path: Path) -> Contents:
    """Count the frames of a file.

    GIF and PNG files are counted by their blocks, since Pillow would decode a GIF, and
    believes what a PNG says; TIFF files by their directories. A TIFF page that is a
    smaller copy of another, or its mask, is no frame. The sizes of an icon, the layers
    of a drawing and the further pictures of a telephone's photo are no frames either.
    """
    with path.open("rb") as file:
        start = file.read(32)
        file.seek(0)
        if start.startswith(GIF):
            return _gif(file)
        if start.startswith(PNG):
            return Contents(*_png_frames(file))
        if start.startswith(TIFF):
            kinds = tiff_pages(file)
            pages = [i for i, kind in enumerate(kinds) if not kind & 5] or [0]
            stack = stack_of(path, pages)
            return Contents(len(stack.frames if stack else pages), False, pages, stack)
        if start.startswith(ICO):
            return Contents(canvas=_icon_size(file))
    if start[:4] + start[8:12] == b"RIFFWEBP" or start[4:8] == b"ftyp":
        with Image.open(path, formats=("WEBP", "AVIF")) as image:
            frames = getattr(image, "n_frames", 1)
            return Contents(frames, frames > 1)
    return Contents()


def _gif(file: BinaryIO) -> Contents:
    """Count the frames of a GIF file; its canvas is the union of all of them."""
    height, width = struct.unpack("<HH", file.read(10)[6:])[::-1]
    _skip_palette(file, file.read(3)[0])
    frames = 0
    while kind := file.read(1):
        if kind == b";":
            break
        if kind == b"!":
            file.read(1)
            _skip_blocks(file)
        elif kind == b",":
            place = file.read(9)
            if len(place) < 9:
                break
            left, top, wide, high, flags = struct.unpack("<4HB", place)
            width, height = max(width, left + wide), max(height, top + high)
            _skip_palette(file, flags)
            file.read(1)
            _skip_blocks(file)
            frames += 1
    return Contents(max(1, frames), frames > 1, canvas=(height, width))


def _skip_palette(file: BinaryIO, flags: int) -> None:
    if flags & 128:
        file.seek(3 << ((flags & 7) + 1), io.SEEK_CUR)


def _skip_blocks(file: BinaryIO) -> None:
    while length := file.read(1):
        if length == b"\0":
            break
        file.seek(length[0], io.SEEK_CUR)


def _png_frames(file: BinaryIO) -> tuple[int, bool]:
    """Return how many frames a PNG file has, and whether it is animated."""
    file.seek(len(PNG))
    frames = 0
    seen: set[bytes] = set()
    while len(head := file.read(8)) == 8:
        length, kind = struct.unpack(">I4s", head)
        if kind == b"IDAT" and b"acTL" not in seen:
            break  # nothing is animated
        # A picture before the first frame is for programs that show no animation.
        if kind == b"fcTL" or (kind == b"IDAT" and not {b"fcTL", b"IDAT"} & seen):
            frames += 1
        seen.add(kind)
        file.seek(length + 4, io.SEEK_CUR)
    return max(1, frames), b"acTL" in seen


def _icon_size(file: BinaryIO) -> Size:
    """Return the largest size of the pictures in an icon, by their own headers."""
    (count,) = struct.unpack("<H", file.read(6)[4:])
    entries = file.read(16 * count)
    sizes = [(1, 1)]
    for i in range(0, len(entries) - 15, 16):
        file.seek(struct.unpack_from("<I", entries, i + 12)[0])
        head = file.read(24)
        if len(head) == 24:
            form, place = (">II", 16) if head.startswith(PNG) else ("<ii", 4)
            width, height = struct.unpack_from(form, head, place)
            sizes.append((abs(height), abs(width)))
    return max(sizes, key=lambda size: size[0] * size[1])


def tiff_pages(file: BinaryIO) -> list[int]:
    """Return the kinds of the pages of a TIFF file: bits of NewSubfileType.

    Bit 0 is set for a page that is a smaller copy of another, bit 2 for a mask. A
    directory that cannot be read ends the list, as a page that cannot be decoded.
    """
    start = file.read(16)
    order, big = "<" if start.startswith(b"II") else ">", 43 in start[2:4]
    count_type, offset_type, entry = ("Q", "Q", 20) if big else ("H", "I", 12)
    kinds: list[int] = []
    seen: set[int] = set()
    read, size = 0, os.fstat(file.fileno()).st_size
    try:
        (offset,) = struct.unpack_from(order + offset_type, start, 8 if big else 4)
        while offset and offset not in seen:
            seen.add(offset)
            kinds.append(0)
            file.seek(offset)
            (count,) = _numbers(file, order + count_type)
            read += entry * count
            if count > 65535 or read > size:  # of a plain TIFF file, and of this one
                break
            kinds[-1] = _kind(file.read(entry * count), order, entry)
            (offset,) = _numbers(file, order + offset_type)
    except (OSError, OverflowError, struct.error):
        pass
    return kinds


def _numbers(file: BinaryIO, form: str) -> tuple[int, ...]:
    return struct.unpack(form, file.read(struct.calcsize(form)))


def _kind(entries: bytes, order: str, entry: int) -> int:
    """Return the kind of a page, from the entries of its directory."""
    for i in range(0, len(entries) - entry + 1, entry):
        tag, kind = struct.unpack_from(order + "HH", entries, i)
        if tag in (254, 255):  # NewSubfileType, or SubfileType of old
            form, place = "H" if kind == 3 else "I", i + (entry + 4) // 2
            (value,) = struct.unpack_from(order + form, entries, place)
            return int(value) if tag == 254 else int(value == 2)
    return 0
