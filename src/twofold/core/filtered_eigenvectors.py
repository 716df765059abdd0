"""Leading eigenvectors of a sparse matrix on a GPU, by Chebyshev-filtered subspaces.

Lanczos iterations multiply by one vector at a time, which a GPU is hardly faster at
than a CPU. A polynomial of the matrix multiplies a whole block: Chebyshev polynomials
are at most 1 on [-1, 1] and grow fast above it. Scaled so that the unwanted eigenvalues
are in that interval, they leave little but the wanted eigenvectors in the block.

Y. Zhou, Y. Saad, M. L. Tiago, J. R. Chelikowsky. Self-consistent-field calculations
using Chebyshev-filtered subspace iteration. Journal of Computational Physics 219, 2006.
"""

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from twofold.core.arrays import Tensor

_MAX_DEGREE, _MAX_ROUNDS = 100, 100
"""Largest degree of the polynomial, and number of times that it is applied."""

_LEAST_HALF = 1e-3
"""Least half of the length of the interval, should all eigenvalues be -1 but one."""

_MAX_GAIN = 1e8
"""Largest growth of a vector by one polynomial: rounding hides what is 1e16 smaller."""


def filtered_eigenvectors(
    matrix: csr_array,
    known: np.ndarray,
    count: int,
    guess: np.ndarray,
    tolerance: float,
    device: Any,
) -> np.ndarray:
    """Return eigenvectors of the largest eigenvalues of a matrix, beside known ones.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Symmetric, with eigenvalues from -1 to 1.
    known : array of shape (n, c)
        Orthonormal eigenvectors, which are left out.
    count : int
    guess : array of shape (n, b)
        First block, of at least ``count`` columns; more of them take fewer steps.
    tolerance : float
        Largest norm of A x - theta x for a vector x that is returned.
    device : torch.device

    Returns
    -------
    array of shape (n, count)
        Orthonormal columns, in ascending order of the eigenvalues.
    """
    import torch

    entries = matrix.tocoo()
    places = torch.as_tensor(np.stack(entries.coords), device=device)
    values = torch.as_tensor(entries.data, dtype=torch.float64, device=device)
    # Said for all that is made of it: PyTorch warns of what is left to its default.
    checking: Any = torch.sparse.check_sparse_tensor_invariants
    with checking(True):
        operator = torch.sparse_coo_tensor(places, values, matrix.shape).coalesce()
    beside = torch.as_tensor(known, dtype=torch.float64, device=device)
    block = _orthonormal(torch.as_tensor(guess, device=device), beside)
    for _ in range(_MAX_ROUNDS):
        image = operator @ block
        ritz, rotation = torch.linalg.eigh(block.T @ image)
        block, image = block @ rotation, image @ rotation
        residual = torch.linalg.vector_norm(image - block * ritz, dim=0)
        if float(residual[-count:].max()) <= tolerance:
            break
        block = _orthonormal(_filtered(operator, block, float(ritz[0])), beside)
    return block[:, -count:].cpu().numpy()


def _filtered(operator: Tensor, block: Tensor, edge: float) -> Tensor:
    """Multiply a block (n, b) by a polynomial that is at most 1 from -1 to ``edge``."""
    centre, half = (edge - 1) / 2, max((edge + 1) / 2, _LEAST_HALF)
    growth = math.acosh(max((1 - centre) / half, 1 + 1e-12))  # of the eigenvalue 1
    degree = min(_MAX_DEGREE, math.ceil(math.log(_MAX_GAIN) / growth))
    before, now = block, (operator @ block - centre * block) / half
    for _ in range(degree - 1):
        scaled = (operator @ now - centre * now) / half
        before, now = now, 2 * scaled - before
    return now


def _orthonormal(block: Tensor, beside: Tensor) -> Tensor:
    """Return an orthonormal basis (n, b) of a block without its part in ``beside``."""
    import torch

    block = block - beside @ (beside.T @ block)
    block = torch.linalg.qr(block).Q
    # Once more: rounding leaves a part where little of a column was left.
    return torch.linalg.qr(block - beside @ (beside.T @ block)).Q
