"""Clustering of matrices without flattening them."""

from twofold.tsnmf import TSNMF

__version__ = "0.1.0.dev0"
__all__ = ["TSNMF", "__version__"]
