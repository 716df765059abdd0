"""Factorisations that TS-NMF is compared with, as scikit-learn transformers.

Every transformer reads (n, h, w) stacks, colour stacks (n, h, w, c) and flat (n, f)
samples. PyTorch tensors are copied to the CPU.
"""

from twofold.decomposition.flatten import Flatten
from twofold.decomposition.gnmf import GNMF
from twofold.decomposition.pca2d import PCA2D
from twofold.decomposition.rmnmf import RMNMF
from twofold.decomposition.robust_pca import RobustPCA
from twofold.decomposition.semi_nmf import SemiNMF

__all__ = ["GNMF", "PCA2D", "RMNMF", "Flatten", "RobustPCA", "SemiNMF"]
