"""Terms of the objective, Eq. (obj), besides the residuals: one file for each.

To add a term, write a file with a subclass of ``term.Term``, list an instance in
``TERMS``, and give TSNMF the parameter that is its weight. The solver, the start, the
prediction of new samples, ``objective_terms_`` and the model files take it from here.
"""

from twofold.core.terms.energy import Energy
from twofold.core.terms.overlap import Overlap
from twofold.core.terms.smoothness import Smoothness
from twofold.core.terms.term import Term, Weights

__all__ = ["TERMS", "Term", "Weights"]

TERMS: tuple[Term, ...] = (Energy(), Smoothness(), Overlap())
"""All terms, in the order in which they enter the objective."""
