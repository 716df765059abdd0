"""The share of the samples that the learned directions keep, with pictures."""

from typing import Literal

import numpy as np

from twofold.app.report.clustering import Clustering
from twofold.app.report.pictures import data_uri, picture_of
from twofold.app.report.schema import Count, Fraction, Part, Picture
from twofold.core.arrays import positive_or_one, to_numpy
from twofold.estimators.reading import from_stack, to_stack
from twofold.estimators.scaling import sample_norms, scaled
from twofold.estimators.tsnmf import TSNMF

Side = Literal["left", "right", "both"]

_BLOCK = 1024
"""Number of samples that are projected at once."""


class Projection(Part, frozen=True):
    """Projection by Q, by P, or by both."""

    side: Side  # side from which the samples are projected
    picture: Picture  # the projected mean sample
    directions: list[Count]  # number of learned directions of each side
    many: list[Count]  # number of all directions of each side
    kept: Fraction  # mean share of the squared norm of a sample that remains


class Projections(Part, frozen=True):
    """Projections from the left, from the right, and from both sides."""

    mean: Picture  # the mean sample
    views: list[Projection]


def build_projections(clustering: Clustering) -> Projections:
    """Return the projections of the samples of a clustering."""
    return describe_projections(clustering.collection.images, clustering.model)


def describe_projections(images: np.ndarray, model: TSNMF) -> Projections:
    """Project samples (n, h, w[, c]) or (n, f) with the directions of a model."""
    shape = tuple(images.shape[1:])
    left, right = to_numpy(model.left_projection_), to_numpy(model.right_projection_)
    mean = to_stack(images.reshape(len(images), -1).mean(axis=0)[None], shape)
    sides: list[tuple[Side, np.ndarray | None, np.ndarray | None]]
    sides = [("left", left, None), ("right", None, right), ("both", left, right)]
    if len(right) == 1:  # vectors have a single column
        sides = sides[:1]
    low, high = float(mean.min()), float(mean.max())
    views = [
        Projection(
            side=side,
            picture=_picture(_project(mean, q, p), shape, low, high),
            directions=[m.shape[1] for m in (q, p) if m is not None],
            many=[len(m) for m in (q, p) if m is not None],
            kept=round(_kept_energy(images, shape, q, p), 4),
        )
        for side, q, p in sides
    ]
    return Projections(mean=_picture(mean, shape, low, high), views=views)


def _project(
    stack: np.ndarray, left: np.ndarray | None, right: np.ndarray | None
) -> np.ndarray:
    """Return Q Q' X P P' for samples (n, c, h, w); a side that is None is left out."""
    if left is not None:
        stack = left @ (left.T @ stack)
    return stack if right is None else (stack @ right) @ right.T


def _kept_energy(
    images: np.ndarray,
    shape: tuple[int, ...],
    left: np.ndarray | None,
    right: np.ndarray | None,
) -> float:
    """Return the mean of ||Q' X P||^2 / ||X||^2 over the samples that are not 0."""
    shares = []
    for i in range(0, len(images), _BLOCK):
        block = images[i : i + _BLOCK]
        stack = to_stack(block.reshape(len(block), -1), shape).astype(np.float64)
        norms = sample_norms(stack)
        unit = scaled(stack, positive_or_one(norms))  # tiny squares would vanish
        part = (_project(unit, left, right) ** 2).sum(axis=(1, 2, 3))
        shares.append(part[norms > 0])
    every = np.concatenate(shares)
    return float(every.mean()) if len(every) else 1.0


def _picture(stack: np.ndarray, shape: tuple[int, ...], low: float, high: float) -> str:
    return data_uri(picture_of(from_stack(stack, shape)[0], low, high))
