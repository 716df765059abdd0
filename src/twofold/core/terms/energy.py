"""The energy of the samples that the projections keep."""

from array_api_compat import array_namespace

from twofold.core.arrays import Array
from twofold.core.grams import Side, projected_trace
from twofold.core.state import SideState
from twofold.core.terms.term import Term


class Energy(Term):
    """- lambda_1 Tr(P' G_P P): the projections are drawn to directions of energy."""

    name = "energy"
    parameter = "energy_weight"
    sign = -1

    def value(
        self, side: Side, learned: SideState, coefficients: Array, *, filled: bool
    ) -> Array:
        """Return Tr(P' G_P P), the energy that P keeps.

        If entries are filled, the total energy changes, and the value is minus the
        energy that P loses; see ``missing.filling.fill``.
        """
        kept = projected_trace(side.inside(learned.projection), side.gram)
        if filled:
            return kept - array_namespace(side.gram).linalg.trace(side.gram)
        return kept

    def projection_part(self, side: Side, weight: Array) -> Array:
        """Return - lambda_1 G_P of Eq. (sol_P_pre)."""
        return -weight * side.gram
