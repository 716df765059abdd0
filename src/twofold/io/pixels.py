"""Read one image file as pixels between 0 and 1."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

Size = tuple[int, int]
"""Height and width."""

_DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")
"""Modes of one channel with more than eight bits."""

_FILTER = Image.Resampling.HAMMING
"""Resampling filter: sharper than a bilinear filter, and like it without overshoot."""

_PART = 0.01
"""Weight of missing pixels above which a resized pixel is missing."""


@contextmanager
def opened(path: Path, max_pixels: int) -> Iterator[Image.Image]:
    """Open an image file, of which only the header is read."""
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
            yield image
    except UnidentifiedImageError:
        raise ValueError("not an image of a known format") from None


def read_image(
    path: Path,
    size: Size,
    color: bool,
    fit: str,
    max_pixels: int,
    longest: int | None = None,
    missing: float | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Read the first frame of an image file, turned upright and resized.

    Transparent parts are laid over white. Grey images of 16 bits are divided by
    65535; colours have eight bits in Pillow. Pixels of 32 bits must be floats between
    0 and 1, or integers up to 65535, because other values have no known range.

    Return the image, float32 of shape ``size``, or (h, w, 3) with ``color``, and a
    thumbnail whose longer side is ``longest``, uint8 (h, w, 3), or None. Images above
    ``max_pixels`` are refused before decoding. See ``read_images`` for all options.
    """
    with opened(path, max_pixels) as image:
        # A JPEG can be decoded at a fraction of its size, and without its colours.
        # YCbCr keeps the luma, so that a thumbnail does not change the grey image.
        enough = 2 * max(*size, longest or 1)
        grey = "L" if longest is None else "YCbCr"
        if missing is None:  # decoding at a fraction would blend missing pixels
            image.draft("RGB" if color else grey, (enough, enough))
        flat = flattened(ImageOps.exif_transpose(image))
        small = None if longest is None else thumbnail(flat, longest)
        return _pixels(flat, size, color, fit, missing), small


def flattened(image: Image.Image) -> Image.Image:
    """Return the image over white; more than eight bits become floats."""
    if image.mode in _DEEP:
        return _unit_range(image)
    if "A" in image.mode or "transparency" in image.info:
        layer = image.convert("RGBA")
        image = Image.new("RGBA", layer.size, "white")
        image.alpha_composite(layer)
    return image


def thumbnail(flat: Image.Image, longest: int) -> np.ndarray:
    """Return a flattened image as uint8 (h, w, 3), both sides at most ``longest``."""
    size = shrunk((flat.height, flat.width), longest)
    return np.rint(_pixels(flat, size, True, "stretch") * 255).astype(np.uint8)


def shrunk(shape: tuple[float, float], longest: int) -> Size:
    """Scale height and width down so that both are at most ``longest``, at least 1."""
    scale = min(1.0, longest / max(shape))
    height, width = (max(1, round(side * scale)) for side in shape)
    return height, width


def _pixels(
    flat: Image.Image, size: Size, color: bool, fit: str, missing: float | None = None
) -> np.ndarray:
    """Return a flattened image as resized pixels; parameters as for ``read_image``."""
    if flat.mode == "F":
        image, largest = flat, 1
    else:
        image, largest = flat.convert("RGB" if color else "L"), 255
    pixels = np.asarray(_resized(image, size, fit), dtype=np.float32) / largest
    if missing is not None:
        mask = np.asarray(image, dtype=np.float32) / largest == missing
        pixels = np.where(_resized_mask(mask, size, fit), np.float32(missing), pixels)
    return np.repeat(pixels[..., None], 3, axis=2) if color and largest == 1 else pixels


def _resized_mask(mask: np.ndarray, size: Size, fit: str) -> np.ndarray:
    """Return which resized pixels have a contribution from the mask (h, w[, 3])."""
    layers = np.atleast_3d(mask).astype(np.float32)
    weights = [
        np.asarray(_resized(Image.fromarray(layers[..., c]), size, fit))
        for c in range(layers.shape[2])
    ]
    resized = np.abs(np.stack(weights, axis=-1)) > _PART
    return resized if mask.ndim == 3 else resized[..., 0]


def _unit_range(image: Image.Image) -> Image.Image:
    """Return a grey image of more than eight bits as floats between 0 and 1."""
    values = np.asarray(image).astype(np.float32)
    largest = 1 if image.mode == "F" else 65535
    if not (values.min() >= 0 and values.max() <= largest):  # False for NaN
        raise ValueError(f"its pixels of 32 bits are not between 0 and {largest}")
    transparent = image.info.get("transparency")
    if transparent is not None:
        values[values == transparent] = largest
    return Image.fromarray(values / np.float32(largest))


def _resized(image: Image.Image, size: Size, fit: str) -> Image.Image:
    """Resize an image; every original pixel contributes to a smaller image."""
    if fit == "crop":
        return ImageOps.fit(image, size[::-1], _FILTER)  # Pillow has the width first
    return image.resize(size[::-1], _FILTER)
