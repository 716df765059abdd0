"""The methods of the paper's tables, by name."""

from twofold.paper.methods import *  # noqa: F403
from twofold.paper.methods import __all__ as __all__
