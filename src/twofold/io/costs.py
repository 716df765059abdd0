"""Estimate the memory that it takes to decode and resize an image.

Estimates are from above: measured peaks of all formats and modes are below them.
"""

from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile
from PIL.TiffImagePlugin import TiffImageFile

from twofold.io.pixels import Rendering
from twofold.io.strips import STRIP, Size

_BASE = 8 * 2**20
"""Bytes of what does not depend on the image."""

_DECODERS = {
    **{"WEBP": 14, "AVIF": 20, "JPEG2000": 24},
    **{"TIFF": 6, "PSD": 4, "SGI": 4, "QOI": 4},
}
"""Bytes per pixel of what decoders need besides the image; by default 0."""

_ANIMATED, _STILL = 24, 12
"""Bytes per pixel of an animation, which is composed, and of a still when opened."""

_ROWS = 64
"""Bytes of pointers to a row, in all images of a strip together."""


def decoder_cost(image: Image.Image) -> int:
    """Return the bytes that the decoder of an open image needs besides the image."""
    width, height = image.size
    cost = _DECODERS.get(image.format or "", 0) * width * height + _BASE
    if isinstance(image, JpegImageFile):
        cost += _coefficients(image)
    if isinstance(image, TiffImageFile):
        cost += _tile(image)
    # A TIFF file is turned upright when it is decoded.
    if isinstance(image, TiffImageFile) and image.tag_v2.get(274, 1) > 1:
        cost += storage((height, width), image.mode)
    return cost


def canvas_cost(size: Size, animated: bool) -> int:
    """Return the bytes of a canvas on which frames are composed."""
    pixels = (_ANIMATED if animated else _STILL) * size[0] * size[1]
    return pixels + 6 * 8 * size[0] + _BASE


def rendering_cost(
    size: Size, rendering: Rendering, form: str, channels: int = 1
) -> int:
    """Return the bytes that it takes to resize an image in strips.

    ``form`` is the mode of the image, or "RGBA" if a part may be transparent;
    ``channels`` is the number of planes of floats of an array, whose form is "F".
    """
    height, width = size
    rows = min(height, STRIP)
    strip = min(max(STRIP, *size), height * width) * _strip_bytes(form, channels)
    # Rows are made narrow before columns are made short.
    narrow = storage((rows, rendering.size[1]), "F") * channels
    if rendering.missing is not None:
        planes = max(channels, rendering.channels or 1)
        strip += min(max(STRIP, *size), height * width) * (8 + 8 * planes)
        narrow += storage((rows, rendering.size[1]), "F") * planes
    if rendering.longest is not None:
        narrow += storage((rows, min(rendering.longest, width)), "F") * channels
    return strip + narrow + (16 + _ROWS) * rows + 16 * min(width, STRIP)


def _strip_bytes(form: str, channels: int) -> int:
    """Return the bytes per pixel of a strip, as it is and as it is converted."""
    if form == "F" or form.startswith("I"):
        return 12 + 18 * channels
    return 32 if form == "RGBA" else 8 if form in ("1", "L", "P") else 12


def storage(size: Size, mode: str) -> int:
    """Return the bytes of an image in Pillow, which has a pointer for each row."""
    height, width = size
    pixel = 1 if mode in ("1", "L", "P") else 2 if mode.startswith("I;16") else 4
    return height * (8 + 4 * -(-width * pixel // 4))


def _tile(image: TiffImageFile) -> int:
    """Return the bytes of a tile of a TIFF file, which may be larger than the image."""
    tags = image.tag_v2
    samples, bits = tags.get(277, 1), max(tags.get(258, (1,)))
    return tags.get(322, 0) * tags.get(323, 0) * samples * -(-bits // 8)


def _coefficients(image: JpegImageFile) -> int:
    """Return the bytes of the coefficients of a JPEG, if all are held at once.

    They are unless one scan has all components, in full precision. Pillow has read the
    header of the first scan, which names the components.
    """
    width, height = image.size
    length = 6 + 2 * image.layers
    assert image.fp is not None
    image.fp.seek(max(0, image.fp.tell() - length))
    header = image.fp.read(length)
    # A shorter header would show the 255 of the marker before it.
    whole = header.startswith(bytes([0, length, image.layers])) and 255 not in header
    if whole and not image.info.get("progressive"):
        return 0
    return 2 * image.layers * (width + 64) * (height + 64)
