"""Turn a decoded image into pixels between 0 and 1."""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from PIL import Image

from twofold.io.strips import Resizer, Size, strip_height, strips_of, upright_size

_DEEP = ("I;16", "I;16B", "I;16L", "I;16N", "I", "F")
"""Modes of one channel with more than eight bits."""

_LUMA = np.array([299, 587, 114], dtype=np.float32) / 1000
"""Weights of red, green and blue in grey, which are Pillow's."""

_PART = 0.01
"""Weight of missing pixels above which a resized pixel is missing."""

_RANGE = "scale them, or save the images as an array file, such as .npy"
"""Way out for pixels of unknown range."""


class Rendering(NamedTuple):
    """How a frame becomes a sample; see ``read_images``."""

    size: Size
    channels: int | None  # None for grey
    fit: str = "stretch"
    missing: float | None = None
    longest: int | None = None  # longer side of the thumbnail, if any


def rendered(
    frame: Image.Image | np.ndarray, rendering: Rendering
) -> tuple[np.ndarray, np.ndarray | None]:
    """Turn a frame into a sample, float32 of shape (h, w) or (h, w, c).

    A frame is a decoded image, which is turned upright and laid over white, or an
    array (h, w, c) of known range. Also return the thumbnail, uint8 (h, w, 3), or None.
    """
    size, channels, fit, missing, longest = rendering
    if isinstance(frame, np.ndarray):
        _check_channels(frame.shape[2], channels)
        source, strips = frame.shape[:2], _array_planes(frame)
    else:
        _check_channels(None, channels)
        source, strips = upright_size(frame), _image_planes(frame)
    sample = _Sample(source, size, channels, fit, missing)
    small = longest and _Sample(source, shrunk(source, longest), 3, "stretch")
    for planes in strips:
        sample.add(planes)
        if small:
            small.add(planes)
    return sample.pixels(), _eight_bits(small.pixels()) if small else None


def _eight_bits(pixels: np.ndarray) -> np.ndarray:
    """Return pixels between 0 and 1 as uint8."""
    return np.rint(pixels * 255).astype(np.uint8)


def shrunk(shape: tuple[float, float], longest: int) -> Size:
    """Scale height and width down so that both are at most ``longest``, at least 1."""
    scale = min(1.0, longest / max(shape))
    height, width = (max(1, round(side * scale)) for side in shape)
    return height, width


def _check_channels(came: int | None, wanted: int | None) -> None:
    """Raise a ValueError unless channels can be converted in a plain way."""
    grey, colored = came == 1, came in (None, 3)
    if wanted is None or wanted == came or (wanted == 3 and (grey or colored)):
        return
    here = "one, or red, green and blue" if came is None else str(came)
    raise ValueError(
        f"it must have {wanted} channels as most others, got {here}; read it by itself"
    )


class _Sample:
    """A sample in the making, from strips of a frame."""

    def __init__(
        self,
        source: Size,
        size: Size,
        channels: int | None,
        fit: str,
        missing: float | None = None,
    ) -> None:
        self.channels, self.missing = channels, missing
        self.frame = source, size, fit
        self.largest = 1
        self.planes: list[Resizer] = []
        self.masks: list[Resizer] = []

    def add(self, planes: list[Image.Image]) -> None:
        """Add the next strip, as planes of floats or as one image of eight bits."""
        if planes[0].mode != "F":
            planes = [planes[0].convert("RGB" if self.channels else "L")]
            self.largest = 255
        elif len(planes) not in (1, self.channels):  # grey, or a thumbnail
            planes = [_grey(planes)]
        _add_to(self.planes, planes, self.frame)
        if self.missing is not None:
            _add_to(self.masks, self._masked(planes), self.frame)

    def _masked(self, planes: list[Image.Image]) -> list[Image.Image]:
        """Return a mask of the missing pixels for each channel, as floats."""
        masks = []
        for band in chain.from_iterable(plane.split() for plane in planes):
            values = np.asarray(band, dtype=np.float32) / np.float32(self.largest)
            masks.append(Image.fromarray((values == self.missing).astype(np.float32)))
        return masks

    def pixels(self) -> np.ndarray:
        """Return the sample."""
        pixels = _stacked(self.planes) / np.float32(self.largest)
        if self.missing is not None:
            weights = np.abs(_stacked(self.masks))
            pixels = np.where(weights > _PART, np.float32(self.missing), pixels)
        if self.channels is None:
            return pixels[..., 0]
        return np.broadcast_to(pixels, (*pixels.shape[:2], self.channels))


def _add_to(
    resizers: list[Resizer], planes: list[Image.Image], frame: tuple[Size, Size, str]
) -> None:
    """Add planes to their resizers, which are made for the first strip."""
    if not resizers:
        resizers += [Resizer(*frame) for _ in planes]
    for resizer, plane in zip(resizers, planes, strict=True):
        resizer.add(plane)


def _stacked(resizers: list[Resizer]) -> np.ndarray:
    """Return resized planes as floats (h, w, c)."""
    results = [np.asarray(resizer.result(), dtype=np.float32) for resizer in resizers]
    return np.dstack(results)


def _grey(planes: list[Image.Image]) -> Image.Image:
    """Return red, green and blue as grey; other channels are averaged."""
    values = np.dstack([np.asarray(plane) for plane in planes])
    if len(planes) == 3:
        return Image.fromarray(values @ _LUMA)
    return Image.fromarray(values.mean(axis=2, dtype=np.float32))


def _image_planes(image: Image.Image) -> Iterator[list[Image.Image]]:
    """Yield strips of an image over white; more than eight bits become floats."""
    for strip in strips_of(image):
        if strip.mode in _DEEP:
            largest = 1 if strip.mode == "F" else 65535
            values = _unit(np.asarray(strip), largest)
            transparent = strip.info.get("transparency")
            if transparent is not None:
                values[np.asarray(strip) == transparent] = 1
            yield [Image.fromarray(values)]
        elif "A" in strip.mode or "transparency" in strip.info:
            layer = strip.convert("RGBA")
            white = Image.new("RGBA", layer.size, "white")
            white.alpha_composite(layer)
            yield [white]
        else:
            yield [strip]


def _array_planes(frame: np.ndarray) -> Iterator[list[Image.Image]]:
    """Yield strips of an array (h, w, c) as planes of floats."""
    largest = full_scale(frame.dtype)
    step = strip_height(*frame.shape[:2])
    for top in range(0, len(frame), step):
        values = _unit(frame[top : top + step], largest)
        yield [Image.fromarray(values[..., c]) for c in range(values.shape[2])]


def full_scale(dtype: np.dtype) -> int:
    """Return the value of white in arrays of a dtype."""
    return 1 if dtype.kind == "f" else 255 if dtype.itemsize == 1 else 65535


def _unit(values: np.ndarray, largest: int) -> np.ndarray:
    """Return values as floats between 0 and 1, or raise a ValueError."""
    floats = values.astype(np.float32)
    if not (floats.min() >= 0 and floats.max() <= largest):  # False for NaN
        raise ValueError(
            f"its pixels of {8 * values.itemsize} bits are not between 0 and {largest};"
            f" {_RANGE}"
        )
    floats /= np.float32(largest)
    return floats
