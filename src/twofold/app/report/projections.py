"""What the learned directions keep of the samples, as pictures and as numbers."""

from typing import Any

import numpy as np

from twofold.app.report.pictures import data_uri, picture_of
from twofold.core.arrays import to_numpy
from twofold.estimators.reading import from_stack, to_stack
from twofold.estimators.tsnmf import TSNMF

_BLOCK = 1024


def projections(images: np.ndarray, model: TSNMF) -> dict[str, Any]:
    """The mean image as Q, P and both see it, and the energy that each keeps.

    Parameters
    ----------
    images : ndarray of shape (n, h, w), (n, h, w, c) or (n, f)
    model : TSNMF
        Fitted to them.

    Returns
    -------
    dict
        ``mean``: a picture of it. ``views``: for "left", "right" and "both" the
        ``picture``, the numbers of ``directions``, of how ``many``, and the part of
        the energy that is ``kept``, a mean over the images.
    """
    shape = tuple(images.shape[1:])
    left, right = to_numpy(model.left_projection_), to_numpy(model.right_projection_)
    mean = to_stack(images.reshape(len(images), -1).mean(axis=0)[None], shape)
    sides = [("left", left, None), ("right", None, right), ("both", left, right)]
    if len(right) == 1:  # vectors have no columns to choose from
        sides = sides[:1]
    low, high = float(mean.min()), float(mean.max())
    views = [
        {
            "side": side,
            "picture": _picture(_seen(mean, q, p), shape, low, high),
            "directions": [m.shape[1] for m in (q, p) if m is not None],
            "many": [len(m) for m in (q, p) if m is not None],
            "kept": round(_kept(images, shape, q, p), 4),
        }
        for side, q, p in sides
    ]
    return {"mean": _picture(mean, shape, low, high), "views": views}


def _seen(
    stack: np.ndarray, left: np.ndarray | None, right: np.ndarray | None
) -> np.ndarray:
    """Q Q' X P P' of samples (n, c, h, w), or but one side of it."""
    if left is not None:
        stack = left @ (left.T @ stack)
    return stack if right is None else (stack @ right) @ right.T


def _kept(
    images: np.ndarray,
    shape: tuple[int, ...],
    left: np.ndarray | None,
    right: np.ndarray | None,
) -> float:
    """The mean over the samples of ||Q' X P||^2 / ||X||^2."""
    shares = []
    for i in range(0, len(images), _BLOCK):
        block = images[i : i + _BLOCK]
        stack = to_stack(block.reshape(len(block), -1), shape).astype(np.float64)
        whole = (stack**2).sum(axis=(1, 2, 3))
        part = (_seen(stack, left, right) ** 2).sum(axis=(1, 2, 3))
        shares.append(part[whole > 0] / whole[whole > 0])
    found = np.concatenate(shares)
    return float(found.mean()) if len(found) else 1.0


def _picture(stack: np.ndarray, shape: tuple[int, ...], low: float, high: float) -> str:
    return data_uri(picture_of(from_stack(stack, shape)[0], low, high))
