"""Assign new samples to the clusters of a saved model, block by block."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from twofold.app.checks import check_collection
from twofold.app.collection import (
    Collection,
    Source,
    kind_of,
    open_collection,
    read_collection,
)
from twofold.app.network import with_network
from twofold.app.origin import Origin
from twofold.app.results import Assignments, assign_blocks
from twofold.app.threads import suitable_threads
from twofold.estimators import load_model
from twofold.estimators.tsnmf import TSNMF
from twofold.io.arrays import unflatten
from twofold.io.staging import bring_back
from twofold.io.stored import StoredRows


class Placed(NamedTuple):
    """New samples, and for each block of them names, assignments and the nearest."""

    collection: Collection
    blocks: Iterator[tuple[Sequence[str], Assignments, list[str]]]


@contextmanager
def predicting(
    path: Path,
    source: Source,
    *,
    features: str | Path | None = None,
    network: str | None = None,
    key: str | None = None,
    max_memory: int | None = None,
    whole: bool = False,
) -> Iterator[Placed]:
    """Yield new samples with their assignments, as from ``predict``, by blocks.

    Unless the ``whole`` input is to be read first, the rows of an array file are read
    by blocks, too, if the file lets them: see ``open_collection``.
    """
    bring_back(path)
    bring_back(path.parent)  # the folder, if ``path`` is the file
    model, about = load_model(path)
    origin = Origin.from_dict(about, model)
    _check_kind(origin, model.sample_shape_, path, source, features)
    mapped = origin.network_features(path, network)
    reading = replace(origin.reading(model, key), max_memory=max_memory)
    with ExitStack() as stack:
        if whole or mapped is not None:
            collection = read_collection(source, reading, features=features)
        else:
            opened = open_collection(source, reading, features=features)
            collection = stack.enter_context(opened)
        if mapped is not None:
            images = _in_shape(collection.images, origin.images or (), origin.order)
            collection = with_network(replace(collection, images=images), mapped)
        collection = _fitting(collection, model, origin.order)
        given = (
            f"samples of {source}" if features is None else f"features in {features}"
        )
        _check_shape(given, collection.samples.shape[1:], model.sample_shape_, path)
        check_collection(collection, model.missing_values, fitted=False)
        stack.enter_context(suitable_threads(len(collection.samples)))
        blocks = _placed(collection, model, origin)
        # The first one is computed here: what is wrong is said before any table.
        yield Placed(collection, chain([next(blocks)], blocks))


def _fitting(collection: Collection, model: TSNMF, order: str) -> Collection:
    """Return a collection whose samples have the shape that a model has for them."""
    shape = model.sample_shape_
    if collection.features is not None:
        features = _in_shape(collection.features, shape, "C")
        return replace(collection, features=features)
    return replace(collection, images=_in_shape(collection.images, shape, order))


def _placed(
    collection: Collection, model: TSNMF, origin: Origin
) -> Iterator[tuple[Sequence[str], Assignments, list[str]]]:
    """Yield the blocks of ``Placed``."""
    for block, found in assign_blocks(model, collection.samples):
        yield collection.names[block], found, origin.nearest(model, found)


def _check_kind(
    origin: Origin,
    shape: tuple[int, ...],
    path: Path,
    source: Source,
    features: str | Path | None,
) -> None:
    """Raise a ValueError unless a model takes what is given: images or features."""
    own = origin.images is not None and origin.network is None
    if own and features is None:
        raise ValueError(
            f"features must be given for the model in {path}, which was fitted to "
            f"features of {_shown_shape(shape)} and not to images; name their file"
        )
    if not own and features is not None:
        what = "the samples themselves" if origin.network is None else "a network's"
        raise ValueError(
            f"features must be left out for the model in {path}, which was fitted to "
            f"{what}, got {features}"
        )
    if features is None and len(shape) == 1 and kind_of(source) == "images":
        raise ValueError(
            f"the model in {path} takes vectors of {shape[0]} entries, not images; "
            "name an array file"
        )


def _check_shape(
    given: str, found: tuple[int, ...], shape: tuple[int, ...], path: Path
) -> None:
    """Raise a ValueError unless samples have the shape that a model has for them."""
    if found != shape:
        raise ValueError(
            f"{given} must be {_shown_shape(shape)} for the model in {path}, got "
            f"{_shown_shape(found)}"
        )


def _in_shape(rows: Any, shape: Sequence[int], order: str) -> Any:
    """Return flat rows in the shape that a model has for them, and others as they are.

    They do not need --sample-shape again.
    """
    if len(rows.shape) != 2 or rows.shape[1] != math.prod(shape):
        return rows
    if isinstance(rows, StoredRows):
        return rows.changed(lambda some: unflatten(some, tuple(shape), order))
    return unflatten(rows, tuple(shape), order)


def _shown_shape(shape: tuple[int, ...]) -> str:
    """Return a shape as a message shows it, such as 48 x 64."""
    return " x ".join(map(str, shape))
