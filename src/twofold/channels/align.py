"""Images that come shifted and turned, brought to one position.

All images are moved to agree with one reference, the mean of what they look like when
moved; the two are found in turns (congealing). What is compared is the gradient: its
size and its direction, smoothed, and scaled by the contrast around it, so that neither
the light nor the subject matters much. The best shift for every candidate turn is found
at once, by a cross-correlation in the Fourier domain.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.fft

from twofold.channels.filters import reduction, smoothing
from twofold.channels.gradients import GradientFilters, filtered, strongest_gradient
from twofold.channels.moves import Transforms, move, move_and_fill
from twofold.core.arrays import AnyArray, like, positive_or_one, slices, to_numpy

MAX_TURN = 45.0
"""Largest turn, in degrees, unless images are shifted alone."""

LARGEST = 48
"""Images with a longer side are compared in a smaller size."""

TURNS = 13
"""How many turns are tried: with turns up to 45 degrees, one every 7.5."""

CHUNK = 64
"""How many images are compared at a time, which bounds the memory."""

_SMOOTHING, _CONTRAST = 1.0, 3.0
"""Standard deviations in pixels: of the maps, and of the contrast around a pixel."""

_FLOOR = 0.05
"""Fraction of the mean contrast of an image that is added to the contrast."""

_LEAST_GAIN = 0.03
"""An image is moved if that raises its correlation with the reference by this much."""


@dataclass(frozen=True)
class Alignment:
    """What images are aligned to. Each image is treated by itself."""

    # The reference: mean size of the gradient, and mean gradient down and across, of
    # the aligned images, in the size in which they are compared.
    maps: np.ndarray  # (3, h', w'), of norm 1
    mean: np.ndarray  # (c, h, w), of aligned images; fills what comes from outside
    darkest: np.ndarray  # (c,), the lowest value of each channel
    max_shift: int  # largest shift that is tried, in pixels of the images
    max_turn: float  # largest turn that is tried, in degrees
    before: float  # mean correlation of the images with their mean, as they were given
    after: float  # the same when they are aligned; images that were gain little

    def apply(self, images: np.ndarray) -> tuple[Transforms, np.ndarray]:
        """Align images (n, c, h, w): how each is moved, and the moved images.

        A pixel that comes from outside its image takes the value of the nearest pixel
        inside, times the ratio of the mean image at the two places. Floats stay.
        """
        if images.shape[1:] != self.mean.shape:
            raise ValueError(
                f"images must be of shape {('n', *self.mean.shape)}, as those that "
                f"the alignment was fitted to, got {images.shape}"
            )
        found = find(images, self.maps, self.max_shift, self.max_turn)
        aligned = np.empty(images.shape, np.result_type(images.dtype, np.float32))
        for rows in slices(len(images), CHUNK):
            parts = images[rows], found.part(rows)
            aligned[rows] = move_and_fill(*parts, self.mean, self.darkest)
        return found, aligned

    def aligned(self, images: AnyArray) -> AnyArray:
        """Return aligned images (n, c, h, w) of any namespace, on their device."""
        return like(self.apply(to_numpy(images))[1], images)


def fit_alignment(
    images: np.ndarray,
    *,
    max_shift: int | None = None,
    max_turn: float = 0.0,
    rounds: int = 4,
) -> Alignment:
    """Find the reference that images agree with best when moved to it.

    Parameters
    ----------
    images : array of shape (n, c, h, w)
        Images without missing values. The mean of the channels is compared.
    max_shift : int or None, default=None
        Largest shift, in pixels along each axis. None stands for a quarter of the
        longer side.
    max_turn : float, default=0.0
        Largest turn, in degrees; 0 for shifts alone.
    rounds : int, default=4
        How often the images are moved to the mean of the moved images; the second time,
        to the one that agrees best with this mean.

    Returns
    -------
    Alignment
    """
    if max_shift is None:
        max_shift = max(images.shape[2:]) // 4
    transforms = Transforms.none(len(images))
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
    dtype = np.result_type(images.dtype, np.float32)
    return Alignment(
        maps=maps,
        mean=_mean_image(images, transforms).astype(dtype),
        darkest=images.min(axis=(0, 2, 3)).astype(dtype),
        max_shift=max_shift,
        max_turn=max_turn,
        before=before,
        after=after,
    )


def gradient_maps(images: np.ndarray) -> np.ndarray:
    """Return what is compared of images (n, h, w): maps (n, 3, h, w) of norm 1.

    With g the gradient of an image, |g| its size, and E the size smoothed widely, they
    are r = sqrt(|g| / E) less its mean, and the two parts of r g / |g|, all smoothed.
    """
    height, width = images.shape[1:]
    filters = GradientFilters((height, width), pooling=_SMOOTHING)
    found = strongest_gradient(images[:, None].astype(np.float64), filters)
    gradient = np.stack([to_numpy(part) for part in found])  # (2, n, h, w)
    size = np.hypot(gradient[0], gradient[1])
    around = _smoothed(size, _CONTRAST)
    around += _FLOOR * around.mean(axis=(1, 2), keepdims=True)
    root = np.sqrt(size / positive_or_one(around))
    directed = root / positive_or_one(size)
    maps = _smoothed(np.stack([root, *(directed * gradient)]))
    maps[0] -= maps[0].mean(axis=(1, 2), keepdims=True)
    return _normed(maps.transpose(1, 0, 2, 3)).astype(np.float32)


def find(
    images: np.ndarray, maps: np.ndarray, max_shift: int, max_turn: float
) -> Transforms:
    """Find the moves of images (n, c, h, w) that agree best with reference ``maps``."""
    turns = np.linspace(-max_turn, max_turn, TURNS) if max_turn else np.zeros(1)
    # An image that has to be turned by t looks like the reference turned by -t.
    references = np.stack([_turned_maps(maps, -turn) for turn in turns])
    pixels = np.asarray(images.shape[2:]) / np.asarray(maps.shape[1:])
    reach = np.ceil(max_shift / pixels).astype(int)
    found = Transforms.none(len(images))
    for rows in slices(len(images), CHUNK):
        own = gradient_maps(_comparable(images[rows]))
        scores = correlations(own, references, reach)
        turn, *shift = _best(scores, (len(turns) // 2, *reach))
        found.turns[rows] = turns[turn]
        found.shifts[rows] = (np.stack(shift, axis=1) - reach) * pixels
    return Transforms(np.clip(found.shifts, -max_shift, max_shift), found.turns)


def correlations(
    maps: np.ndarray, references: np.ndarray, reach: np.ndarray
) -> np.ndarray:
    """Compute sum_p reference(p + d) map(p) for shifts d up to ``reach`` (2,).

    The sum is also over the three maps of an image (n, 3, h', w') and of a reference
    (turns, 3, h', w'). Returns (n, turns, shifts down, shifts across).
    """
    # Padded, so that nothing comes in on the other side.
    shape = [
        scipy.fft.next_fast_len(int(side + far), real=True)
        for side, far in zip(maps.shape[2:], reach, strict=True)
    ]
    theirs = scipy.fft.rfft2(references, shape)
    own = np.conj(scipy.fft.rfft2(maps, shape))
    products = own[:, None, 0] * theirs[None, :, 0]
    for part in range(1, maps.shape[1]):
        products += own[:, None, part] * theirs[None, :, part]
    scores = scipy.fft.irfft2(products, shape)
    y, x = (np.arange(-far, far + 1) for far in reach)
    return scores[:, :, y[:, None], x[None, :]]


def _best(scores: np.ndarray, still: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Return where each image has its highest score, or ``still`` if as good."""
    flat = scores.reshape(len(scores), -1)
    stay = np.ravel_multi_index(still, scores.shape[1:])
    gain = flat.max(axis=1) - flat[:, stay]
    best = np.where(gain > _LEAST_GAIN, flat.argmax(axis=1), stay)
    return np.unravel_index(best, scores.shape[1:])


def _moved_maps(images: np.ndarray, transforms: Transforms) -> Iterator[np.ndarray]:
    """Yield gradient maps (m, 3, h', w') of moved images, 0 where they show nothing."""
    for rows in slices(len(images), CHUNK):
        moved, inside, _ = move(images[rows], transforms.part(rows))
        known = _comparable(inside[:, None].astype(np.float64)) > 0.5
        yield gradient_maps(_comparable(moved)) * known[:, None]


def _mean_maps(images: np.ndarray, transforms: Transforms) -> tuple[np.ndarray, float]:
    """Return mean maps (3, h', w') of moved images, of norm 1, and the correlation."""
    total: np.ndarray = np.zeros(1)
    for maps in _moved_maps(images, transforms):
        total = total + maps.sum(axis=0, dtype=np.float64)
    # The mean of m_i . M / |M| over all i, with M = sum_i m_i, is |M| / n.
    correlation = float(np.sqrt(np.sum(total**2))) / len(images)
    # Maps have norm 1 in single precision.
    return _normed(total[None])[0].astype(np.float32), min(correlation, 1.0)


def _typical_maps(
    images: np.ndarray, transforms: Transforms, mean: np.ndarray
) -> np.ndarray:
    """Return the maps (3, h', w') of the moved image that agrees best with a mean."""
    highest, typical = -np.inf, mean
    for maps in _moved_maps(images, transforms):
        agreement = (maps * mean).sum(axis=(1, 2, 3), dtype=np.float64)
        best = int(agreement.argmax())
        if agreement[best] > highest:
            highest, typical = agreement[best], maps[best]
    return _normed(typical[None])[0]


def _mean_image(images: np.ndarray, transforms: Transforms) -> np.ndarray:
    """Return the mean of moved images over those that show a pixel: (c, h, w).

    Where none does, it is the mean of the pixels that are continued outwards.
    """
    shown: np.ndarray = np.zeros(images.shape[2:])
    total, continued = np.zeros(images.shape[1:]), np.zeros(images.shape[1:])
    for rows in slices(len(images), CHUNK):
        moved, inside, _ = move(images[rows], transforms.part(rows))
        shown = shown + inside.sum(axis=0)
        total += (moved * inside[:, None]).sum(axis=0)
        continued += moved.sum(axis=0)
    return np.where(shown > 0, total / np.maximum(shown, 1), continued / len(images))


def _turned_maps(maps: np.ndarray, turn: float) -> np.ndarray:
    """Return the maps (3, h, w) of an image that is turned: places and directions."""
    if turn == 0:
        return maps
    transforms = Transforms(np.zeros((1, 2)), np.array([turn]))
    moved, inside, _ = move(maps[None], transforms)
    size, y, x = moved[0] * inside
    cos, sin = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))
    turned = np.stack([size, cos * y - sin * x, sin * y + cos * x])
    return _normed(turned[None])[0].astype(np.float32)


def compared_shape(height: int, width: int) -> tuple[int, int]:
    """Return the size in which images are compared."""
    scale = min(1.0, LARGEST / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def _comparable(images: np.ndarray) -> np.ndarray:
    """Return the mean over the channels of (n, c, h, w), in the size to compare."""
    grey = images.mean(axis=1, dtype=np.float64)
    height, width = grey.shape[1:]
    reduced = compared_shape(height, width)
    if reduced == (height, width):
        return grey
    rows, columns = map(reduction, (height, width), reduced)
    return np.asarray(filtered(grey, (rows, columns)))


def _smoothed(images: np.ndarray, deviation: float = _SMOOTHING) -> np.ndarray:
    """Smooth images (..., h, w), each by itself."""
    rows, columns = (smoothing(side, deviation) for side in images.shape[-2:])
    return np.asarray(filtered(images, (rows, columns)))


def _normed(maps: np.ndarray) -> np.ndarray:
    """Scale maps (n, 3, h, w) to norm 1 for each image, except those that are 0."""
    return maps / positive_or_one(
        np.sqrt(np.sum(maps**2, axis=(1, 2, 3), keepdims=True))
    )
