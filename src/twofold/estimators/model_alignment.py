"""The alignment in a model file: its arrays and its facts."""

from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct, structs

from twofold.channels.align import Alignment
from twofold.estimators.alignment import check_images

_ARRAYS = ("maps", "mean", "darkest")

_ROUNDING = 1e-3
"""Largest deviation of the norm of maps from 1."""

Correlation = Annotated[float, Meta(ge=0, le=1)]


class AlignmentFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """Fields of an ``Alignment`` that are no arrays."""

    max_shift: Annotated[int, Meta(ge=0)]
    max_turn: Annotated[float, Meta(ge=0, le=180)]
    before: Correlation
    after: Correlation

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise a ValueError unless samples of a shape can be moved like this."""
        check_images(shape)
        longer = max(shape[:2])
        if self.max_shift > longer:
            raise ValueError(
                f"max_shift must be at most {longer} for samples of {shape}, got "
                f"{self.max_shift}"
            )

    def make(self, arrays: dict[str, np.ndarray]) -> Alignment:
        """Return the alignment with the checked arrays of a file."""
        own: dict[str, Any] = {name: arrays[f"alignment.{name}"] for name in _ARRAYS}
        return Alignment(**own, **structs.asdict(self))


def alignment_facts(alignment: Alignment | None) -> dict[str, Any] | None:
    """Return the fields of an ``AlignmentFacts``, or None if nothing was aligned."""
    if alignment is None:
        return None
    return {name: getattr(alignment, name) for name in AlignmentFacts.__struct_fields__}


def alignment_arrays(alignment: Alignment | None) -> dict[str, np.ndarray]:
    """Return the arrays of an alignment, by their names in a file."""
    if alignment is None:
        return {}
    return {f"alignment.{name}": getattr(alignment, name) for name in _ARRAYS}


def check_maps(maps: np.ndarray) -> None:
    """Raise a ValueError unless the reference maps have norm 1, or are 0."""
    norm = float(np.sqrt(np.sum(maps.astype(np.float64) ** 2)))
    if norm > 0 and abs(norm - 1) > _ROUNDING:
        raise ValueError(f"alignment.maps must have norm 1 or 0, got {norm:.3g}")
