"""Gram matrices and projections of one side."""

from dataclasses import dataclass

from array_api_compat import array_namespace

from twofold.core.arrays import Array


@dataclass(frozen=True)
class Side:
    """What one side of the model needs of the samples.

    Attributes
    ----------
    rows : array of shape (n, m, d)
        The rows of every sample; the projection acts on their d entries.
    gram : array of shape (d, d)
        G_P (or G_Q), the sum of X_i' X_i.
    """

    rows: Array
    gram: Array


def both_ways(samples: Array) -> tuple[Array, Array]:
    """The samples as the left side reads them, transposed, and as the right does.

    What gives P of Eq. (sol_P_pre) on the right gives Q of Eq. (sol_Q_pre) on the left.
    """
    return array_namespace(samples).matrix_transpose(samples), samples


def sample_rows(samples: Array) -> Array:
    """The rows of every sample, its channels one below the other: (..., c h, w)."""
    *outer, channels, height, width = samples.shape
    return samples.reshape(*outer, channels * height, width)


def both_sides(samples: Array) -> tuple[Side, Side]:
    """The left and the right side of the samples (n, c, h, w)."""
    left, right = both_ways(samples)
    return one_side(left), one_side(right)


def one_side(samples: Array) -> Side:
    """The side of the samples whose projection acts on their columns."""
    rows = sample_rows(samples)
    flat = rows.reshape(-1, rows.shape[-1])
    return Side(rows, flat.T @ flat)


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
    gram : array of shape (d, d)
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
