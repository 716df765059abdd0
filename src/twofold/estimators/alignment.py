"""The parameter ``align``: images that come shifted or turned are brought together."""

from twofold.channels.align import MAX_TURN, Alignment, fit_alignment
from twofold.channels.gradients import MIN_SIDE
from twofold.core.arrays import Array, to_numpy

SHIFTS = "shifts"
"""Value of ``align`` with which images are not turned."""


def check_images(shape: tuple[int, ...]) -> None:
    """Raise a ValueError for samples of a shape that cannot be aligned."""
    if len(shape) == 1 or min(shape[:2]) < MIN_SIDE:
        raise ValueError(
            f"align must be False unless samples are images of at least {MIN_SIDE} x "
            f"{MIN_SIDE} pixels, got samples of shape {shape}; leave it out, or set "
            "sample_shape if these are flat images"
        )


def learn_alignment(stack: Array, align: bool | str) -> Alignment:
    """Learn what images (n, c, h, w) are aligned to."""
    max_turn = 0.0 if align == SHIFTS else MAX_TURN
    return fit_alignment(to_numpy(stack), max_turn=max_turn)
