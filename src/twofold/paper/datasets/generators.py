"""Synthetic images with known classes, of any number, made block by block."""

from collections.abc import Iterator

import numpy as np

from twofold.paper.datasets.corruption import occlude

_BLOCK = 1024
"""Images in a batch, which share one stream of random numbers."""


def make_faces(
    n_samples: int = 500,
    n_classes: int = 10,
    *,
    shape: tuple[int, int] = (32, 32),
    rank: int = 4,
    illumination: float = 3.0,
    occlusion: float = 0.0,
    noise: float = 0.1,
    random_state: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Low-rank images of classes that light hides from a comparison of pixels.

    An image is the pattern of all classes plus that of its own, both of ``rank`` in
    the same row and column directions; plus light of random strength and sign in
    other directions, plus a covered rectangle and noise. Where light outweighs
    the patterns, images of one class differ more than those of different ones.

    Parameters
    ----------
    n_samples, n_classes : int
    shape : (int, int), default=(32, 32)
        Height and width, each at least ``2 * rank``.
    rank : int, default=4
    illumination : float, default=3.0
        The norm of the light over that of a class's pattern, as a root mean square.
    occlusion : float, default=0.0
        The share of both sides that is covered with zeros, at a random place.
    noise : float, default=0.1
        The standard deviation of a pixel's noise over that of the pattern of a class.
    random_state : int, default=0

    Returns
    -------
    images : float32 array of shape (n_samples, *shape)
    target : int64 array of shape (n_samples,)
        Classes in random order, as equal in number as can be; of more than 1,024
        classes each batch has 1,024.
    """
    batches = iter_faces(
        n_samples,
        n_classes,
        shape=shape,
        rank=rank,
        illumination=illumination,
        occlusion=occlusion,
        noise=noise,
        random_state=random_state,
    )
    images, target = zip(*batches, strict=True)
    return np.concatenate(images), np.concatenate(target)


def iter_faces(
    n_samples: int = 500,
    n_classes: int = 10,
    *,
    shape: tuple[int, int] = (32, 32),
    rank: int = 4,
    illumination: float = 3.0,
    occlusion: float = 0.0,
    noise: float = 0.1,
    random_state: int = 0,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """``make_faces`` in batches of up to 1,024 images, for more than memory holds.

    Parameters
    ----------
    n_samples, n_classes, shape, rank, illumination, occlusion, noise, random_state
        As for ``make_faces``.

    Yields
    ------
    images, target : arrays of shape (m, *shape) and (m,)
        Together what ``make_faces`` returns.
    """
    if not 1 <= n_classes <= n_samples:
        raise ValueError(
            f"n_classes must be between 1 and n_samples={n_samples}, got {n_classes}"
        )
    if rank < 1 or min(shape) < 2 * rank:
        raise ValueError(
            f"shape={shape} must have sides of at least 2 * rank={2 * rank}"
        )
    if not 0 <= occlusion <= 1:
        raise ValueError(f"occlusion must be between 0 and 1, got {occlusion}")
    world = _World(n_classes, shape, rank, np.random.default_rng([random_state, 0]))
    for block, begin in enumerate(range(0, n_samples, _BLOCK)):
        random = np.random.default_rng([random_state, 1 + block])
        size = min(_BLOCK, n_samples - begin)
        target = (begin + random.permutation(size)) % n_classes
        yield world.images(target, illumination, occlusion, noise, random), target


class _World:
    """The directions and patterns from which images are made.

    Rows and columns have 2 rank directions each, smooth waves: the even ones carry
    the patterns of the classes, the odd ones the light.
    """

    def __init__(
        self,
        n_classes: int,
        shape: tuple[int, int],
        rank: int,
        random: np.random.Generator,
    ) -> None:
        left, right = (_waves(side, 2 * rank) for side in shape)
        self.pattern_sides = left[:, ::2], right[:, ::2].T
        self.light_sides = left[:, 1::2], right[:, 1::2].T
        self.rank = rank
        # All classes share a pattern of full rank, by which its directions are known.
        own = random.normal(size=(n_classes, rank, rank)) / rank
        self.patterns = 2 * np.eye(rank) + own

    def images(
        self,
        target: np.ndarray,
        illumination: float,
        occlusion: float,
        noise: float,
        random: np.random.Generator,
    ) -> np.ndarray:
        """Images of the given classes, as float32."""
        n, r = len(target), self.rank
        left, right = self.pattern_sides
        images = left @ self.patterns[target] @ right
        left, right = self.light_sides
        light = random.normal(size=(n, r, r)) * (illumination / r)
        images += left @ light @ right
        h, w = images.shape[1:]
        images += random.normal(size=images.shape) * (noise / np.sqrt(h * w))
        seed = int(random.integers(2**31))
        return occlude(images.astype(np.float32), occlusion, random_state=seed)


def _waves(size: int, count: int) -> np.ndarray:
    """Orthonormal cosines (size, count), of growing frequency."""
    places = (np.arange(size) + 0.5) / size
    waves = np.cos(np.pi * places[:, None] * np.arange(count))
    return waves / np.linalg.norm(waves, axis=0)
