"""Pictures of samples: thumbnails, and data URIs for the page."""

import base64
from io import BytesIO
from pathlib import PurePosixPath

import numpy as np
from PIL import Image, features

_LINE = 48
"""Width and height of the curve of a vector, in pixels."""


def thumbnails_of(stack: np.ndarray, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Make thumbnails of samples (n, h, w[, c]) or (n, f) in any unit.

    Three channels are red, green and blue; other numbers of channels are averaged.
    Vectors are drawn as curves. Return the thumbnails, uint8 (n, t, t, 3), each centred
    in its square, and the height and width of each, (n, 2), at most ``longest``.
    """
    value_range = shown_range(stack)
    height, width = shrunk(picture_of(stack[0], *value_range), longest).shape[:2]
    side = max(height, width)
    top, left = (side - height) // 2, (side - width) // 2
    thumbnails = np.zeros((len(stack), side, side, 3), dtype=np.uint8)
    for square, sample in zip(thumbnails, stack, strict=True):
        picture = shrunk(picture_of(sample, *value_range), longest)
        square[top : top + height, left : left + width] = picture
    return thumbnails, np.full((len(stack), 2), (height, width))


def shown_range(stack: np.ndarray) -> tuple[float, float]:
    """Return the values shown as black and white, the 0.1% and 99.9% quantiles."""
    # A subset suffices: the quantiles of all values of a large stack would take long.
    values = stack[:: max(1, len(stack) // 1000)].reshape(-1)
    low, high = np.quantile(values, [0.001, 0.999])
    return float(low), float(high)


def picture_of(sample: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return a sample as uint8 (h, w, 3), black at ``low`` and white at ``high``."""
    if sample.ndim == 1:
        return _curve(sample, low, high)
    if sample.ndim == 3 and sample.shape[2] != 3:
        sample = sample.mean(axis=2)
    span = high - low if high > low else 1.0
    unit = np.clip((sample.astype(np.float64) - low) / span, 0, 1)
    pixels = np.rint(255 * unit).astype(np.uint8)
    return pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)


def names_image(name: str) -> bool:
    """Return whether a file has the suffix of an image format."""
    return PurePosixPath(name).suffix.lower() in Image.registered_extensions()


def data_uri(picture: np.ndarray) -> str:
    """Encode a small picture (h, w, 3) as a lossless data URI."""
    return _encoded(picture, "PNG")


def compressed_uri(picture: np.ndarray, quality: int | None) -> str:
    """Encode a large picture with a quality up to 100, or lossless if None."""
    if not features.check("webp"):
        return _encoded(picture, "JPEG", quality=quality or 95)
    if quality is None:
        return _encoded(picture, "WEBP", lossless=True)
    return _encoded(picture, "WEBP", quality=quality)


def reduced(picture: np.ndarray, factor: int) -> np.ndarray:
    """Reduce a picture: ``factor`` x ``factor`` pixels become one."""
    return np.asarray(Image.fromarray(picture).reduce(factor))


def shrunk(picture: np.ndarray, longest: int) -> np.ndarray:
    """Shrink a picture to a height and width of at most ``longest`` pixels."""
    if max(picture.shape[:2]) <= longest:
        return picture
    image = Image.fromarray(picture)
    image.thumbnail((longest, longest))
    return np.asarray(image)


def _encoded(picture: np.ndarray, kind: str, **options: int | bool) -> str:
    file = BytesIO()
    Image.fromarray(picture).save(file, kind, **options)
    encoded = base64.b64encode(file.getvalue()).decode()
    return f"data:image/{kind.lower()};base64,{encoded}"


def _curve(vector: np.ndarray, low: float, high: float) -> np.ndarray:
    """Draw a vector as the area under its curve, dark on light."""
    positions = np.linspace(0, len(vector) - 1, _LINE)
    values = np.interp(positions, np.arange(len(vector)), vector)
    span = high - low if high > low else 1.0
    heights = _LINE * np.clip((values - low) / span, 0, 1)
    below = np.arange(_LINE)[::-1, None] < heights
    pixels = np.where(below, 60, 235).astype(np.uint8)
    return np.repeat(pixels[..., None], 3, axis=2)
