"""The overlap of the clusters: coefficients that a sample has in several of them."""

import numpy as np
from array_api_compat import array_namespace, device

from twofold.core.arrays import Array, to_numpy
from twofold.core.grams import Side
from twofold.core.graphs.graph import Graph
from twofold.core.state import SideState
from twofold.core.terms.term import Term


class Overlap(Term):
    """lambda_3 sum_i sum_(j != l) v_ij v_il: every sample is drawn to one cluster.

    Without it, the smoothness makes the columns of V ever more alike, while U grows
    and makes up for that: the residuals stay low, and the clusters are lost.
    """

    name = "overlap"
    parameter = "overlap_weight"
    holds_scale = True

    def value(
        self, side: Side, learned: SideState, coefficients: Array, *, filled: bool
    ) -> Array:
        """Return the overlap, which is the same for both sides."""
        return overlap(coefficients)

    def coefficient_parts(
        self, coefficients: Array, graph: Graph | None, weight: Array | float
    ) -> tuple[Array, Array] | None:
        """Return 0 and lambda_3 times the sum of the other coefficients of a row."""
        xp = array_namespace(coefficients)
        if not np.any(to_numpy(xp.asarray(weight))):
            return None  # the default, which costs nothing
        others = xp.sum(coefficients, axis=-1, keepdims=True) - coefficients
        # Rounding must not make a sum of positive numbers negative.
        others = xp.clip(others, min=0.0)
        return xp.zeros_like(others), weight * others

    def new_row_matrix(self, coefficients: Array, weight: float) -> Array:
        """Return lambda_3 (1 1' - I) of v' (1 1' - I) v, the overlap of a row v."""
        xp, k = array_namespace(coefficients), coefficients.shape[-1]
        where = {"dtype": coefficients.dtype, "device": device(coefficients)}
        return weight * (xp.ones((k, k), **where) - xp.eye(k, **where))


def overlap(coefficients: Array) -> Array:
    """Compute sum_i sum_(j != l) v_ij v_il of V (batch, n, k), Eq. (overlap): (batch,).

    It is the sum over the rows of (v'1)^2 - v'v.
    """
    xp = array_namespace(coefficients)
    sums = xp.sum(coefficients, axis=-1)
    return xp.sum(sums**2, axis=-1) - xp.sum(coefficients**2, axis=(-2, -1))
