"""Open image files and decode their frames within a budget of memory."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError
from PIL.ImageFile import ImageFile

from twofold.io.budget import Budget
from twofold.io.contents import Contents
from twofold.io.costs import canvas_cost, decoder_cost, rendering_cost, storage
from twofold.io.pixels import Rendering, rendered
from twofold.io.strips import Size
from twofold.io.tiff import Stack, TiffReader

FORMATS = (
    *("PNG", "JPEG", "GIF", "TIFF", "WEBP", "AVIF", "HEIF", "BMP", "JPEG2000"),
    *("PPM", "ICO", "PCX", "PSD", "QOI", "SGI", "TGA"),
)
"""Formats of pictures that people have; Pillow tries them in this order.

Others that Pillow knows start a program (EPS), are unpacked without a limit (FITS),
hold files of any other format (IPTC) or are hardly met.
"""


MAX_PIXELS = 89_478_485
"""Maximum number of pixels of an image, above which Pillow warns."""

_BLOCK = 64 * 2**20
"""Bytes of the blocks in which Pillow takes memory."""


class Limits(NamedTuple):
    """What a file may take."""

    max_pixels: float
    budget: Budget


def known_formats() -> tuple[str, ...]:
    """Return the formats that Pillow has here."""
    return tuple(name for name in FORMATS if name in Image.OPEN)


@contextmanager
def memory_given_back() -> Iterator[None]:
    """Have Pillow take the memory of large images in blocks that are given back.

    The C library keeps smaller ones, of 32 MiB at most, for the thread that freed them.
    """
    pillow = Image.core  # type: ignore[attr-defined]
    usual = pillow.get_block_size()
    pillow.set_block_size(max(usual, _BLOCK))
    try:
        yield
    finally:
        pillow.set_block_size(usual)


@contextmanager
def opened(
    path: Path, contents: Contents, rendering: Rendering, limits: Limits
) -> Iterator["ImageFrames | ArrayFrames"]:
    """Open an image file, whose frames are going to be rendered."""
    check_file(path)
    if contents.stack is not None:
        with TiffReader(path) as reader:
            yield ArrayFrames(reader, contents.stack, rendering, limits)
        return
    with ExitStack() as held:
        if contents.canvas:  # all of it is decoded when the file is opened
            check_pixels(contents.canvas, limits)
            cost = canvas_cost(contents.canvas, contents.animated)
            cost += rendering_cost(contents.canvas, rendering, "RGBA")
            held.enter_context(limits.budget.taken(cost, claim(contents.canvas)))
        try:
            image = held.enter_context(Image.open(path, formats=known_formats()))
        except UnidentifiedImageError:
            raise ValueError("not an image of a known format") from None
        size = image.height, image.width
        check_pixels(size, limits)
        if contents.animated and not contents.canvas:
            cost = canvas_cost(size, True) + rendering_cost(size, rendering, "RGBA")
            held.enter_context(limits.budget.taken(cost, claim(size)))
        free = not contents.animated and not contents.canvas
        yield ImageFrames(image, contents, rendering, limits if free else None)


class ImageFrames:
    """Frames that Pillow decodes, within ``limits`` unless they are kept already."""

    def __init__(
        self,
        image: ImageFile,
        contents: Contents,
        rendering: Rendering,
        limits: Limits | None,
    ) -> None:
        self.image, self.contents = image, contents
        self.rendering, self.limits = rendering, limits

    def rendered(self, k: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return a frame and its thumbnail; see ``pixels.rendered``."""
        image, limits = self.image, self.limits
        if limits is None:
            if k:
                image.seek(k)
            image.load()
            return rendered(image, self.rendering)
        if self.contents.pages:
            image.seek(self.contents.pages[k])
        size = image.height, image.width
        check_pixels(size, limits)
        cost = decoder_cost(image)
        self._draft()
        cost += self._cost()
        with limits.budget.taken(cost, claim(size)):
            image.load()
            try:
                return rendered(image, self.rendering)
            finally:
                image.im = None  # type: ignore[assignment]

    def _cost(self) -> int:
        """Return the bytes that it takes to hold and resize the image."""
        image, size = self.image, (self.image.height, self.image.width)
        seen_through = "A" in image.mode or "transparency" in image.info
        form = "RGBA" if seen_through else image.mode
        return storage(size, image.mode) + rendering_cost(size, self.rendering, form)

    def _draft(self) -> None:
        """Have a JPEG decoded at a fraction of its size, and without its colours."""
        size, channels, _, missing, longest = self.rendering
        if missing is None:  # a fraction would blend missing pixels
            # YCbCr keeps the luma, so that a thumbnail does not change the grey image.
            grey = "L" if longest is None else "YCbCr"
            enough = 2 * max(*size, longest or 1)
            self.image.draft("RGB" if channels else grey, (enough, enough))


class ArrayFrames:
    """Frames of a TIFF file that Pillow cannot give in full."""

    def __init__(
        self, reader: TiffReader, stack: Stack, rendering: Rendering, limits: Limits
    ) -> None:
        self.reader, self.stack = reader, stack
        self.rendering, self.limits = rendering, limits

    def rendered(self, k: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return a frame and its thumbnail; see ``pixels.rendered``."""
        size = self.reader.shape(self.stack, k)
        check_pixels(size, self.limits)
        cost = self.reader.cost(self.stack, k)
        cost += rendering_cost(size, self.rendering, "F", self.stack.channels)
        with self.limits.budget.taken(cost, claim(size)):
            return rendered(self.reader.frame(self.stack, k), self.rendering)


def check_file(path: Path) -> None:
    """Raise an error unless a path is that of a file with content."""
    if not path.is_file():
        exists = path.exists() or path.is_symlink()
        raise OSError("not a regular file" if exists else "there is no such file")
    if path.stat().st_size == 0:
        raise ValueError("the file is empty")


def check_pixels(size: Size, limits: Limits) -> None:
    """Raise a ValueError for an image of more pixels than are allowed."""
    if size[0] * size[1] > limits.max_pixels:
        raise ValueError(
            f"{claim(size)} are more than the {limits.max_pixels:,} that are allowed "
            "(max_pixels of read_images); make it smaller"
        )


def claim(size: Size) -> str:
    """Return what a header says of the size of an image."""
    return f"its {size[1]:,} x {size[0]:,} pixels"
