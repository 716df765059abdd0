"""The smoothness of the coefficients on the graphs."""

from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.grams import Side
from twofold.core.graphs.graph import Edges, Graph
from twofold.core.state import SideState
from twofold.core.terms.term import Term


class Smoothness(Term):
    """lambda_2 Tr(V' L V): neighbours are drawn to similar coefficients."""

    name = "smoothness"
    parameter = "graph_weight"

    def value(
        self, side: Side, learned: SideState, coefficients: Array, *, filled: bool
    ) -> Array:
        """Return Tr(V' L V) on the graph of one side."""
        return smoothness(coefficients, learned.graph)

    def coefficient_parts(
        self, coefficients: Array, graph: Graph | None, weight: Array | float
    ) -> tuple[Array, Array] | None:
        """Return lambda_2 W V and lambda_2 D V of Eq. (update_v)."""
        if graph is None:
            return None
        product = weight * graph.product(coefficients)
        return product, weight * graph.degree * coefficients

    def new_row_parts(
        self, edges: Edges, coefficients: Array, weight: float
    ) -> tuple[Array, Array]:
        """Return lambda_2 times the degree, and the weighted sum over neighbours."""
        return weight * edges.degree, weight * edges.sums(coefficients)


def smoothness(coefficients: Array, graph: Graph) -> Array:
    """Compute Tr(V' L V) = Tr(V' D V) - Tr(V' W V), Eq. (manifold): (batch,)."""
    xp = array_namespace(coefficients)
    return xp.sum(coefficients * graph.laplacian(coefficients), axis=(1, 2))
