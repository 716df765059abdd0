"""The terms of Eq. (obj), one function each, and their total."""

from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.graph import Graph

TERMS = ("right_residual", "left_residual", "energy", "smoothness")


def projected_trace(projection: Array, matrix: Array) -> Array:
    """Tr(P' M P) for every run.

    With M = sum_i Lambda_i' Lambda_i it is the residual term
    ||v(X^(P)) - v(U^(P)) V'||^2; with M = G_P it is the energy that P keeps.
    """
    xp = array_namespace(projection)
    return xp.sum(projection * (matrix @ projection), axis=(1, 2))


def smoothness(coefficients: Array, graph: Graph) -> Array:
    """Tr(V' L V) = Tr(V' D V) - Tr(V' W V), Eq. (manifold), for every run."""
    xp = array_namespace(coefficients)
    laplacian_v = graph.degree() * coefficients - graph.product(coefficients)
    return xp.sum(coefficients * laplacian_v, axis=(1, 2))


def total(terms: dict[str, Array], energy_weight: Array, graph_weight: Array) -> Array:
    """Eq. (obj) from its terms: residuals - lambda_1 energy + lambda_2 smoothness."""
    residuals = terms["right_residual"] + terms["left_residual"]
    reward = energy_weight * terms["energy"]
    return residuals - reward + graph_weight * terms["smoothness"]
