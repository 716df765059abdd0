"""Gram matrices and projections of one side."""

from dataclasses import dataclass

from array_api_compat import array_namespace

from twofold.core.arrays import Array


@dataclass(frozen=True)
class Side:
    """What one side of the model needs of the samples.

    Attributes
    ----------
    rows : array of shape (n, m, d) or (runs, n, m, d)
        The rows of every sample; the projection acts on their d entries.
    gram : array of shape (d, d) or (runs, d, d)
        G_P (or G_Q), the sum of X_i' X_i.
    basis : array of shape (w, d) or (runs, w, d), or None
        Orthonormal columns in which the rows, w long, are written; None where they
        are as they are.
    """

    rows: Array
    gram: Array
    basis: Array | None = None

    def inside(self, rows: Array) -> Array:
        """Other rows (..., w), those of centroids or of directions, in the basis."""
        return rows if self.basis is None else rows @ self.basis

    def outside(self, projection: Array) -> Array:
        """Directions (..., d, r) in the basis as directions (..., w, r) of the rows."""
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
    """The left and the right side of the samples ([runs,] n, c, h, w)."""
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
    xp = array_namespace(samples)
    rows = sample_rows(samples)
    *outer, n, m, d = rows.shape
    flat, basis = rows.reshape(*outer, n * m, d), None
    if n_directions is not None and d > n * m + n_directions:
        # Columns of zeros let the QR add directions that are orthogonal to all rows.
        spare = xp.zeros_like(flat[..., :1, :])
        spare = xp.concat([spare] * n_directions, axis=-2)
        columns = xp.matrix_transpose(xp.concat([flat, spare], axis=-2))
        basis = xp.linalg.qr(columns)[0]
        flat = flat @ basis
        rows = flat.reshape(*outer, n, m, flat.shape[-1])
    return Side(rows, xp.matrix_transpose(flat) @ flat, basis)


def project(rows: Array, projection: Array) -> Array:
    """The projected samples X_i P, flattened.

    P P' is never formed: distances and inner products of X_i P P' are those of
    X_i P, which has r columns only.

    Parameters
    ----------
    rows : array of shape (n, m, d) or (runs, n, m, d)
    projection : array of shape (runs, d, r)

    Returns
    -------
    array of shape (runs, n, m r)
    """
    *outer, n, m, d = rows.shape
    flat = rows.reshape(*outer, n * m, d) @ projection
    return flat.reshape(flat.shape[0], n, m * projection.shape[-1])


def residual_gram(gram: Array, coefficients: Array, centroid_rows: Array) -> Array:
    """sum_i Lambda_i' Lambda_i of Eq. (sol_P_pre), without a pass over the samples.

    With S = V'V and U at its optimum, Eq. (update_u), the cross terms cancel and
    sum_i Lambda_i' Lambda_i = G_P - sum_jl S_jl U_j' U_l.

    Parameters
    ----------
    gram : array of shape (d, d) or (runs, d, d)
    coefficients : array of shape (runs, n, k)
        V.
    centroid_rows : array of shape (runs, k, m, d)
        U.

    Returns
    -------
    array of shape (runs, d, d)
    """
    xp = array_namespace(coefficients)
    runs, k, m, d = centroid_rows.shape
    overlap = xp.matrix_transpose(coefficients) @ coefficients  # S
    mixed = overlap @ centroid_rows.reshape(runs, k, m * d)
    stacked = centroid_rows.reshape(runs, k * m, d)
    return gram - xp.matrix_transpose(stacked) @ mixed.reshape(runs, k * m, d)
