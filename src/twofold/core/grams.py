"""Gram matrices and projections of one side."""

import math
from dataclasses import dataclass

from array_api_compat import array_namespace, device, is_numpy_array

from twofold.core.arrays import AnyArray, Array, Tensor, slices

_BLOCK_ENTRIES = 2**22
"""Maximum number of entries that are multiplied at once for a Gram matrix."""


@dataclass(frozen=True)
class Side:
    """The samples as one side of the model takes them; P acts on the d entries of rows.

    In NumPy the rows are a view of the samples, transposed for the left side.
    """

    rows: Array  # ([batch,] n, c, m, d)
    gram: Array  # ([batch,] d, d), G_P (or G_Q), the sum of X_i' X_i
    # Orthonormal basis ([batch,] w, d) of rows of length w; None if they are unchanged.
    basis: Array | None = None

    def inside(self, projection: Array) -> Array:
        """Write directions (batch, w, r) in the basis: (batch, d, r)."""
        if self.basis is None:
            return projection
        return array_namespace(projection).matrix_transpose(self.basis) @ projection

    def residual(self, coefficients: Array, centroids: Array) -> Array:
        """Compute ``residual_gram`` of V and of U (batch, k, c, m, w) on this side."""
        if self.basis is not None:
            centroids = centroids @ self.basis[..., None, None, :, :]
        return residual_gram(self.gram, coefficients, centroids)

    def outside(self, projection: Array) -> Array:
        """Invert ``inside``."""
        return projection if self.basis is None else self.basis @ projection


def both_ways(samples: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the samples of the left side, which are transposed, and of the right side.

    The step that gives P, Eq. (sol_P_pre), on the right side gives Q, Eq. (sol_Q_pre),
    on the left side.
    """
    return array_namespace(samples).matrix_transpose(samples), samples


def sample_rows(samples: AnyArray) -> AnyArray:
    """Stack the channels of every sample: (..., c h, w)."""
    *outer, channels, height, width = samples.shape
    return samples.reshape(*outer, channels * height, width)


def both_sides(
    samples: Array, n_directions: tuple[int, int] | None = None
) -> tuple[Side, Side]:
    """Return the left and the right side of samples ([batch,] n, c, h, w)."""
    left, right = both_ways(samples)
    r = n_directions or (None, None)
    return one_side(left, r[0]), one_side(right, r[1])


def one_side(samples: Array, n_directions: int | None = None) -> Side:
    """Return the side of the samples whose projection acts on their columns.

    n samples with m rows each span at most n m dimensions. In all other directions the
    samples are zero, and Eq. (sol_P_pre) cannot distinguish these directions; r of them
    are kept. Given r, longer rows are written in a basis of both: the eigenproblem
    shrinks, while every distance, product and objective stays the same.
    """
    *_, n, c, m, d = samples.shape
    basis = None
    if n_directions is not None and d > n * c * m + n_directions:
        basis = _row_basis(samples, n_directions)
        samples = samples @ basis[..., None, None, :, :]
    elif not is_numpy_array(samples):  # transposed tensors would be copied every time
        tensor: Tensor = samples
        samples = tensor.contiguous()
    return Side(samples, _gram(samples), basis)


def _row_basis(samples: Array, n_directions: int) -> Array:
    """Return an orthonormal basis ([batch,] d, b) of all rows and r more directions."""
    xp = array_namespace(samples)
    *outer, n, c, m, d = samples.shape
    flat = samples.reshape(*outer, n * c * m, d)
    # Columns of zeros make the QR add directions that are orthogonal to all rows.
    spare = xp.zeros_like(flat[..., :1, :])
    spare = xp.concat([spare] * n_directions, axis=-2)
    return xp.linalg.qr(xp.matrix_transpose(xp.concat([flat, spare], axis=-2)))[0]


def _gram(samples: Array) -> Array:
    """Compute G_P = sum_i X_i' X_i of samples ([batch,] n, c, m, d): ([batch,] d, d).

    The sum goes by blocks, since a transposed view is copied when it is multiplied.
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
    """Project rows ([batch,] n, c, m, d): X_i P, flattened, (batch, n, c m r).

    P P' is never formed: distances and inner products of X_i P P' are those of X_i P,
    which has only r columns.
    """
    *outer, n, c, m, d = rows.shape
    batch, _, r = projection.shape
    if is_numpy_array(rows) and not rows.flags.c_contiguous:
        # Sample by sample, which reads a transposed view without a copy.
        return (rows @ projection[:, None, None]).reshape(batch, n, c * m * r)
    flat = rows.reshape(*outer, n * c * m, d) @ projection
    return flat.reshape(batch, n, c * m * r)


def projected_trace(projection: Array, matrix: Array) -> Array:
    """Compute Tr(P' M P), Eq. (sub_P3), for P of shape (batch, d, r): (batch,).

    With M = sum_i Lambda_i' Lambda_i it is the residual
    ||v(X^(P)) - v(U^(P)) V'||^2. With M = G_P it is the energy that P keeps.
    """
    xp = array_namespace(projection)
    return xp.sum(projection * (matrix @ projection), axis=(1, 2))


def residual_gram(gram: Array, coefficients: Array, centroids: Array) -> Array:
    """Compute sum_i Lambda_i' Lambda_i of Eq. (sol_P_pre) without the samples.

    With S = V'V and U at its optimum, Eq. (update_u), the cross terms cancel and
    sum_i Lambda_i' Lambda_i = G_P - sum_jl S_jl U_j' U_l, for G_P ([batch,] d, d),
    V (batch, n, k) and U (batch, k, c, m, d): (batch, d, d).
    """
    xp = array_namespace(coefficients)
    batch, k, c, m, d = centroids.shape
    overlap = xp.matrix_transpose(coefficients) @ coefficients  # S
    # Two matrix products instead of the k^2 products U_j' U_l.
    stacked = centroids.reshape(batch, k * c * m, d)
    mixed = overlap @ stacked.reshape(batch, k, c * m * d)
    return gram - xp.matrix_transpose(stacked) @ mixed.reshape(batch, k * c * m, d)


def both_residuals(
    sides: tuple[Side, ...], coefficients: Array, centroids: Array
) -> tuple[Array, ...]:
    """Compute sum_i Lambda_i Lambda_i' (left) and sum_i Lambda_i' Lambda_i (right)."""
    return tuple(
        side.residual(coefficients, view)
        for side, view in zip(sides, both_ways(centroids), strict=True)
    )
