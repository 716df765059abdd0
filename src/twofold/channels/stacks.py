"""Stacks of images, as transformers of channels take them."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array

from twofold.core.arrays import Array


def read_images(X: Any, min_side: int = 1, *, as_floats: bool = True) -> Array:
    """Read images (n, h, w) or (n, h, w, c) as floats (n, c, h, w).

    Raise a ValueError unless they are finite, and each side has ``min_side`` pixels.
    Unless ``as_floats``, NumPy's integers stay what they are: floats take more memory.
    """
    numpy = not is_torch_array(X)
    if numpy:
        kinds: Any = (np.float64, np.float32) if as_floats else "numeric"
        X = check_array(X, dtype=kinds, ensure_2d=False, allow_nd=True, input_name="X")
    xp = array_namespace(X)
    if X.ndim not in (3, 4) or min(X.shape[1:3]) < min_side or 0 in X.shape:
        raise ValueError(
            "X must be images of shape (n, h, w) or (n, h, w, c), of at least "
            f"{min_side} x {min_side} pixels, got {tuple(X.shape)}; take them as they "
            "are, channels='pixels'"
        )
    if not xp.isdtype(X.dtype, "real floating") and (as_floats or not numpy):
        X = xp.astype(X, xp.float64)
    if not numpy and not bool(xp.all(xp.isfinite(X))):
        raise ValueError("X must be finite, got NaN or infinity; fill them first")
    return xp.permute_dims(X.reshape(*X.shape[:3], -1), (0, 3, 1, 2))


class StackTransformer(TransformerMixin, BaseEstimator):
    """A transformer of stacks (n, h, w[, c]) that learns nothing from them."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags
