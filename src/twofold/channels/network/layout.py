"""What networks return, as maps of one layout: (n, h, w, channels)."""

import math
from functools import lru_cache

import numpy as np

from twofold.channels.network.errors import NetworkError


def positions(found: np.ndarray, n: int, name: str) -> np.ndarray:
    """Return what a network returned for n pictures as maps (n, h, w, c).

    It may be maps (n, c, h, w) or (n, h, w, c), with h = w; positions (n, p, c), which
    are a grid if their number is a square, or one more, the first being no position;
    or vectors (n, c).
    """
    usable = found.ndim in (2, 3, 4) and len(found) == n and 0 not in found.shape
    if not usable or found.dtype.kind != "f":
        raise NetworkError(
            f"network={name!r} must return a map, positions or a vector of each "
            f"picture, got {found.dtype} of {found.shape} for {n} pictures"
        )
    if not np.isfinite(found).all():
        raise NetworkError(f"network={name!r} must return numbers, got NaN or infinity")
    if found.ndim == 2:
        return found[:, None, None, :]
    if found.ndim == 4:
        last = found.shape[1] == found.shape[2] != found.shape[3]
        return found if last else np.moveaxis(found, 1, -1)
    for extra in (0, 1):
        side = math.isqrt(found.shape[1] - extra)
        if side > 1 and side**2 == found.shape[1] - extra:
            return found[:, extra:].reshape(n, side, side, -1)
    return found[:, :, None, :]


def averaged(maps: np.ndarray) -> np.ndarray:
    """Return the mean over all positions of maps (n, h, w, c): (n, 1, 1, c)."""
    return maps.mean(axis=(1, 2), keepdims=True)


def reduced(maps: np.ndarray, count: int | None) -> np.ndarray:
    """Project the channels of maps (n, h, w, c) to ``count`` of them, if c is more."""
    channels = maps.shape[-1]
    if count is None or channels <= count:
        return maps
    return maps.astype(np.float32) @ projection(channels, count)


@lru_cache(maxsize=8)
def projection(channels: int, count: int) -> np.ndarray:
    """Return orthonormal columns (channels, count), random, but always the same.

    Distances between projected channels are, up to a factor, nearly those of all.
    """
    normal = np.random.RandomState(0).standard_normal((channels, count))
    columns, upper = np.linalg.qr(normal)
    return (columns * np.sign(np.diag(upper))).astype(np.float32)
