"""The bank that ``channels="auto"`` stands for, by a rule that reads the samples."""

import numpy as np

from twofold.channels.gradients import MIN_SIDE, OrientedGradients
from twofold.core.arrays import Array, positive_or_one, to_numpy

MAX_SAMPLES = 200
"""Number of samples that the rule needs."""

_SMOOTH = 0.3
"""Least correlation of neighbouring pixels, along either axis, in images."""

_FEW_PATTERNS, _MORE_IN_MAPS = 6.0, 2.0
"""Under changing light pixels vary in fewer patterns than the first, and gradients in
as many times more as the second.
"""

_ROUNDING = 100 * np.finfo(np.float64).eps
"""Largest rounding error of an entry of a sample of norm 1."""


def choose_bank(samples: Array) -> str:
    """Return the name of the bank for samples (n, c, h, w).

    Samples are images if neighbouring pixels are correlated along both axes: the
    columns of a table, or sensors side by side, come in any order. Images of one matte
    object under all lights lie near a subspace of three to nine dimensions. Where so
    few patterns make up the variation of the pixels, and gradients, which change less
    with the light, vary in more, the light is what changes most. Then fine gradients
    are taken, else coarse ones.
    """
    images = to_numpy(samples)
    if min(images.shape[2:]) < MIN_SIDE or not is_smooth(images):
        return "pixels"
    return "fine_gradients" if is_light(images) else "gradients"


def is_smooth(samples: np.ndarray) -> bool:
    """Return whether neighbouring pixels are correlated along both axes."""
    centred = _centred(samples).reshape(samples.shape)
    down = _correlation(centred[..., 1:, :], centred[..., :-1, :])
    across = _correlation(centred[..., 1:], centred[..., :-1])
    return min(down, across) >= _SMOOTH


def is_light(samples: np.ndarray) -> bool:
    """Return whether light is what changes most among images (n, c, h, w)."""
    patterns = n_patterns(samples)
    if patterns >= _FEW_PATTERNS:
        return False
    maps = OrientedGradients(pooling=1.0).transform(np.moveaxis(samples, 1, -1))
    return n_patterns(to_numpy(maps)) >= _MORE_IN_MAPS * patterns


def n_patterns(samples: np.ndarray) -> float:
    """Return the participation ratio of the principal components of samples (n, ...).

    It is (sum of the variances)^2 / sum of their squares: m if m components have all
    of the variance in equal parts.
    """
    centred = _centred(samples)
    gram = centred @ centred.T
    return float(np.trace(gram) ** 2 / positive_or_one(np.sum(gram**2)))


def _centred(samples: np.ndarray) -> np.ndarray:
    """Return samples of norm 1 less their mean, flat: (n, f)."""
    flat = samples.reshape(len(samples), -1).astype(np.float64)
    flat = flat / positive_or_one(np.abs(flat).max(axis=1, keepdims=True))
    unit = flat / positive_or_one(np.linalg.norm(flat, axis=1, keepdims=True))
    centred = unit - unit.mean(axis=0)
    # Of samples that are all the same, rounding errors are left: no pattern.
    return np.where(np.abs(centred) > _ROUNDING, centred, 0.0)


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    size = np.sqrt(np.sum(one**2) * np.sum(other**2))
    return float(np.sum(one * other) / positive_or_one(size))
