"""Decode the TIFF pages that Pillow cannot give in full: many channels, deep colours.

Only pages of the file itself are read.
"""

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from PIL import TiffImagePlugin

from twofold.io.pixels import full_scale
from twofold.io.strips import Size

PACKINGS = {1, 5, 8, 32773, 32946, 34925, 50000}
"""Compression by nothing, LZW, deflate, PackBits, deflate, LZMA and Zstandard."""


class Stack(NamedTuple):
    """How the frames of a TIFF file are made of its pages."""

    frames: list[list[int]]  # pages of each frame
    channels: int
    # The only page, if all frames follow its data: ``frames`` are positions there.
    base: int | None = None


class TiffReader:
    """Pages of a TIFF file as arrays."""

    def __init__(self, path: Path) -> None:
        import tifffile  # takes a while, and few files need it

        self._file: BinaryIO = path.open("rb")
        self._length = path.stat().st_size
        self._packings: dict[int, int] = {}  # by the offset of the page
        # These kinds would be laid out anew, by rules of their own.
        kinds: Any = dict.fromkeys(("is_lsm", "is_scanimage", "is_ndpi"), False)
        try:
            self._tiff = tifffile.TiffFile(self._file, **kinds)
        except Exception:
            self._file.close()
            raise

    def __enter__(self) -> "TiffReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def page(self, number: int) -> Any:
        """Return the description of a page, by tifffile."""
        page: Any = self._tiff.pages[number]
        if page.dtype is None or page.shaped[1] > 1 or 0 in page.shaped:
            raise ValueError("its pages are no images of whole or floating numbers")
        if page.photometric not in (0, 1, 2):
            raise ValueError(
                f"its many or deep channels are stored as colours {page.photometric}"
            )
        packing = self._packings.setdefault(page.offset, int(page.compression))
        if packing not in PACKINGS:
            raise ValueError(
                f"its channels are packed by method {packing}, which only images of "
                "eight bits may be; save it packed by LZW, or not packed"
            )
        page.compression = 1  # segments are unpacked here, to their known length
        return page

    def channels(self, number: int) -> int:
        """Return the number of channels of a page, without transparency."""
        page = self.page(number)
        return int(page.samplesperpixel) - _has_alpha(page)

    def shape(self, stack: Stack, k: int) -> Size:
        """Return height and width of a frame after it is turned upright."""
        page = self.page(_pages(stack, k)[0])
        shape = page.imagelength, page.imagewidth
        return shape[::-1] if _orientation(page) >= 5 else shape

    def room(self, number: int) -> int:
        """Return the number of planes from a page to the end, and of one cut off."""
        page = self.page(number)
        if self._packings[page.offset] != 1 or not page.is_contiguous:
            return 1
        whole, rest = divmod(self._length - page.dataoffsets[0], max(1, page.nbytes))
        return int(whole + (rest > 0) if whole > 1 else 1)

    def cost(self, stack: Stack, k: int) -> int:
        """Return the bytes that it takes to read a frame."""
        page = self.page(_pages(stack, k)[0])
        _, _, segment = page.decode(None, 0)
        part = int(np.prod(segment)) * page.dtype.itemsize
        packed = min(max(page.databytecounts, default=0), self._length)
        # As read and in its own type, or as unpacked in between.
        read = 2 * part if self._packings[page.offset] == 1 else 2 * packed + 5 * part
        planes = len(stack.frames[k])
        copies = 1 + (page.shaped[0] > 1) + (2 * planes if planes > 1 else 0)
        floats = 12 * page.size if _has_alpha(page) else 0
        return int(page.nbytes * copies + floats) + read

    def frame(self, stack: Stack, k: int) -> np.ndarray:
        """Return a frame as an array (h, w, c), upright and over white."""
        if stack.base is None:
            planes = [self._plane(self.page(number)) for number in stack.frames[k]]
        else:
            page = self.page(stack.base)
            planes = [self._following(page, i) for i in stack.frames[k]]
        return planes[0] if len(planes) == 1 else np.concatenate(planes, axis=2)

    def _following(self, page: Any, position: int) -> np.ndarray:
        """Return the plane at a position from the data of a page on."""
        offset = page.dataoffsets[0] + position * page.nbytes
        kind = page.dtype.newbyteorder(self._tiff.byteorder)
        values = np.frombuffer(self._read(offset, page.nbytes), kind)
        return _laid_out(page, values.reshape(page.shaped).astype(page.dtype))

    def _plane(self, page: Any) -> np.ndarray:
        """Decode a page segment by segment."""
        packing = self._packings[page.offset]
        values = np.zeros(page.shaped, page.dtype)
        for index in range(_segments(page)):
            offset, count = page.dataoffsets[index], page.databytecounts[index]
            if not count:  # nothing is stored where all is blank
                continue
            _, (first, _, top, left, _), shape = page.decode(None, index)
            length = _packed_length(page, shape)
            data = self._read(offset, min(count, length) if packing == 1 else count)
            if packing != 1:
                data = _unpacked(data, packing, length)
            segment = page.decode(data, index)[0][0]
            part = values[first, 0, top : top + shape[1], left : left + shape[2]]
            part[:] = segment[: part.shape[0], : part.shape[1]]
        return _laid_out(page, values)

    def _read(self, offset: int, count: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(min(count, self._length))
        if len(data) < count:
            raise ValueError("the file is truncated")
        return data


def _pages(stack: Stack, k: int) -> list[int]:
    """Return the pages of a frame."""
    return stack.frames[k] if stack.base is None else [stack.base]


def _segments(page: Any) -> int:
    """Return the number of strips or tiles of a page; raise an error if it has less."""
    separate, _, height, width, _ = page.shaped
    high, wide = page.rowsperstrip, width
    if page.is_tiled:
        high, wide = page.tilelength, page.tilewidth
    needed = separate * -(-height // high) * -(-width // wide)
    if len(page.dataoffsets) < needed:
        raise ValueError("the file is truncated")
    return int(needed)


def _packed_length(page: Any, shape: tuple[int, ...]) -> int:
    """Return the bytes of a segment; its rows begin with a byte."""
    _, rows, columns, samples = shape
    return rows * -(-columns * samples * page.bitspersample // 8)


def _unpacked(data: bytes, packing: int, length: int) -> bytes:
    """Unpack bytes to a known length, by the TIFF library that comes with Pillow.

    They are given to it as the only row of a grey image, so that it stops there.
    """
    tags = [
        (256, length),
        (257, 1),
        (258, 8),
        (259, packing),
        (262, 1),
        (273, 8 + 2 + 9 * 12 + 4),
        (277, 1),
        (278, 1),
        (279, len(data)),
    ]
    head = b"II*\0" + struct.pack("<IH", 8, len(tags))
    head += b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    file = io.BytesIO(head + struct.pack("<I", 0) + data)
    return TiffImagePlugin.TiffImageFile(file).tobytes()


def _laid_out(page: Any, values: np.ndarray) -> np.ndarray:
    """Return the values (s, 1, h, w, c) of a page as an upright array (h, w, s c)."""
    array = np.moveaxis(values[:, 0], 0, 2).reshape(*values.shape[2:4], -1)
    largest = full_scale(array.dtype)
    if page.photometric == 0 and array.dtype.kind != "f":  # the smallest value is white
        array = largest - array
    if _has_alpha(page):
        array = _over_white(array, largest, int(page.extrasamples[0]) == 1)
    turn = _ORIENTATIONS.get(_orientation(page))
    return array if turn is None else turn(array)


def _has_alpha(page: Any) -> bool:
    """Return whether the last channel of a page is its transparency."""
    extra = [int(kind) for kind in page.extrasamples]
    return len(extra) == 1 and extra[0] in (1, 2) and page.samplesperpixel in (2, 4)


def _over_white(array: np.ndarray, largest: int, multiplied: bool) -> np.ndarray:
    """Lay colours over white, as floats between 0 and 1."""
    floats = array.astype(np.float32) / np.float32(largest)
    colors, alpha = floats[..., :-1], floats[..., -1:]
    return np.minimum(1, (colors if multiplied else colors * alpha) + (1 - alpha))


def _orientation(page: Any) -> int:
    tag = page.tags.get(274)
    return int(tag.value) if tag is not None else 1


_ORIENTATIONS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: a.swapaxes(0, 1)[:, ::-1],
    7: lambda a: a.swapaxes(0, 1)[::-1, ::-1],
    8: lambda a: a.swapaxes(0, 1)[::-1],
}
"""How arrays are turned upright, by their TIFF orientation."""
