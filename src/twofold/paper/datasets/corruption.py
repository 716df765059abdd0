"""Seeded damage to images, and random subsets of classes."""

import math
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

RandomState = int | np.random.RandomState


def remove_entries(
    images: ArrayLike,
    fraction: float,
    *,
    fill: float = 0.0,
    random_state: RandomState = 0,
) -> np.ndarray:
    """Remove the same share of the entries of every image, at random positions.

    Parameters
    ----------
    images : array-like of shape (n, h, w) or (n, h, w, c)
        Images. In colour images whole pixels are removed.
    fraction : float
        Share of the pixels, between 0 and 1. Of p pixels, ``round(fraction * p)`` are
        removed.
    fill : float, default=0.0
        Value of the removed entries, such as 0 or NaN. Images whose dtype cannot
        represent it become float64.
    random_state : int or RandomState, default=0
        Seed of the positions.

    Returns
    -------
    ndarray of the shape of ``images``
        Damaged copy.
    """
    images = _checked_images(images)
    _check_share("fraction", fraction)
    images = _as_representable(images, fill)
    n, h, w = images.shape[:3]
    count = round(fraction * h * w)
    draws = _random(random_state).uniform(size=(n, h * w))
    # The positions of the smallest draws are a uniform sample without replacement.
    # argpartition requires an index below h * w, also if all entries are removed.
    removed = np.argpartition(draws, min(count, h * w - 1), axis=1)[:, :count]
    damaged = images.reshape(n, h * w, -1).copy()
    np.put_along_axis(damaged, removed[:, :, None], fill, axis=1)
    return damaged.reshape(images.shape)


def occlude(
    images: ArrayLike,
    size: float | tuple[int, int],
    *,
    fill: float = 0.0,
    random_state: RandomState = 0,
) -> np.ndarray:
    """Cover a rectangle of every image, at a random position.

    Parameters
    ----------
    images : array-like of shape (n, h, w) or (n, h, w, c)
        Images.
    size : float or (int, int)
        Share of both sides that is covered, or height and width of the rectangle in
        pixels.
    fill : float, default=0.0
        Value of the covered entries.
    random_state : int or RandomState, default=0
        Seed of the positions.

    Returns
    -------
    ndarray of the shape of ``images``
        Damaged copy.
    """
    images = _checked_images(images)
    n, h, w = images.shape[:3]
    if isinstance(size, int | float):
        _check_share("size", size)
        size = round(size * h), round(size * w)
    whole = len(size) == 2 and all(isinstance(side, Integral) for side in size)
    if not (whole and 0 <= size[0] <= h and 0 <= size[1] <= w):
        raise ValueError(
            f"size must be a share or a (height, width) in pixels that fits into "
            f"{h} x {w}, got {size!r}"
        )
    tall, wide = size
    images = _as_representable(images, fill)
    random = _random(random_state)
    top = random.randint(h - tall + 1, size=n)[:, None, None]
    left = random.randint(w - wide + 1, size=n)[:, None, None]
    row, column = np.arange(h)[:, None], np.arange(w)
    covered = (row >= top) & (row < top + tall) & (column >= left)
    covered &= column < left + wide
    damaged = images.copy()
    damaged[covered] = fill
    return damaged


def add_noise(
    images: ArrayLike, strength: float, *, random_state: RandomState = 0
) -> np.ndarray:
    """Add Gaussian noise to every pixel.

    Parameters
    ----------
    images : array-like of shape (n, h, w) or (n, h, w, c)
        Images.
    strength : float
        Standard deviation of the noise as a share of the range of all entries that are
        not NaN.
    random_state : int or RandomState, default=0
        Seed of the noise.

    Returns
    -------
    ndarray of the shape of ``images``
        Noisy images, float32 for float32 images and float64 for all others. Values are
        not clipped.
    """
    images = _checked_images(images)
    if not (math.isfinite(strength) and strength >= 0):
        raise ValueError(f"strength must be at least 0, got {strength!r}")
    dtype = np.float32 if images.dtype == np.float32 else np.float64
    images = images.astype(dtype)
    deviation = strength * float(np.nanmax(images) - np.nanmin(images))
    noise = _random(random_state).normal(scale=deviation, size=images.shape)
    return images + noise.astype(dtype)


def sample_classes(
    target: ArrayLike, n: int, seed: int, *, per_class: int | None = None
) -> np.ndarray:
    """Return the samples of ``n`` random classes, as in the paper's subsets.

    Parameters
    ----------
    target : array-like of shape (n_samples,)
        Classes.
    n : int
        Number of classes to draw.
    seed : int
        Seed of the draw. The same seed gives the same classes on every platform.
    per_class : int or None, default=None
        Number of random samples of each class. None keeps all samples.

    Returns
    -------
    ndarray of int
        Indices of the samples, in ascending order.
    """
    target = np.asarray(target)
    classes, members = np.unique(target, return_inverse=True)
    if not 1 <= n <= len(classes):
        raise ValueError(
            f"n must be between 1 and the number of classes, {len(classes)}, got {n}"
        )
    random = np.random.RandomState(seed)  # its stream is the same in all NumPy versions
    chosen = random.permutation(len(classes))[:n]
    kept = []
    for label in sorted(chosen):
        indices = np.flatnonzero(members == label)
        if per_class is not None:
            if not 1 <= per_class <= len(indices):
                raise ValueError(
                    f"per_class must be between 1 and {len(indices)}, the size of "
                    f"class {classes[label]}, got {per_class}"
                )
            indices = random.permutation(indices)[:per_class]
        kept.append(indices)
    return np.sort(np.concatenate(kept))


def _random(random_state: RandomState) -> np.random.RandomState:
    if isinstance(random_state, np.random.RandomState):
        return random_state
    return np.random.RandomState(random_state)


def _checked_images(images: ArrayLike) -> np.ndarray:
    images = np.asarray(images)
    if images.ndim not in (3, 4) or images.dtype.kind not in "biuf" or not images.size:
        raise ValueError(
            "images must be numbers of shape (n, h, w) or (n, h, w, c), not empty, got "
            f"dtype {images.dtype} and shape {images.shape}"
        )
    return images


def _as_representable(images: np.ndarray, fill: float) -> np.ndarray:
    """Convert images to float64 if their dtype cannot represent ``fill``."""
    # The conversion of NaN to an integer, or of 1e300 to float32, would warn.
    with np.errstate(invalid="ignore", over="ignore"):
        converted = np.asarray(fill, dtype=np.float64).astype(images.dtype)
    if converted == fill or (np.isnan(fill) and images.dtype.kind == "f"):
        return images
    return images.astype(np.float64)


def _check_share(name: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {share!r}")
