"""The factorisations that TS-NMF is compared with, as scikit-learn transformers.

All take (n, h, w) stacks, colour (n, h, w, c), or flat (n, f) samples. PyTorch tensors
are read too, and fitted on the CPU.
"""

from twofold.decomposition.flatten import Flatten
from twofold.decomposition.gnmf import GNMF
from twofold.decomposition.pca2d import PCA2D
from twofold.decomposition.rmnmf import RMNMF
from twofold.decomposition.robust_pca import RobustPCA
from twofold.decomposition.semi_nmf import SemiNMF

__all__ = ["GNMF", "PCA2D", "RMNMF", "Flatten", "RobustPCA", "SemiNMF"]
