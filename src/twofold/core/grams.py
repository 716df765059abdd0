"""Gram matrices and projections of one side."""

import math
from dataclasses import dataclass

from array_api_compat import array_namespace, device, is_numpy_array

from twofold.core.arrays import Array, slices

_BLOCK_ENTRIES = 2**22
"""Entries of samples that are multiplied at once for a Gram matrix."""


@dataclass(frozen=True)
class Side:
    """What one side of the model needs of the samples.

    Attributes
    ----------
    rows : array of shape (n, c, m, d) or (batch, n, c, m, d)
        The rows of every sample; the projection acts on their d entries. In NumPy
        they are a view of the samples, transposed on the left.
    gram : array of shape (d, d) or (batch, d, d)
        G_P (or G_Q), the sum of X_i' X_i.
    basis : array of shape (w, d) or (batch, w, d), or None
        Orthonormal columns in which the rows, w long, are written; None where they
        are as they are.
    """

    rows: Array
    gram: Array
    basis: Array | None = None

    def inside(self, projection: Array) -> Array:
        """Directions (batch, w, r) of the rows as (batch, d, r) in the basis."""
        if self.basis is None:
            return projection
        return array_namespace(projection).matrix_transpose(self.basis) @ projection

    def residual(self, coefficients: Array, centroids: Array) -> Array:
        """``residual_gram`` of V and of U (batch, k, c, m, w) as this side reads it."""
        if self.basis is not None:
            centroids = centroids @ self.basis[..., None, None, :, :]
        return residual_gram(self.gram, coefficients, centroids)

    def outside(self, projection: Array) -> Array:
        """The inverse of ``inside``."""
        return projection if self.basis is None else self.basis @ projection


def both_ways(samples: Array) -> tuple[Array, Array]:
    """The samples as the left side reads them, transposed, and as the right does.

    What gives P of Eq. (sol_P_pre) on the right gives Q of Eq. (sol_Q_pre) on the left.
    """
    return array_namespace(samples).matrix_transpose(samples), samples


def sample_rows(samples: Array) -> Array:
    """The rows of every sample, its channels one below the other: (..., c h, w)."""
    *outer, channels, height, width = samples.shape
    return samples.reshape(*outer, channels * height, width)


def both_sides(
    samples: Array, n_directions: tuple[int, int] | None = None
) -> tuple[Side, Side]:
    """The left and the right side of the samples ([batch,] n, c, h, w)."""
    left, right = both_ways(samples)
    r = n_directions or (None, None)
    return one_side(left, r[0]), one_side(right, r[1])


def one_side(samples: Array, n_directions: int | None = None) -> Side:
    """The side of the samples whose projection acts on their columns.

    n samples with m rows each span at most n m dimensions. Eq. (sol_P_pre) can tell
    apart only these and the directions in which all samples are zero, r of which are
    kept. Given r, rows that are longer than that are written in a basis of both: the
    eigenproblem shrinks, while every distance, product and objective stays the same.
    """
    *_, n, c, m, d = samples.shape
    basis = None
    if n_directions is not None and d > n * c * m + n_directions:
        basis = _row_basis(samples, n_directions)
        samples = samples @ basis[..., None, None, :, :]
    elif not is_numpy_array(samples):  # transposed tensors would be copied every time
        samples = samples.contiguous()
    return Side(samples, _gram(samples), basis)


def _row_basis(samples: Array, n_directions: int) -> Array:
    """Orthonormal columns ([batch,] d, b) that span all rows, and r more."""
    xp = array_namespace(samples)
    *outer, n, c, m, d = samples.shape
    flat = samples.reshape(*outer, n * c * m, d)
    # Columns of zeros let the QR add directions that are orthogonal to all rows.
    spare = xp.zeros_like(flat[..., :1, :])
    spare = xp.concat([spare] * n_directions, axis=-2)
    return xp.linalg.qr(xp.matrix_transpose(xp.concat([flat, spare], axis=-2)))[0]


def _gram(samples: Array) -> Array:
    """G_P = sum_i X_i' X_i of samples ([batch,] n, c, m, d): ([batch,] d, d).

    By blocks: a transposed view is copied where it is multiplied.
    """
    xp = array_namespace(samples)
    *outer, n, c, m, d = samples.shape
    gram = xp.zeros((*outer, d, d), dtype=samples.dtype, device=device(samples))
    for part in slices(n, _BLOCK_ENTRIES // (c * m * d * math.prod(outer))):
        block = samples[..., part, :, :, :]
        flat = block.reshape(*outer, block.shape[-4] * c * m, d)
        gram = gram + xp.matrix_transpose(flat) @ flat
    return gram


def project(rows: Array, projection: Array) -> Array:
    """The projected samples X_i P, flattened.

    P P' is never formed: distances and inner products of X_i P P' are those of
    X_i P, which has r columns only.

    Parameters
    ----------
    rows : array of shape (n, c, m, d) or (batch, n, c, m, d)
    projection : array of shape (batch, d, r)

    Returns
    -------
    array of shape (batch, n, c m r)
    """
    *outer, n, c, m, d = rows.shape
    batch, _, r = projection.shape
    if is_numpy_array(rows) and not rows.flags.c_contiguous:
        # Sample by sample, which reads a transposed view as it is.
        return (rows @ projection[:, None, None]).reshape(batch, n, c * m * r)
    flat = rows.reshape(*outer, n * c * m, d) @ projection
    return flat.reshape(batch, n, c * m * r)


def residual_gram(gram: Array, coefficients: Array, centroids: Array) -> Array:
    """sum_i Lambda_i' Lambda_i of Eq. (sol_P_pre), without a pass over the samples.

    With S = V'V and U at its optimum, Eq. (update_u), the cross terms cancel and
    sum_i Lambda_i' Lambda_i = G_P - sum_jl S_jl U_j' U_l.

    Parameters
    ----------
    gram : array of shape (d, d) or (batch, d, d)
    coefficients : array of shape (batch, n, k)
        V.
    centroids : array of shape (batch, k, c, m, d)
        U.

    Returns
    -------
    array of shape (batch, d, d)
    """
    xp = array_namespace(coefficients)
    batch, k, c, m, d = centroids.shape
    overlap = xp.matrix_transpose(coefficients) @ coefficients  # S
    stacked = centroids.reshape(batch, k * c * m, d)
    mixed = overlap @ stacked.reshape(batch, k, c * m * d)
    return gram - xp.matrix_transpose(stacked) @ mixed.reshape(batch, k * c * m, d)


def both_residuals(
    sides: tuple[Side, ...], coefficients: Array, centroids: Array
) -> tuple[Array, ...]:
    """sum_i Lambda_i Lambda_i' of the left side and sum_i Lambda_i' Lambda_i."""
    return tuple(
        side.residual(coefficients, view)
        for side, view in zip(sides, both_ways(centroids), strict=True)
    )
