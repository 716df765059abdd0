"""What a term of the objective has to define: ``Term``."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from twofold.core.arrays import Array
from twofold.core.grams import Side
from twofold.core.graphs.graph import Edges, Graph
from twofold.core.state import SideState

Weights = dict[str, Any]
"""Weights of the terms by parameter name.

Arrays of shape (batch, 1, 1) in a fit of TSNMF, and floats in ``factorize``.
"""


class Term(ABC):
    """A term ``sign * weight * value`` of the objective, summed over both sides.

    A term overrides the methods of the blocks that it acts on: P and Q, V, or the
    coefficients of new samples. Every method takes what belongs to one side, so that a
    term in V alone counts once for each side. V is on the scale of the fit, before
    Eq. (adjust): a term that depends on its scale can be lowered by shrinking V and
    growing U, unless it holds the scale. The step of the missing entries,
    ``missing.filling.fill``, knows the residuals and the energy alone; a term must not
    depend on the samples otherwise.

    Attributes
    ----------
    name : str
        Key in ``objective_terms_``.
    parameter : str
        Parameter of TSNMF that is the weight of the term, nonnegative.
    sign : {1, -1}
        -1 for a term that is maximised.
    holds_scale : bool
        Whether every iteration brings the columns of V back to the same length if the
        weight is positive, see ``updates.hold_scale``.
    """

    name: ClassVar[str]
    parameter: ClassVar[str]
    sign: ClassVar[int] = 1
    holds_scale: ClassVar[bool] = False

    @property
    def acts_on_projection(self) -> bool:
        """Whether the step of P, and so the start, depends on the weight."""
        return type(self).projection_part is not Term.projection_part

    @abstractmethod
    def value(
        self, side: Side, learned: SideState, coefficients: Array, *, filled: bool
    ) -> Array:
        """Return the unweighted value of one side for every entry of the batch.

        Parameters
        ----------
        side : Side
            Samples and Gram matrix.
        learned : SideState
            Projection and graph.
        coefficients : array of shape (batch, n, k)
            V.
        filled : bool
            Whether entries of the samples are missing, and filled anew in every
            iteration, so that the energy of the samples is not constant.

        Returns
        -------
        array of shape (batch,)
        """

    def projection_part(self, side: Side, weight: Array) -> Array | None:
        """Return M of the weighted term Tr(P' M P), which enters the step of P.

        An array of shape (d, d) or (batch, d, d), with the sign of the term; None if
        the term does not depend on P.
        """
        return None

    def coefficient_parts(
        self, coefficients: Array, graph: Graph | None, weight: Array | float
    ) -> tuple[Array, Array] | None:
        """Return N and M, both nonnegative, of the weighted gradient 2 (M - N) in V.

        The multiplicative step of Eq. (update_v) adds N to the numerator and M to the
        denominator, both of shape (batch, n, k). None if the term does not depend on V.
        """
        return None

    def new_row_parts(
        self, edges: Edges, coefficients: Array, weight: float
    ) -> tuple[Array, Array] | None:
        """Return the weighted term in the row v of a new sample as d v'v - 2 b'v.

        Parameters
        ----------
        edges : Edges
            Edges of m new samples to the training samples.
        coefficients : array of shape (n, k)
            V of the training samples.
        weight : float

        Returns
        -------
        (array of shape (m, 1), array of shape (m, k)), or None
            d and b; b must not be positive where d is 0. m is the length of
            ``edges.degree``.
        """
        return None

    def new_row_matrix(self, coefficients: Array, weight: float) -> Array | None:
        """Return M of a weighted term v' M v in the row v of every new sample.

        Symmetric, of shape (k, k), with a diagonal of at least 0; None if there is no
        such term. ``coefficients`` (n, k) are V of the training samples.
        """
        return None
