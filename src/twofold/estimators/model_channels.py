"""Channels in a model file: transformers by the names of their classes.

Only the classes of ``BANKS`` are made when a file is read, with parameters that they
have checked themselves. Nothing is unpickled.
"""

import math
import reprlib
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from twofold.channels import BANKS
from twofold.channels.network import NetworkError
from twofold.estimators.mapping import Mapping, apply_bank
from twofold.estimators.reading import from_stack, to_stack

Size = Annotated[int, Meta(ge=1)]


def _kinds() -> dict[str, type]:
    """Return the classes of the transformers that a file may name."""
    found = (type(bank.transformer) for bank in BANKS.values() if bank.transformer)
    return {kind.__name__: kind for kind in found}


class Transformer(Struct, frozen=True, forbid_unknown_fields=True):
    """A transformer of stacks, as a file has it."""

    name: str  # of its class
    parameters: dict[str, str | bool | int | float | None]

    def __post_init__(self) -> None:
        """Check the name, and the parameters as the class does."""
        self.make()

    def make(self) -> Any:
        """Return a new transformer."""
        kinds = _kinds()
        if self.name not in kinds:
            raise ValueError(
                f"name must be one of {', '.join(kinds)}, got {reprlib.repr(self.name)}"
            )
        transformer: Any = kinds[self.name](**self.parameters)
        transformer._validate_params()
        _check_storable(transformer)
        defaults = _machine_parameters(transformer)
        if {name: getattr(transformer, name) for name in defaults} != defaults:
            raise ValueError(f"parameters must leave {', '.join(defaults)} out")
        return transformer


class MappingFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts of a ``Mapping`` that are not those of the whole fit."""

    transformer: Transformer
    map_shape: tuple[Size, Size, Size]  # (maps, h', w')
    typical_norm: Annotated[float, Meta(gt=0)]
    weights: str | None = None  # SHA-256 of those of a network

    def make(self, sample_shape: tuple[int, ...], scale: str) -> Mapping:
        """Return the mapping of samples; its maps must have the shape in the file."""
        # Nothing is learned by the transformers of BANKS, so that any sample will do.
        blank = np.zeros((1, math.prod(sample_shape)))
        stack = to_stack(blank, sample_shape)
        transformer = self.transformer.make()
        self._check_weights(transformer)
        transformer.fit(from_stack(stack, sample_shape))
        found = tuple(apply_bank(transformer, stack, sample_shape).shape[1:])
        if found != self.map_shape:
            raise ValueError(
                f"map_shape must be {found} for samples of {sample_shape}, got "
                f"{self.map_shape}"
            )
        shapes = sample_shape, self.map_shape
        return Mapping(transformer, *shapes, scale, self.typical_norm)

    def _check_weights(self, transformer: Any) -> None:
        """Raise an error unless a network has the weights that it was fitted with."""
        found = _weights(transformer)
        if found != self.weights:
            there, here = ((text or "none")[:12] for text in (self.weights, found))
            facts = self.transformer
            name = reprlib.repr(facts.parameters.get("network", facts.name))
            raise NetworkError(
                f"was made with weights {there!r} (SHA-256) of {name}, but those here "
                f"are {here!r}; install the same version, or fit the model again"
            )


def _check_storable(transformer: Any) -> None:
    """Raise what a transformer raises that no file may hold."""
    check = getattr(transformer, "check_storable", None)
    if check is not None:
        check()


def _weights(transformer: Any) -> str | None:
    """Return the digest of the weights of a network, or None if there are none."""
    digest = getattr(transformer, "weights_digest", None)
    return None if digest is None else digest()


def _machine_parameters(transformer: Any) -> dict[str, Any]:
    """Return the defaults of parameters that belong to a machine, not to a model."""
    names = getattr(transformer, "kept_out_of_files", ())
    defaults = type(transformer)().get_params(deep=False)
    return {name: defaults[name] for name in names}


def check_channels(channels: Any) -> None:
    """Raise a ValueError for channels that no file can hold without pickling."""
    if not isinstance(channels, str) and type(channels) not in _kinds().values():
        raise ValueError(
            "model: its channels must be a name or one of "
            f"{', '.join(_kinds())} to be saved without pickling, got "
            f"{type(channels).__name__}; transform X first, and fit "
            'TSNMF(channels="pixels") to the maps'
        )
    _check_storable(channels)


def transformer_facts(transformer: Any) -> dict[str, Any]:
    """Return the fields of a ``Transformer``."""
    parameters = transformer.get_params(deep=False) | _machine_parameters(transformer)
    return {"name": type(transformer).__name__, "parameters": parameters}


def mapping_facts(mapping: Mapping | None) -> dict[str, Any] | None:
    """Return the fields of a ``MappingFacts``, or None for pixels."""
    if mapping is None:
        return None
    weights = _weights(mapping.transformer)
    return {
        "transformer": transformer_facts(mapping.transformer),
        "map_shape": list(mapping.map_shape),
        "typical_norm": float(mapping.typical_norm),
        **({} if weights is None else {"weights": weights}),
    }
