"""The factorisations that TS-NMF is compared with, as scikit-learn transformers.

All take (n, h, w) stacks, colour (n, h, w, c), or flat (n, f) samples. PyTorch tensors
are read too, and fitted on the CPU.
"""

from twofold.decomposition._flatten import Flatten
from twofold.decomposition._gnmf import GNMF
from twofold.decomposition._pca2d import PCA2D
from twofold.decomposition._rmnmf import RMNMF
from twofold.decomposition._robust_pca import RobustPCA
from twofold.decomposition._semi_nmf import SemiNMF

__all__ = ["GNMF", "PCA2D", "RMNMF", "Flatten", "RobustPCA", "SemiNMF"]
