"""The share of the samples that the learned directions keep, with pictures."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from twofold.app.report.clustering import Clustering
from twofold.app.report.pictures import data_uri, picture_of
from twofold.app.report.schema import Count, Fraction, Part, Picture
from twofold.app.results import channels_of
from twofold.channels import PIXELS
from twofold.core.arrays import positive_or_one, to_numpy
from twofold.estimators.mapping import apply_bank
from twofold.estimators.reading import from_stack, to_stack
from twofold.estimators.scaling import sample_norms, scaled
from twofold.estimators.tsnmf import TSNMF

Side = Literal["left", "right", "both"]

_BLOCK = 1024
"""Number of samples that are projected at once."""


class Projection(Part, frozen=True):
    """Projection by Q, by P, or by both."""

    side: Side  # side from which the samples are projected
    picture: Picture  # the projected mean of the samples, or of their maps
    directions: list[Count]  # number of learned directions of each side
    many: list[Count]  # number of all directions of each side
    kept: Fraction  # mean share of the squared norm of a sample, or its maps


class Projections(Part, frozen=True):
    """Projections from the left, from the right, and from both sides."""

    mean: Picture  # the mean sample
    views: list[Projection]
    channels: str = PIXELS  # with others, all pictures are of the mean of their maps


def build_projections(clustering: Clustering) -> Projections:
    """Return the projections of the samples of a clustering."""
    return describe_projections(clustering.collection.images, clustering.model)


def describe_projections(images: np.ndarray, model: TSNMF) -> Projections:
    """Project samples (n, h, w[, c]) or (n, f) with the directions of a model.

    Where the model has a mapping, what is projected are the maps of the samples. Where
    it aligns images, they are aligned first.
    """
    left, right = to_numpy(model.left_projection_), to_numpy(model.right_projection_)
    sides: list[tuple[Side, np.ndarray | None, np.ndarray | None]]
    sides = [("left", left, None), ("right", None, right), ("both", left, right)]
    if len(right) == 1:  # vectors have a single column
        sides = sides[:1]
    mean, kept = _mean_and_kept(images, model, [pair for _, *pair in sides])
    shape = tuple(images.shape[1:])
    if model.state_.mapping is not None:  # the maps, summed, are one grey picture
        mean, shape = mean.sum(axis=1, keepdims=True), mean.shape[2:]
    low, high = float(mean.min()), float(mean.max())
    views = [
        Projection(
            side=side,
            picture=_picture(_project(mean, q, p), shape, low, high),
            directions=[m.shape[1] for m in (q, p) if m is not None],
            many=[len(m) for m in (q, p) if m is not None],
            kept=round(share, 4),
        )
        for (side, q, p), share in zip(sides, kept, strict=True)
    ]
    channels = channels_of(model)
    return Projections(_picture(mean, shape, low, high), views, channels)


def _mean_and_kept(
    images: np.ndarray, model: TSNMF, sides: list[Any]
) -> tuple[np.ndarray, list[float]]:
    """Return the mean (1, c, h, w) of what is projected, and what each side keeps.

    A side is a pair (Q, P). It keeps the mean of ||Q' X P||^2 / ||X||^2 over the
    samples that are not 0.
    """
    total: Any = 0.0
    shares: list[list[np.ndarray]] = [[] for _ in sides]
    for stack in _projected_blocks(images, model):
        total = total + stack.sum(axis=0, keepdims=True)
        norms = sample_norms(stack)
        unit = scaled(stack, positive_or_one(norms))  # tiny squares would vanish
        for (q, p), parts in zip(sides, shares, strict=True):
            part = (_project(unit, q, p) ** 2).sum(axis=(1, 2, 3))
            parts.append(part[norms > 0])
    every = [np.concatenate(parts) for parts in shares]
    return total / len(images), [float(e.mean()) if len(e) else 1.0 for e in every]


def _projected_blocks(images: np.ndarray, model: TSNMF) -> Iterator[np.ndarray]:
    """Yield the samples, or their maps, as blocks (m, c, h, w) of double precision."""
    mapping = model.state_.mapping
    shape = tuple(images.shape[1:]) if mapping is None else mapping.sample_shape
    for i in range(0, len(images), _BLOCK):
        block = images[i : i + _BLOCK]
        stack = to_stack(block.reshape(len(block), -1), shape).astype(np.float64)
        stack = to_numpy(model.state_.aligned(stack))
        if mapping is not None:
            stack = to_numpy(apply_bank(mapping.transformer, stack, shape))
        yield stack


def _project(
    stack: np.ndarray, left: np.ndarray | None, right: np.ndarray | None
) -> np.ndarray:
    """Return Q Q' X P P' for samples (n, c, h, w); a side that is None is left out."""
    if left is not None:
        stack = left @ (left.T @ stack)
    return stack if right is None else (stack @ right) @ right.T


def _picture(stack: np.ndarray, shape: tuple[int, ...], low: float, high: float) -> str:
    return data_uri(picture_of(from_stack(stack, shape)[0], low, high))
