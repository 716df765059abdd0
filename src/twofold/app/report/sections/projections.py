"""The share of the samples that the learned directions keep, with pictures."""

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from twofold.app.report.clustering import Clustering
from twofold.app.report.pictures import data_uri, picture_of
from twofold.app.report.schema import Count, Fraction, Part, Picture
from twofold.app.results import channels_of
from twofold.channels import PIXELS
from twofold.core.arrays import positive_or_one, to_numpy
from twofold.estimators.mapping import apply_bank
from twofold.estimators.reading import from_stack, to_stack
from twofold.estimators.scaling import row_blocks, sample_norms, scaled
from twofold.estimators.tsnmf import TSNMF

Side = Literal["left", "right", "both"]

Pair = tuple[np.ndarray | None, np.ndarray | None]
"""The directions Q (h, r) of the rows and P (w, r) of the columns, or None."""


class Projection(Part, frozen=True):
    """Projection by Q, by P, or by both."""

    side: Side  # side from which the samples are projected
    picture: Picture  # the projected mean sample, or the energy of projected maps
    directions: list[Count]  # number of learned directions of each side
    many: list[Count]  # number of all directions of each side
    kept: Fraction  # mean share of the squared norm of a sample, or its maps


class Projections(Part, frozen=True):
    """Projections from the left, from the right, and from both sides."""

    mean: Picture  # the mean sample, or the energy of the maps
    views: list[Projection]
    channels: str = PIXELS  # those that are projected


def build_projections(clustering: Clustering) -> Projections:
    """Return the projections of the samples of a clustering."""
    return describe_projections(clustering.collection.samples, clustering.model)


def describe_projections(images: np.ndarray, model: TSNMF) -> Projections:
    """Project samples (n, h, w[, c]) or (n, f) with the directions of a model.

    Where the model has a mapping, what is projected are the maps of the samples. Where
    it aligns images, they are aligned first.
    """
    left, right = to_numpy(model.left_projection_), to_numpy(model.right_projection_)
    sides: list[tuple[Side, Pair]]
    sides = [("left", (left, None)), ("right", (None, right)), ("both", (left, right))]
    if len(right) == 1:  # vectors have a single column
        sides = sides[:1]
    pairs = [(None, None), *(pair for _, pair in sides)]
    mean, seen = _look(images, model, pairs)
    shape = tuple(images.shape[1:])
    low, high = float(mean.min()), float(mean.max())
    if model.state_.mapping is None and not _are_maps(shape):
        stacks = [_project(mean, pair) for pair in pairs]
        pictures = [_picture(stack, shape, low, high) for stack in stacks]
    else:
        # Directions may keep little of the mean, but much of what differs from it. The
        # mean over channels says nothing: they have either sign.
        lengths = [np.sqrt(each.energy) for each in seen]
        pictures = [data_uri(picture_of(a, 0.0, float(a.max()))) for a in lengths]
    views = [
        Projection(
            side=side,
            picture=picture,
            directions=[m.shape[1] for m in pair if m is not None],
            many=[len(m) for m in pair if m is not None],
            kept=round(each.kept, 4),
        )
        for (side, pair), picture, each in zip(
            sides, pictures[1:], seen[1:], strict=True
        )
    ]
    return Projections(pictures[0], views, channels_of(model))


def _are_maps(shape: tuple[int, ...]) -> bool:
    """Return whether samples are maps (h, w, c) of more channels than colours."""
    return len(shape) == 3 and shape[2] > 4


class _Seen(NamedTuple):
    """What a projection leaves of samples that are divided by their norms."""

    energy: np.ndarray  # (h, w), mean of the squares, summed over the channels
    kept: float  # mean of ||Q' X P||^2 / ||X||^2 over the samples that are not 0


def _look(
    images: np.ndarray, model: TSNMF, pairs: list[Pair]
) -> tuple[np.ndarray, list[_Seen]]:
    """Return the mean (1, c, h, w) of what is projected, and what each pair leaves."""
    total: Any = 0.0
    energies: list[Any] = [0.0] * len(pairs)
    count = 0  # of samples that are not 0
    for stack in _projected_blocks(images, model):
        total = total + stack.sum(axis=0, keepdims=True)
        norms = sample_norms(stack)
        unit = scaled(stack, positive_or_one(norms))  # tiny squares would vanish
        count += int((norms > 0).sum())
        for i, pair in enumerate(pairs):
            squares = _project(unit, pair) ** 2
            energies[i] = energies[i] + squares.sum(axis=(0, 1))
    means = [energy / max(count, 1) for energy in energies]
    kept = [float(min(mean.sum(), 1.0)) if count else 1.0 for mean in means]
    return total / len(images), list(map(_Seen, means, kept))


def _projected_blocks(images: np.ndarray, model: TSNMF) -> Iterator[np.ndarray]:
    """Yield the samples, or their maps, as blocks (m, c, h, w) of double precision."""
    mapping = model.state_.mapping
    shape = tuple(images.shape[1:]) if mapping is None else mapping.sample_shape
    for rows in row_blocks(len(images), math.prod(shape)):
        block = images[rows]
        stack = to_stack(block.reshape(len(block), -1), shape).astype(np.float64)
        stack = to_numpy(model.state_.aligned(stack))
        if mapping is not None:
            stack = to_numpy(apply_bank(mapping.transformer, stack, shape))
        yield stack


def _project(stack: np.ndarray, pair: Pair) -> np.ndarray:
    """Return Q Q' X P P' for samples (n, c, h, w); a side that is None is left out."""
    left, right = pair
    if left is not None:
        stack = left @ (left.T @ stack)
    return stack if right is None else (stack @ right) @ right.T


def _picture(stack: np.ndarray, shape: tuple[int, ...], low: float, high: float) -> str:
    return data_uri(picture_of(from_stack(stack, shape)[0], low, high))
