"""Images that come shifted and turned, brought to one position.

All images are moved to agree with one reference, the mean of what they look like when
moved; the two are found in turns (congealing). What is compared is the gradient: its
size and its direction, smoothed, and scaled by the contrast around it, so that neither
the light nor the subject matters much. The best shift for every candidate turn is found
at once, by a cross-correlation in the Fourier domain.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.fft
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[Any]

LARGEST = 48
"""Images with a longer side are compared in a smaller size."""
TURNS = 13
"""How many turns are tried: with turns up to 45 degrees, one every 7.5."""
CHUNK = 64
"""How many images are compared at a time, which bounds the memory."""
PRESMOOTHING, SMOOTHING, CONTRAST = 0.7, 1.0, 3.0
"""Widths in pixels: before the gradient, after it, and of the contrast around it."""
LEAST_GAIN = 0.03
"""An image is moved if that raises its correlation with the reference by this much."""


class Transforms(NamedTuple):
    """How images are moved: first shifted, then turned about the centre."""

    shifts: Array
    """(n, 2): pixels downwards and to the right."""
    turns: Array
    """(n,): degrees, in the sense of ``scipy.ndimage.rotate``."""


@dataclass(frozen=True)
class Alignment:
    """What images are aligned to. `apply` treats each image by itself.

    Parameters
    ----------
    maps : (3, h', w')
        The reference: mean size of the gradient, and mean gradient along y and x, of
        the aligned images, in the size that they are compared in.
    mean : (c, h, w)
        Mean of the aligned images, by which pixels from outside an image are filled.
    darkest : (c,)
        The lowest value of each channel.
    max_shift : int
        Largest shift that is tried, in pixels of the images.
    max_turn : float
        Largest turn that is tried, in degrees.
    before, after : float
        Mean correlation of the images with their mean, before and after alignment.
        Images that were aligned gain little.
    """

    maps: Array
    mean: Array
    darkest: Array
    max_shift: int
    max_turn: float
    before: float
    after: float

    def apply(self, images: Array) -> tuple[Transforms, Array]:
        """Align ``images`` (n, c, h, w): how each is moved, and the moved images.

        A pixel that comes from outside its image takes the value of the nearest pixel
        inside, times the ratio of the mean image at the two places.
        """
        if images.shape[1:] != self.mean.shape:
            raise ValueError(
                f"images must be of shape {('n', *self.mean.shape)}, as those that "
                f"the alignment was fitted to, got {images.shape}"
            )
        found = find(images, self.maps, self.max_shift, self.max_turn)
        aligned = np.empty(images.shape, _float_type(images))
        for part in _chunks(len(images)):
            aligned[part] = self._moved(images[part], _part(found, part))
        return found, aligned

    def _moved(self, images: Array, transforms: Transforms) -> Array:
        moved, inside, nearest = move(images, transforms)
        # where the nearest pixel inside an image lies when that image is moved
        y, x = _target(nearest, transforms, images.shape[2:])
        there = _at(np.broadcast_to(self.mean, images.shape), y, x)
        low = self.darkest[:, None, None]
        least = 1e-6 * np.max(self.mean - low) + np.finfo(float).tiny
        ratio = np.clip((self.mean - low) / np.maximum(there - low, least), 0.5, 2.0)
        return np.where(inside[:, None], moved, low + (moved - low) * ratio)


def align(
    images: Array,
    *,
    max_shift: int | None = None,
    max_turn: float = 0.0,
    rounds: int = 4,
) -> tuple[Transforms, Array]:
    """Align ``images`` (n, c, h, w) to each other.

    The parameters are those of `fit_alignment`, which also aligns further images.

    Returns
    -------
    transforms : Transforms
        How each image was moved.
    aligned : (n, c, h, w)
        The moved images.
    """
    return fit_alignment(
        images, max_shift=max_shift, max_turn=max_turn, rounds=rounds
    ).apply(images)


def fit_alignment(
    images: Array,
    *,
    max_shift: int | None = None,
    max_turn: float = 0.0,
    rounds: int = 4,
) -> Alignment:
    """The reference that ``images`` (n, c, h, w) agree with best when moved to it.

    Parameters
    ----------
    images : (n, c, h, w)
        Images without missing values. The mean of the channels is compared.
    max_shift : int, optional
        Largest shift, in pixels along each axis. Default: a quarter of the longer side.
    max_turn : float
        Largest turn, in degrees; 0 for shifts alone.
    rounds : int
        How often the images are moved to the mean of the moved images; the second time,
        to the one that agrees best with this mean.
    """
    if max_shift is None:
        max_shift = max(images.shape[2:]) // 4
    n = len(images)
    transforms = Transforms(np.zeros((n, 2)), np.zeros(n))
    maps, before = _mean_maps(images, transforms)
    after = before
    for number in range(rounds):
        if number == 1:
            # The mean of images that are a pixel apart agrees with each of them where
            # it is. A single image is sharp, and brings them together.
            maps = _typical_maps(images, transforms, maps)
        found = find(images, maps, max_shift, max_turn)
        # The reference is free to wander, and images to leave the frame with it: most
        # stay where they are.
        shifts = found.shifts - np.rint(np.median(found.shifts, axis=0))
        turns = found.turns - np.median(found.turns)
        transforms = Transforms(np.clip(shifts, -max_shift, max_shift), turns)
        maps, after = _mean_maps(images, transforms)
    return Alignment(
        maps=maps,
        mean=_mean_image(images, transforms),
        darkest=images.min(axis=(0, 2, 3)).astype(float),
        max_shift=max_shift,
        max_turn=max_turn,
        before=before,
        after=after,
    )


def gradient_maps(images: Array) -> Array:
    """What is compared of images (n, h, w): maps (n, 3, h, w) of norm 1 for each image.

    With g = (∂y, ∂x) of an image and E = |g| smoothed widely, these are r = √(|g| / E)
    less its mean and the two parts of r g/|g|, smoothed.
    """
    images = _smoothed(images.astype(float), PRESMOOTHING)
    gradient = np.stack([_slope(images, 1), _slope(images, 2)])  # (2, n, h, w)
    size = np.hypot(*gradient)
    around = _smoothed(size, CONTRAST)
    around += 0.05 * around.mean(axis=(1, 2), keepdims=True)
    root = np.sqrt(_ratio(size, around))
    size_map = _smoothed(root, SMOOTHING)
    size_map -= size_map.mean(axis=(1, 2), keepdims=True)
    parts = [_smoothed(root * _ratio(part, size), SMOOTHING) for part in gradient]
    return _normed(np.stack([size_map, *parts], axis=1)).astype(np.float32)


def find(images: Array, maps: Array, max_shift: int, max_turn: float) -> Transforms:
    """The moves of images (n, c, h, w) that agree best with reference ``maps``."""
    turns = np.linspace(-max_turn, max_turn, TURNS) if max_turn else np.zeros(1)
    # An image that has to be turned by t looks like the reference turned by -t.
    references = np.stack([_turned_maps(maps, -turn) for turn in turns])
    pixels = np.asarray(images.shape[2:]) / np.asarray(maps.shape[1:])
    reach = np.ceil(max_shift / pixels).astype(int)
    shifts, angles = np.zeros((len(images), 2)), np.zeros(len(images))
    for part in _chunks(len(images)):
        own = gradient_maps(_comparable(images[part]))
        scores = _correlations(own, references, reach)
        turn, *shift = _best(scores, (TURNS // 2 if max_turn else 0, *reach))
        angles[part] = turns[turn]
        shifts[part] = (np.stack(shift, axis=1) - reach) * pixels
    return Transforms(np.clip(shifts, -max_shift, max_shift), angles)


def _correlations(maps: Array, references: Array, reach: Array) -> Array:
    """Σ reference(p + d) map(p): (n, turns, shifts along y, along x), d up to reach."""
    # Padded, so that nothing comes in on the other side.
    shape = [
        scipy.fft.next_fast_len(int(side + far), real=True)
        for side, far in zip(maps.shape[2:], reach, strict=True)
    ]
    theirs = scipy.fft.rfft2(references, shape)
    own = np.conj(scipy.fft.rfft2(maps, shape))
    products = own[:, None, 0] * theirs[None, :, 0]
    for channel in range(1, maps.shape[1]):
        products += own[:, None, channel] * theirs[None, :, channel]
    scores = scipy.fft.irfft2(products, shape)
    y, x = (np.arange(-far, far + 1) for far in reach)
    return scores[:, :, y[:, None], x[None, :]]


def _best(scores: Array, still: tuple[int, ...]) -> tuple[Array, ...]:
    """Where each image has its highest score: at ``still`` if that is as good."""
    flat = scores.reshape(len(scores), -1)
    stay = np.ravel_multi_index(still, scores.shape[1:])
    best = flat.argmax(axis=1)
    gain = flat.max(axis=1) - flat[:, stay]
    best = np.where(gain > LEAST_GAIN, best, stay)
    return np.unravel_index(best, scores.shape[1:])


def _moved_maps(images: Array, transforms: Transforms) -> Iterator[Array]:
    """Gradient maps (chunk, 3, h', w') of moved images, 0 where they show nothing."""
    for part in _chunks(len(images)):
        moved, inside, _ = move(images[part], _part(transforms, part))
        known = _comparable(inside[:, None].astype(float)) > 0.5
        yield gradient_maps(_comparable(moved)) * known[:, None]


def _mean_maps(images: Array, transforms: Transforms) -> tuple[Array, float]:
    """Mean gradient maps (3, h', w') of moved images, of norm 1; mean correlation."""
    total: Array = np.zeros(1)
    for maps in _moved_maps(images, transforms):
        total = total + maps.sum(axis=0, dtype=float)
    # 1/n Σ mᵢ·M/|M|, with M = Σ mᵢ, is |M|/n.
    correlation = float(np.sqrt(np.sum(total**2))) / len(images)
    return _normed(total[None])[0].astype(np.float32), correlation


def _typical_maps(images: Array, transforms: Transforms, mean: Array) -> Array:
    """Maps (3, h', w') of the moved image that agrees best with the mean maps."""
    highest, typical = -np.inf, mean
    for maps in _moved_maps(images, transforms):
        agreement = np.sum(maps * mean, axis=(1, 2, 3), dtype=float)
        best = int(agreement.argmax())
        if agreement[best] > highest:
            highest, typical = agreement[best], maps[best]
    return _normed(typical[None])[0]


def _mean_image(images: Array, transforms: Transforms) -> Array:
    """Mean of moved images over those that show a pixel, or else of what fills it."""
    shown: Array = np.zeros(images.shape[2:])
    total, filled = np.zeros(images.shape[1:]), np.zeros(images.shape[1:])
    for part in _chunks(len(images)):
        moved, inside, _ = move(images[part], _part(transforms, part))
        shown = shown + inside.sum(axis=0)
        total += (moved * inside[:, None]).sum(axis=0)
        filled += moved.sum(axis=0)
    return np.where(shown > 0, total / np.maximum(shown, 1), filled / len(images))


def move(images: Array, transforms: Transforms) -> tuple[Array, Array, Array]:
    """Shift and turn images (n, c, h, w), with the edge pixels continued outwards.

    Returns
    -------
    moved : (n, c, h, w)
        The images between whose pixels is interpolated linearly.
    inside : (n, h, w)
        Which pixels come from inside an image.
    nearest : (2, n, h, w)
        Where they come from: the nearest places inside.
    """
    h, w = images.shape[2:]
    y, x = _centred(h, w)
    cos, sin = _rotation(transforms.turns)
    down, right = (transforms.shifts[:, axis, None, None] for axis in (0, 1))
    source = np.stack(
        [
            cos * y + sin * x + (h - 1) / 2 - down,
            cos * x - sin * y + (w - 1) / 2 - right,
        ]
    )
    nearest = np.stack([np.clip(source[0], 0, h - 1), np.clip(source[1], 0, w - 1)])
    inside = (np.abs(source - nearest) < 0.5).all(axis=0)
    return _at(images, *nearest), inside, nearest


def _target(place: Array, transforms: Transforms, shape: tuple[int, ...]) -> Array:
    """To which places (2, n, h, w), inside the frame, the given ones are moved."""
    h, w = shape
    cos, sin = _rotation(transforms.turns)
    y = place[0] + transforms.shifts[:, 0, None, None] - (h - 1) / 2
    x = place[1] + transforms.shifts[:, 1, None, None] - (w - 1) / 2
    return np.stack(
        [
            np.clip(cos * y - sin * x + (h - 1) / 2, 0, h - 1),
            np.clip(sin * y + cos * x + (w - 1) / 2, 0, w - 1),
        ]
    )


def _turned_maps(maps: Array, turn: float) -> Array:
    """Maps (3, h, w) of an image that is turned: places turn, and directions."""
    if turn == 0:
        return maps
    transforms = Transforms(np.zeros((1, 2)), np.array([turn]))
    moved, inside, _ = move(maps[None], transforms)
    size, y, x = moved[0] * inside
    cos, sin = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))
    turned = np.stack([size, cos * y - sin * x, sin * y + cos * x])
    return _normed(turned[None])[0].astype(np.float32)


def _at(images: Array, y: Array, x: Array) -> Array:
    """Images (n, c, h, w) at places (n, h, w), by linear interpolation."""
    n, _, h, w = images.shape
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    low, right = np.minimum(top + 1, h - 1), np.minimum(left + 1, w - 1)
    down, across = (y - top)[..., None], (x - left)[..., None]
    each = np.arange(n)[:, None, None]
    rows = images.transpose(0, 2, 3, 1)  # channels last: the places index n, h and w
    above = rows[each, top, left] * (1 - across) + rows[each, top, right] * across
    below = rows[each, low, left] * (1 - across) + rows[each, low, right] * across
    return (above * (1 - down) + below * down).transpose(0, 3, 1, 2)


def _comparable(images: Array) -> Array:
    """Mean over the channels of (n, c, h, w), in a size of at most LARGEST."""
    grey = images.mean(axis=1, dtype=float)
    scale = LARGEST / max(grey.shape[1:])
    if scale >= 1:
        return grey
    h, w = (max(1, round(side * scale)) for side in grey.shape[1:])
    return _areas(grey.shape[1], h) @ grey @ _areas(grey.shape[2], w).T


def _areas(old: int, new: int) -> Array:
    """(new, old): means over the equal parts that a side is cut into."""
    edges = np.arange(new + 1) * (old / new)
    pixel = np.arange(old)
    low = np.maximum(edges[:-1, None], pixel)
    high = np.minimum(edges[1:, None], pixel + 1)
    return np.clip(high - low, 0, None) * (new / old)


def _slope(images: Array, axis: int) -> Array:
    """Central differences, with the edge pixels continued outwards."""
    kernel = np.array([-0.5, 0.0, 0.5])
    return ndimage.correlate1d(images, kernel, axis=axis, mode="nearest")


def _smoothed(images: Array, width: float) -> Array:
    return ndimage.gaussian_filter(images, (0, width, width), truncate=3.0)


def _ratio(value: Array, by: Array) -> Array:
    return value / np.where(by > 0, by, 1.0)


def _normed(maps: Array) -> Array:
    """Maps (n, 3, h, w) scaled to norm 1 for each image, except those that are 0."""
    return _ratio(maps, np.sqrt(np.sum(maps**2, axis=(1, 2, 3), keepdims=True)))


def _centred(h: int, w: int) -> tuple[Array, Array]:
    return np.arange(h)[:, None] - (h - 1) / 2, np.arange(w)[None, :] - (w - 1) / 2


def _rotation(turns: Array) -> tuple[Array, Array]:
    angle = np.deg2rad(turns)[:, None, None]
    return np.cos(angle), np.sin(angle)


def _chunks(n: int) -> Iterator[slice]:
    return (slice(begin, begin + CHUNK) for begin in range(0, n, CHUNK))


def _part(transforms: Transforms, part: slice) -> Transforms:
    return Transforms(transforms.shifts[part], transforms.turns[part])


def _float_type(images: Array) -> np.dtype[Any]:
    return np.result_type(images.dtype, np.float32)
