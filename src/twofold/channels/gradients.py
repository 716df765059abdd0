"""Oriented gradients: how strong the gradient is in each of several directions.

Grey values change with light, gradients far less; and strokes or edges that are moved
a little still meet in the same smoothed map. The maps are fixed: nothing is learned.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace, device

from twofold._sklearn import Interval
from twofold.channels.filters import central_difference, reduction, smoothing
from twofold.channels.stacks import StackTransformer, read_images
from twofold.core.arrays import Array, like, positive_or_one, slices

MIN_SIDE = 8
"""Shortest side of an image for which the filters make sense."""

_LONG, _REDUCED = 48, 40
"""Images with a side longer than the first are reduced so that it has the second."""

_SUBSAMPLED = 24
"""Shortest side of which only every second entry of the maps is kept."""

_DEVIATION = 0.7
"""Standard deviation of the smoothing before the differences, in pixels."""

_MAX_POOLING = 1 / 8
"""Largest standard deviation of the smoothing of maps, in units of the shorter side."""

_SURROUND = 2.0
"""Standard deviation of the smoothing of the local energy, in units of the maps'."""

_FLOOR = 0.05
"""Fraction of the mean energy of an image that is added to the local energy."""

_ROUNDING = 100
"""Largest rounding error of a gradient, in units of the precision and of the pixels."""

_BLOCK_ENTRIES = 2**20
"""Number of entries of maps that are computed at once."""

Pair = tuple[np.ndarray, np.ndarray]
"""The matrices of a separable filter, for the rows and for the columns."""


@dataclass(frozen=True)
class GradientFilters:
    """The linear filters of images of one shape."""

    shape: tuple[int, int]  # (h, w)
    pooling: float  # standard deviation of the smoothing of maps, in pixels

    @cached_property
    def reduced(self) -> tuple[int, int]:
        """Shape of the images after their reduction."""
        longest = max(self.shape)
        if longest <= _LONG:
            return self.shape
        height, width = (max(1, round(d * _REDUCED / longest)) for d in self.shape)
        return height, width

    @cached_property
    def smoothed(self) -> Pair:
        """Reduction, and the smoothing before the differences."""
        rows, columns = (
            smoothing(d, _DEVIATION) @ reduction(full, d)
            for full, d in zip(self.shape, self.reduced, strict=True)
        )
        return rows, columns

    @cached_property
    def differentiated(self) -> Pair:
        """The same, followed by central differences."""
        rows, columns = (central_difference(len(a)) @ a for a in self.smoothed)
        return rows, columns

    @property
    def _deviation(self) -> float:
        return min(self.pooling, _MAX_POOLING * min(self.reduced))

    @property
    def _strides(self) -> tuple[int, int]:
        height, width = (2 if d >= _SUBSAMPLED else 1 for d in self.reduced)
        return height, width

    @cached_property
    def pooled(self) -> Pair:
        """Smoothing and subsampling of the maps."""
        rows, columns = (
            smoothing(d, self._deviation, stride)
            for d, stride in zip(self.reduced, self._strides, strict=True)
        )
        return rows, columns

    @cached_property
    def surround(self) -> Pair:
        """Smoothing of the local energy, on the grid of the maps."""
        rows, columns = (
            smoothing(len(a), _SURROUND * self._deviation / stride)
            for a, stride in zip(self.pooled, self._strides, strict=True)
        )
        return rows, columns


def filtered(images: Array, pair: Pair) -> Array:
    """Apply a separable filter to images (..., h, w), each by itself: A X B'."""
    rows, columns = (like(matrix, images) for matrix in pair)
    return rows @ images @ columns.T


def strongest_gradient(images: Array, filters: GradientFilters) -> tuple[Array, Array]:
    """Return the gradients (n, h, w) down and across of images (n, c, h, w).

    Of several channels, every pixel takes the one in which the gradient is strongest.
    """
    xp = array_namespace(images)
    down = filtered(images, (filters.differentiated[0], filters.smoothed[1]))
    across = filtered(images, (filters.smoothed[0], filters.differentiated[1]))
    # Rounding errors are no gradients: local normalisation would blow them up.
    peak = xp.max(xp.abs(images), axis=(2, 3), keepdims=True)
    real = xp.hypot(down, across) > _ROUNDING * xp.finfo(images.dtype).eps * peak
    down, across = (xp.where(real, part, 0.0 * part) for part in (down, across))
    best = down[:, 0, ...], across[:, 0, ...]
    for c in range(1, images.shape[1]):
        other = down[:, c, ...], across[:, c, ...]
        stronger = xp.hypot(*other) > xp.hypot(*best)
        best = tuple(xp.where(stronger, a, b) for a, b in zip(other, best, strict=True))
    return best


def shared_among_directions(
    down: Array, across: Array, n_orientations: int, *, signed: bool
) -> Array:
    """Share the strength of gradients (n, h, w) between the two nearest directions.

    The shares are linear in the angle. Returns an array (n, n_orientations, h, w).
    """
    xp = array_namespace(down)
    period = 2 * np.pi if signed else np.pi
    # The position of the angle among the directions, from 0 to n_orientations
    turn = xp.remainder(xp.atan2(down, across), period) * (n_orientations / period)
    directions = like(np.arange(n_orientations), down)[:, None, None]
    apart = xp.abs(turn[:, None, ...] - directions)
    apart = xp.minimum(apart, n_orientations - apart)  # around the circle
    return xp.clip(1 - apart, min=0.0) * xp.hypot(down, across)[:, None, ...]


def oriented_gradients(
    images: Array,
    filters: GradientFilters,
    n_orientations: int = 8,
    *,
    signed: bool = True,
    normalize: bool = True,
) -> Array:
    """Compute the maps (n, n_orientations, h', w') of images (n, c, h, w)."""
    xp = array_namespace(images)
    down, across = strongest_gradient(images, filters)
    maps = shared_among_directions(down, across, n_orientations, signed=signed)
    maps = filtered(maps, filters.pooled)
    if normalize:
        energy = filtered(xp.sum(maps, axis=1), filters.surround)
        floor = _FLOOR * xp.mean(energy, axis=(1, 2), keepdims=True)
        maps = maps / positive_or_one(energy + floor)[:, None, ...]
    return xp.sqrt(maps)


class OrientedGradients(StackTransformer):
    """Images as maps of their oriented gradients, a transformer of stacks.

    The gradient of a smoothed image is found by central differences. Its strength is
    shared between the two nearest of ``n_orientations`` directions. The map of each
    direction is smoothed, and every second row and column is kept where a side has 24
    or more pixels. Maps are divided by the local strength of all directions, and their
    square root is taken. Images with a side above 48 pixels are first reduced to 40.

    Every image is treated by itself: its maps do not depend on the batch.

    Parameters
    ----------
    n_orientations : int, default=8
        Number of directions.
    signed : bool, default=True
        Whether opposite directions, dark to bright and bright to dark, are two.
    pooling : float, default=2.0
        Standard deviation of the smoothing of the maps, in pixels, and at most an
        eighth of the shorter side. Where it is large, maps change less when strokes are
        moved; where it is small, they show detail.
    normalize : bool, default=True
        Whether maps are divided by the local strength of the gradient.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twofold.channels import OrientedGradients
    >>> OrientedGradients().fit_transform(load_digits().images).shape
    (1797, 8, 8, 8)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_orientations": [Interval(Integral, 2, 64, closed="both")],
        "signed": ["boolean"],
        "pooling": [Interval(Real, 0.1, 20, closed="both")],
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        n_orientations: int = 8,
        *,
        signed: bool = True,
        pooling: float = 2.0,
        normalize: bool = True,
    ) -> None:
        self.n_orientations = n_orientations
        self.signed = signed
        self.pooling = pooling
        self.normalize = normalize

    def fit(self, X: Any, y: Any = None) -> "OrientedGradients":
        """Check the parameters and the shape of X; nothing is learned."""
        self._validate_params()
        read_images(X, MIN_SIDE)
        return self

    def transform(self, X: Any) -> Array:
        """Return the maps of images.

        Parameters
        ----------
        X : array of shape (n, h, w) or (n, h, w, c)
            Images of at least 8 x 8 pixels, in any unit. Of several channels, every
            pixel takes the one in which the gradient is strongest. A PyTorch tensor is
            transformed where it lies.

        Returns
        -------
        array of shape (n, h', w', n_orientations)
            In the precision of X: float32 stays.
        """
        self._validate_params()
        images = read_images(X, MIN_SIDE)
        xp = array_namespace(images)
        n, _, height, width = images.shape
        filters = GradientFilters((height, width), self.pooling)
        size = self.n_orientations * filters.reduced[0] * filters.reduced[1]
        shape = n, self.n_orientations, *(len(matrix) for matrix in filters.pooled)
        maps = xp.empty(shape, dtype=images.dtype, device=device(images))
        for block in slices(n, _BLOCK_ENTRIES // size):
            maps[block] = oriented_gradients(
                images[block, ...],
                filters,
                self.n_orientations,
                signed=self.signed,
                normalize=self.normalize,
            )
        return xp.permute_dims(maps, (0, 2, 3, 1))
