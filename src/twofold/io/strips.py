"""Resize large images a strip at a time, with the result of resizing them whole."""

import math
from collections.abc import Iterator

from PIL import ExifTags, Image

Size = tuple[int, int]
"""Height and width."""

STRIP = 2**20
"""Number of pixels in a strip, unless a row has more."""

_LONGEST = 2**20
"""Longest side that is resized exactly; a longer one is first reduced to means."""

_FILTER = Image.Resampling.HAMMING
"""Resampling filter: sharper than a bilinear filter, and like it without overshoot."""

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""How images are turned upright, by their EXIF orientation."""


def strips_of(image: Image.Image) -> Iterator[Image.Image]:
    """Yield a decoded image in strips from top to bottom, turned upright.

    A turned copy of the whole image would double the memory that it takes.
    """
    turn = _TURNS.get(_orientation(image))
    width, height = image.size
    on_its_side = _orientation(image) >= 5
    across, along = (height, width) if on_its_side else (width, height)
    step = strip_height(along, across)
    if along <= step:
        yield image if turn is None else image.transpose(turn)
        return
    for top in range(0, along, step):
        end = min(top + step, along)
        # These turns begin with the last row or column of the stored image.
        backwards = _orientation(image) in (3, 4, 7, 8)
        first, last = (along - end, along - top) if backwards else (top, end)
        box = (first, 0, last, height) if on_its_side else (0, first, width, last)
        strip = image.crop(box)
        yield strip if turn is None else strip.transpose(turn)


def strip_height(height: int, width: int) -> int:
    """Return the number of rows of a strip: whole groups that are reduced to one."""
    return max(1, STRIP // width // _factor(height)) * _factor(height)


def upright_size(image: Image.Image) -> Size:
    """Return height and width of a decoded image after it is turned upright."""
    return image.size if _orientation(image) >= 5 else image.size[::-1]


def _orientation(image: Image.Image) -> int:
    orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
    return orientation if orientation in _TURNS else 1


class Resizer:
    """Resizes an image that comes in strips.

    Pillow resizes the rows of an image and then the columns of the result, and so each
    strip can be made narrow by itself: the result is the same.
    """

    def __init__(self, source: Size, size: Size, fit: str) -> None:
        self.factors = _factor(source[1]), _factor(source[0])  # of columns, of rows
        self.source, self.size = source, size
        self.left, self.top, self.right, self.bottom = _kept(source, size, fit)
        self.narrow: Image.Image | None = None
        self.rows = 0

    def add(self, strip: Image.Image) -> None:
        """Add the next rows of the image."""
        across, down = self.factors
        if self.factors != (1, 1):
            strip = strip.reduce(self.factors)
        box = (
            self.left / across,
            0,
            min(self.right / across, strip.width),
            strip.height,
        )
        narrow = strip.resize((self.size[1], strip.height), _FILTER, box)
        height = math.ceil(self.source[0] / down)
        if self.narrow is None and narrow.height == height:
            self.narrow = narrow
            return
        if self.narrow is None:
            self.narrow = Image.new(narrow.mode, (narrow.width, height))
        self.narrow.paste(narrow, (0, self.rows))
        self.rows += narrow.height

    def result(self) -> Image.Image:
        """Return the resized image."""
        assert self.narrow is not None
        down = self.factors[1]
        end = min(self.bottom / down, self.narrow.height)
        box = (0, self.top / down, self.narrow.width, end)
        return self.narrow.resize(self.size[::-1], _FILTER, box)


def _factor(side: int) -> int:
    return math.ceil(side / _LONGEST)


def _kept(source: Size, size: Size, fit: str) -> tuple[float, float, float, float]:
    """Return the box of the image that is kept, as ``ImageOps.fit`` chooses it."""
    height, width = source
    if fit == "stretch":
        return 0.0, 0.0, width, height
    ratio = size[1] / size[0]
    kept_width: float = width
    kept_height: float = height
    if width / height > ratio:
        kept_width = ratio * height
    elif width / height < ratio:
        kept_height = width / ratio
    left, top = (width - kept_width) * 0.5, (height - kept_height) * 0.5
    return left, top, left + kept_width, top + kept_height
