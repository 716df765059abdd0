"""The paper's data sets, synthetic ones, and seeded damage to images."""

from twofold.paper.datasets import *  # noqa: F403
from twofold.paper.datasets import __all__ as __all__
