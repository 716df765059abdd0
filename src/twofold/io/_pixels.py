"""One image file to pixels between 0 and 1."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

_DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")
"""Modes of one channel with more than eight bits."""

_FILTER = Image.Resampling.HAMMING
"""Sharper than a bilinear one, and like it never beyond the range of the pixels."""


def read_image(
    path: Path, size: tuple[int, int], color: bool, fit: str, max_pixels: int
) -> np.ndarray:
    """The first frame of an image file, turned upright and resized.

    Transparent parts are laid over white. Grey images of 16 bits are divided by
    65535; colours have eight bits in Pillow. Pixels of 32 bits are taken if they are
    floats between 0 and 1, or whole numbers of 16 bits: others have no known range.

    Parameters
    ----------
    path : Path
    size : (int, int)
        Height and width.
    color : bool
    fit : {"stretch", "crop"}
    max_pixels : int
        More than these are refused before they are decoded.

    Returns
    -------
    float32 array of shape (h, w) or (h, w, 3)
    """
    if not path.is_file():
        exists = path.exists() or path.is_symlink()
        raise OSError("not a regular file" if exists else "there is no such file")
    if path.stat().st_size == 0:
        raise ValueError("the file is empty")
    try:
        with Image.open(path) as image:
            if image.width * image.height > max_pixels:
                raise ValueError(
                    f"its {image.width} x {image.height} pixels are more than "
                    f"max_pixels={max_pixels}"
                )
            # A JPEG is decoded at a fraction of its size where that is enough.
            image.draft("RGB" if color else "L", (2 * max(size), 2 * max(size)))
            upright = ImageOps.exif_transpose(image)
            return _pixels(upright, size, color, fit)
    except UnidentifiedImageError:
        raise ValueError("not an image of a known format") from None


def _pixels(
    image: Image.Image, size: tuple[int, int], color: bool, fit: str
) -> np.ndarray:
    if image.mode in _DEEP:
        grey = _resized(_unit_range(image), size, fit)
        pixels = np.asarray(grey, dtype=np.float32)
        return np.repeat(pixels[..., None], 3, axis=2) if color else pixels
    if "A" in image.mode or "transparency" in image.info:
        layer = image.convert("RGBA")
        image = Image.new("RGBA", layer.size, "white")
        image.alpha_composite(layer)
    image = image.convert("RGB" if color else "L")
    return np.asarray(_resized(image, size, fit), dtype=np.float32) / 255


def _unit_range(image: Image.Image) -> Image.Image:
    """A deep grey image as floats between 0 and 1."""
    values = np.asarray(image).astype(np.float32)
    largest = 1 if image.mode == "F" else 65535
    if not (values.min() >= 0 and values.max() <= largest):  # NaN is neither
        raise ValueError(f"its pixels of 32 bits are not between 0 and {largest}")
    seen_through = image.info.get("transparency")
    if seen_through is not None:
        values[values == seen_through] = largest
    return Image.fromarray(values / np.float32(largest))


def _resized(image: Image.Image, size: tuple[int, int], fit: str) -> Image.Image:
    """Antialiased: every pixel of the original counts in a smaller image."""
    height, width = size
    if fit == "crop":
        return ImageOps.fit(image, (width, height), _FILTER)
    return image.resize((width, height), _FILTER)
