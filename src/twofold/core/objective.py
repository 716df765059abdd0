"""The value of the objective, Eq. (obj)."""

from array_api_compat import array_namespace

from twofold.core.arrays import Array

RESIDUALS = ("left_residual", "right_residual")
"""Names of the residual terms, which have weight 1."""


def projected_trace(projection: Array, matrix: Array) -> Array:
    """Compute Tr(P' M P), Eq. (sub_P3), for P of shape (batch, d, r): (batch,).

    With M = sum_i Lambda_i' Lambda_i it is the residual
    ||v(X^(P)) - v(U^(P)) V'||^2. With M = G_P it is the energy that P keeps.
    """
    xp = array_namespace(projection)
    return xp.sum(projection * (matrix @ projection), axis=(1, 2))
