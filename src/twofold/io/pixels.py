"""One image file to pixels between 0 and 1."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

_DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")
"""Modes of one channel with more than eight bits."""

_FILTER = Image.Resampling.HAMMING

_PART = 0.01
"""Less than this part of a pixel is none."""
"""Sharper than a bilinear one, and like it never beyond the range of the pixels."""


@contextmanager
def opened(path: Path, max_pixels: int) -> Iterator[Image.Image]:
    """An image file of which only the header has been read yet."""
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
    size: tuple[int, int],
    color: bool,
    fit: str,
    max_pixels: int,
    longest: int | None = None,
    missing: float | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
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
    longest : int or None
        The longer side of a thumbnail, which is made of the same decoded image.
    missing : float or None
        What stands for a missing pixel: resizing does not blend such pixels with
        others, but leaves all that they have a part in at this value.

    Returns
    -------
    float32 array of shape (h, w) or (h, w, 3)
    uint8 array of shape (h, w, 3), the thumbnail, or None
    """
    with opened(path, max_pixels) as image:
        # A JPEG is decoded at a fraction of its size, and without its colours, where
        # that is enough. Its own luma is its grey, with a thumbnail or without.
        enough = 2 * max(*size, longest or 1)
        grey = "L" if longest is None else "YCbCr"
        if missing is None:  # else the decoder would blend them
            image.draft("RGB" if color else grey, (enough, enough))
        flat = flattened(ImageOps.exif_transpose(image))
        small = None if longest is None else thumbnail(flat, longest)
        return _pixels(flat, size, color, fit, missing), small


def flattened(image: Image.Image) -> Image.Image:
    """The image over white where it is transparent, as floats if it is deep."""
    if image.mode in _DEEP:
        return _unit_range(image)
    if "A" in image.mode or "transparency" in image.info:
        layer = image.convert("RGBA")
        image = Image.new("RGBA", layer.size, "white")
        image.alpha_composite(layer)
    return image


def thumbnail(flat: Image.Image, longest: int) -> np.ndarray:
    """A flattened image as uint8 of three channels, no side above ``longest``."""
    size = shrunk((flat.height, flat.width), longest)
    return np.rint(_pixels(flat, size, True, "stretch") * 255).astype(np.uint8)


def shrunk(shape: tuple[float, float], longest: int) -> tuple[int, int]:
    """Height and width of the same proportions with no side above ``longest``.

    Nothing is made larger, and no side less than one.
    """
    scale = min(1.0, longest / max(shape))
    height, width = (max(1, round(side * scale)) for side in shape)
    return height, width


def _pixels(
    flat: Image.Image,
    size: tuple[int, int],
    color: bool,
    fit: str,
    missing: float | None = None,
) -> np.ndarray:
    if flat.mode == "F":
        image, largest = flat, 1
    else:
        image, largest = flat.convert("RGB" if color else "L"), 255
    pixels = np.asarray(_resized(image, size, fit), dtype=np.float32) / largest
    if missing is not None:
        gone = np.asarray(image, dtype=np.float32) / largest == missing
        pixels = np.where(_touched(gone, size, fit), np.float32(missing), pixels)
    return np.repeat(pixels[..., None], 3, axis=2) if color and largest == 1 else pixels


def _touched(gone: np.ndarray, size: tuple[int, int], fit: str) -> np.ndarray:
    """Which pixels of a resized image the marked ones (h, w[, 3]) have a part in."""
    layers = np.atleast_3d(gone).astype(np.float32)
    parts = [
        np.asarray(_resized(Image.fromarray(layers[..., c]), size, fit))
        for c in range(layers.shape[2])
    ]
    touched = np.abs(np.stack(parts, axis=-1)) > _PART
    return touched if gone.ndim == 3 else touched[..., 0]


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
