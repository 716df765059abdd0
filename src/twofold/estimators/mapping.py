"""The channels in which samples are factorised: their own, or the maps of a bank."""

import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from sklearn.base import clone

from twofold.channels import BANKS, PIXELS, Bank
from twofold.channels.choice import MAX_SAMPLES, choose_bank
from twofold.core.arrays import Array, like, take
from twofold.estimators.given import GivenSamples
from twofold.estimators.reading import check_entries, from_stack, to_stack
from twofold.estimators.scaling import (
    divisors,
    new_divisors,
    sample_norms,
    scaled,
    typical_norm,
)


@dataclass(frozen=True)
class Mapping:
    """A fitted bank, which maps samples before they are scaled and factorised."""

    transformer: Any  # of stacks, (m, h, w[, c]) to (m, h', w'[, maps])
    sample_shape: tuple[int, ...]  # of the samples that it takes
    map_shape: tuple[int, int, int]  # (maps, h', w') of what it returns
    scale: str  # "sample" or "global"
    typical_norm: float  # root mean square norm of the mapped training samples

    def new_samples(self, stack: Array, dtype: Any) -> Array:
        """Map and scale new samples (m, c, h, w), in the unit of the pixels."""
        # A copy, since a transformer may work in place, and this may be the user's.
        stack = array_namespace(stack).asarray(stack, copy=True)
        maps = apply_bank(self.transformer, stack, self.sample_shape)
        if tuple(maps.shape[1:]) != self.map_shape:
            raise ValueError(
                f"channels must map new samples to {self.map_shape}, as in the fit, "
                f"got {tuple(maps.shape[1:])}"
            )
        divisor = new_divisors(maps, self.scale, self.typical_norm, dtype)
        return scaled(maps, divisor)


def bank_of(channels: Any, given: GivenSamples) -> Bank:
    """Return the bank that the parameter ``channels`` stands for."""
    if not isinstance(channels, str):
        return Bank(channels)
    if channels != "auto":
        return BANKS[channels]
    if len(given.shape) == 1:
        return BANKS[PIXELS]
    n = len(given.first)
    some = np.unique(np.linspace(0, n - 1, min(n, MAX_SAMPLES)).astype(int))
    return BANKS[choose_bank(take(given.stack, given.first[some]))]


def channels_of(mapping: Mapping | None) -> Any:
    """Return the name of the bank that maps samples, or else its transformer."""
    if mapping is None:
        return PIXELS
    own = mapping.transformer
    same = (
        name
        for name, bank in BANKS.items()
        if type(bank.transformer) is type(own)
        and bank.transformer.get_params() == own.get_params()
    )
    return next(same, own)


def map_samples(bank: Bank, given: GivenSamples) -> tuple[Array, Mapping | None]:
    """Return the samples (rows, maps, h', w') that are factorised, scaled.

    Also return the mapping for new samples, None if the samples are left as they are.
    """
    if bank.transformer is None:
        return given.scaled, None
    rows, shape = given.rows, given.shape
    transformer = clone(bank.transformer)
    transformer.fit(_images(rows, shape))
    maps = apply_bank(transformer, rows, shape)
    del rows  # a copy, which a large stack has no room for
    norms = sample_norms(maps)
    # The typical norm is that of all samples, each copy being one.
    typical = typical_norm(given.copies.expanded(norms))
    maps = scaled(maps, divisors(norms, given.scale, typical))
    _, n_maps, height, width = maps.shape
    map_shape = n_maps, height, width
    return maps, Mapping(transformer, shape, map_shape, given.scale, typical)


def _images(stack: Array, shape: tuple[int, ...]) -> Array:
    """Return samples (m, c, h, w) as transformers of stacks take them."""
    if len(shape) == 1:
        raise ValueError(
            f"channels must be 'pixels' for flat samples, here of {shape[0]} entries; "
            "set sample_shape if they are matrices"
        )
    return from_stack(stack, shape)


def apply_bank(transformer: Any, stack: Array, shape: tuple[int, ...]) -> Array:
    """Map samples (m, c, h, w) to (m, maps, h', w') in their own precision."""
    found = transformer.transform(_images(stack, shape))
    expected = f"map {len(stack)} samples to real (n, h, w) or (n, h, w, maps)"
    try:
        found = found if is_torch_array(found) else np.asarray(found)
        xp = array_namespace(found)
        real = xp.isdtype(found.dtype, ("bool", "integral", "real floating"))
    except (TypeError, ValueError) as error:  # rows of several lengths, or no numbers
        reason = str(error).partition("\n")[0]
        raise ValueError(f"channels must {expected}, but {reason}") from error
    fits = found.ndim in (3, 4) and len(found) == len(stack) and 0 not in found.shape
    if not (real and fits):
        raise ValueError(
            f"channels must {expected}, got {found.dtype} of {tuple(found.shape)} from "
            f"{reprlib.repr(transformer)}"
        )
    maps = like(found, stack)
    n, *map_shape = maps.shape
    flat = maps.reshape(n, -1)
    check_entries(flat, "what channels returns")
    return to_stack(flat, tuple(map_shape))
