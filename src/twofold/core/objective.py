"""The terms of Eq. (obj), one function each, and their total."""

from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.graphs.graph import Graph

TERMS = ("left_residual", "right_residual", "energy", "smoothness", "total")
"""What is recorded of every iteration."""


def projected_trace(projection: Array, matrix: Array) -> Array:
    """Tr(P' M P), Eq. (sub_P3), for every run.

    With M = sum_i Lambda_i' Lambda_i it is the residual term
    ||v(X^(P)) - v(U^(P)) V'||^2; with M = G_P it is the energy that P keeps.
    """
    xp = array_namespace(projection)
    return xp.sum(projection * (matrix @ projection), axis=(1, 2))


def smoothness(coefficients: Array, graph: Graph) -> Array:
    """Tr(V' L V) = Tr(V' D V) - Tr(V' W V), Eq. (manifold), for every run."""
    xp = array_namespace(coefficients)
    return xp.sum(coefficients * graph.laplacian(coefficients), axis=(1, 2))


def total(
    left_residual: Array,
    right_residual: Array,
    energy: Array,
    smoothness: Array,
    energy_weight: Array,
    graph_weight: Array,
) -> Array:
    """Eq. (obj): both residuals - lambda_1 energy + lambda_2 smoothness."""
    residuals = left_residual + right_residual
    return residuals - energy_weight * energy + graph_weight * smoothness
