"""Synthetic images with known classes, generated in batches."""

from collections.abc import Iterator

import numpy as np

from twofold.paper.datasets.corruption import occlude

_BATCH = 1024
"""Maximum number of images in a batch. Every batch has its own random generator."""


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
    """Return low-rank images whose classes are hidden by random illumination.

    An image is the sum of a pattern that all classes share, the pattern of its class,
    illumination and noise, with a covered rectangle. Both patterns have rank ``rank``
    and the same row and column directions. The illumination has random strength and
    sign in other directions. If it outweighs the patterns, images of one class differ
    more than images of different classes.

    Parameters
    ----------
    n_samples, n_classes : int
        Numbers of images and classes.
    shape : (int, int), default=(32, 32)
        Height and width, each at least ``2 * rank``.
    rank : int, default=4
        Rank of the patterns and of the illumination.
    illumination : float, default=3.0
        Root mean square norm of the illumination, divided by that of a class pattern.
    occlusion : float, default=0.0
        Share of both sides that is covered with zeros, at a random position.
    noise : float, default=0.1
        Standard deviation of the noise of a pixel, divided by that of a class pattern.
    random_state : int, default=0
        Seed of all random numbers.

    Returns
    -------
    images : float32 array of shape (n_samples, *shape)
    target : int64 array of shape (n_samples,)
        Classes in random order, of sizes that differ by at most 1. With more than
        1,024 classes, each batch contains 1,024 of them.
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
    """Yield images (m, *shape) and classes (m,) in batches of at most 1,024.

    The parameters are those of ``make_faces``. All batches together are its output.
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
    model = _FaceModel(n_classes, shape, rank, np.random.default_rng([random_state, 0]))
    for batch, begin in enumerate(range(0, n_samples, _BATCH)):
        random = np.random.default_rng([random_state, 1 + batch])
        size = min(_BATCH, n_samples - begin)
        # Consecutive numbers modulo n_classes: class sizes differ by at most 1.
        target = (begin + random.permutation(size)) % n_classes
        yield model.images(target, illumination, occlusion, noise, random), target


class _FaceModel:
    """Directions and patterns from which images are generated.

    Rows and columns have 2 rank directions each, which are cosines. The even directions
    carry the patterns of the classes, the odd directions the illumination.
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
        # The shared pattern has full rank: every direction occurs in all classes.
        deviations = random.normal(size=(n_classes, rank, rank)) / rank
        self.patterns = 2 * np.eye(rank) + deviations

    def images(
        self,
        target: np.ndarray,
        illumination: float,
        occlusion: float,
        noise: float,
        random: np.random.Generator,
    ) -> np.ndarray:
        """Return images of the given classes, as float32."""
        n, r = len(target), self.rank
        left, right = self.pattern_sides
        images = left @ self.patterns[target] @ right
        left, right = self.light_sides
        light = random.normal(size=(n, r, r)) * (illumination / r)
        images += left @ light @ right
        h, w = images.shape[1:]
        # The mean square norm of a class pattern is 1, which is 1 / (h w) per pixel.
        images += random.normal(size=images.shape) * (noise / np.sqrt(h * w))
        seed = int(random.integers(2**31))  # occlude accepts no Generator
        return occlude(images.astype(np.float32), occlusion, random_state=seed)


def _waves(size: int, count: int) -> np.ndarray:
    """Return orthonormal cosines of increasing frequency, of shape (size, count)."""
    # Sampled at half-integers, cosines are orthogonal (DCT-II).
    positions = (np.arange(size) + 0.5) / size
    waves = np.cos(np.pi * positions[:, None] * np.arange(count))
    return waves / np.linalg.norm(waves, axis=0)
