"""The arithmetic that a fit must do, whatever its code."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """n samples of h x w entries, k clusters and r directions on each side."""

    n: int
    h: int
    w: int
    k: int
    r: int


def iteration_flops(size: Size) -> float:
    """Additions and multiplications of the products of one iteration.

    With features X_i P of h r and Q' X_i of w r entries, these are

    - the projections of all samples on both sides, 4 n h w r;
    - B, features times centroid features, 2 n (h + w) r k;
    - U, which is V'X and (V'V)^-1 of that, 2 n k h w;
    - V'V, and V times the positive and the negative part of A, 6 n k^2;
    - the residual Grams, sum_jl S_jl U_j' U_l on both sides, from S U on,
      2 k^2 h w + 2 k h w (h + w).

    Sparse products, eigenvectors of h x h and w x w matrices and sums are left out,
    and so is all that is done once.
    """
    n, h, w, k, r = size.n, size.h, size.w, size.k, size.r
    projections = 4 * n * h * w * r
    cross = 2 * n * (h + w) * r * k
    centroids = 2 * n * k * h * w
    small = 6 * n * k**2
    residuals = 2 * k**2 * h * w + 2 * k * h * w * (h + w)
    return float(projections + cross + centroids + small + residuals)


def search_flops(size: Size) -> float:
    """Those of both graphs by brute force: inner products of all pairs of features."""
    return 2.0 * size.n**2 * (size.h + size.w) * size.r
