"""The block updates of Algorithm 1, one pure function each."""

import math
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from twofold.core.arrays import (
    AnyArray,
    Array,
    inverses,
    like,
    positive_or_one,
    slices,
    take,
    to_numpy,
)
from twofold.core.grams import Side
from twofold.core.graphs.graph import Graph
from twofold.core.terms import TERMS, Weights
from twofold.core.workers import ALONE, Workers

_FAR_FROM_SINGULAR = 0.01
"""Fraction of the condition number at which the inverse means nothing."""


@dataclass(frozen=True)
class Products:
    """Products of one side that the V step takes; it never needs the samples."""

    inner: Array  # A = v(U^(P))' v(U^(P)), (batch, k, k)
    cross: Array  # B = v(X^(P))' v(U^(P)), (batch, n, k)
    graph: Graph | None = None  # W and D; None for a graph without edges


def side_products(
    features: Array, centroid_features: Array, graph: Graph | None = None
) -> Products:
    """Compute A and B of Eq. (def_AB) from projected samples and centroids."""
    across = array_namespace(features).matrix_transpose(centroid_features)
    return Products(centroid_features @ across, features @ across, graph)


def update_projection(
    side: Side, residual: Array, weights: Weights, n_directions: int
) -> Array:
    """Compute P = eig_r(sum_i Lambda_i' Lambda_i - lambda_1 G_P), Eq. (sol_P_pre).

    If eigenvalues tie at the r-th, the directions with most energy are taken: with
    lambda_1 = 1 the matrix has at most k m nonzero eigenvalues, m being the length of
    the other side, and rounding errors would choose among the others.

    Parameters
    ----------
    side : Side
        Has G_P, of shape (d, d) or (batch, d, d).
    residual : array of shape (batch, d, d)
        sum_i Lambda_i' Lambda_i.
    weights : dict of str to array of shape (batch, 1, 1)
        Weights of the terms; the terms that act on P are added to the residual.
    n_directions : int
        r.

    Returns
    -------
    array of shape (batch, d, r)
        Orthonormal columns, of the r smallest eigenvalues.
    """
    xp = array_namespace(residual)
    matrix, size = residual, 1.0
    for term in TERMS:
        part = term.projection_part(side, weights[term.parameter])
        if part is not None:
            matrix = matrix + part
            size = size + weights[term.parameter][..., 0]
    values, vectors = xp.linalg.eigh(matrix)
    if n_directions < vectors.shape[-1]:
        gram = side.gram
        above = values - values[..., n_directions - 1 : n_directions]
        # Rounding errors grow with the norm of the matrix, at most size times Tr(G_P).
        tolerance = 100 * xp.finfo(values.dtype).eps * size
        tied = xp.abs(above) <= tolerance * xp.linalg.trace(gram)[..., None]
        if xp.any(tied[..., n_directions]):
            vectors = vectors @ _most_energy_first(vectors, gram, above, tied)
    return vectors[..., :n_directions]


def _most_energy_first(vectors: Array, gram: Array, above: Array, tied: Array) -> Array:
    """Return a rotation (batch, d, d) of the tied eigenvectors, by descending energy.

    ``above`` (batch, d) is the difference of the eigenvalues to that of the tie, and
    ``tied`` (batch, d) marks the eigenvectors (batch, d, d) that tie.
    """
    xp = array_namespace(vectors)
    d = vectors.shape[-1]
    energy = xp.matrix_transpose(vectors) @ gram @ vectors
    among = tied[..., :, None] & tied[..., None, :]
    # The other eigenvectors keep their order below or above all energies.
    steps = (1 + xp.arange(d, dtype=above.dtype, device=device(above))) / d
    levels = xp.sign(above) * 3 + steps
    levels = xp.where(tied, xp.zeros_like(levels), levels)
    levels = levels * xp.linalg.trace(gram)[..., None]
    own = xp.eye(d, dtype=above.dtype, device=device(above)) * levels[..., None, :]
    return xp.linalg.eigh(xp.where(among, -energy, own))[1]


def update_coefficients(
    coefficients: Array,
    sides: tuple[Products, ...],
    weights: Weights,
    workers: Workers = ALONE,
) -> Array:
    """Take one multiplicative step of V, Eq. (update_v), summed over the sides.

    The square root makes the step monotone if B or A has negative entries. A fixed
    point satisfies the KKT conditions, Eq. (fixed_point).

    Parameters
    ----------
    coefficients : array of shape (batch, n, k)
        V, positive.
    sides : tuple of Products
        A, B, W and D of the left and of the right side.
    weights : dict of str to array of shape (batch, 1, 1)
    workers : Workers
        They divide the sides.
    """
    xp = array_namespace(coefficients)
    return coefficients * xp.sqrt(descent_ratio(coefficients, sides, weights, workers))


def descent_ratio(
    coefficients: Array,
    sides: tuple[Products, ...],
    weights: Weights,
    workers: Workers = ALONE,
) -> Array:
    """Return the quotient under the root of Eq. (update_v), above 1 where V grows.

    Each B is split into its positive and negative part by itself: splitting the sum of
    both sides instead would be another step, for which no descent is proved.
    """
    xp = array_namespace(coefficients)
    # Keeps 0 / 0, as from samples of zeros, at 1 and alters nothing else.
    upper = lower = xp.finfo(coefficients.dtype).smallest_normal
    parts = workers.map(lambda side: _descent_parts(coefficients, side, weights), sides)
    for gain, loss in parts:
        upper = upper + gain
        lower = lower + loss
    return upper / lower


def _descent_parts(
    coefficients: Array, side: Products, weights: Weights
) -> tuple[Array, Array]:
    """Return what one side adds above and below the line of Eq. (update_v)."""
    gain, pull = positive_part(side.cross), positive_part(side.inner)
    lower = gain - side.cross
    upper = gain
    upper += coefficients @ (pull - side.inner)
    lower += coefficients @ pull
    for term in TERMS:
        weight = weights.get(term.parameter, 0.0)
        parts = term.coefficient_parts(coefficients, side.graph, weight)
        if parts is not None:
            upper += parts[0]
            lower += parts[1]
    return upper, lower


def positive_part(array: Array) -> Array:
    """Return M^+ = (|M| + M) / 2; M^- is the positive part of -M."""
    return array_namespace(array).clip(array, min=0.0)


def update_centroids(
    samples: Array, coefficients: Array, workers: Workers = ALONE
) -> Array:
    """Compute U_j = sum_i X_i (V (V'V)^-1)_ij, Eq. (update_u).

    The columns of V are scaled to length 1 before V'V is inverted, so that a cluster
    with tiny coefficients is not mistaken for a linear combination of the others. If
    the columns are linearly dependent, the pseudo-inverse is used.

    Parameters
    ----------
    samples : array of shape ([batch,] n, c, h, w) or ([batch,] n, d)
    coefficients : array of shape (batch, n, k)
    workers : Workers
        They divide the entries of the samples.

    Returns
    -------
    array of shape (batch, k, c, h, w) or (batch, k, d)
    """
    xp = array_namespace(coefficients)
    batch, n, k = coefficients.shape
    unit, lengths = unit_columns(coefficients)
    mixing = unit @ _pseudo_inverse(unit) / lengths
    shape = samples.shape[-3:] if samples.ndim > 3 else samples.shape[-1:]
    flat = samples.reshape(*samples.shape[: -len(shape)], math.prod(shape))
    if flat.ndim > 2:
        return (xp.matrix_transpose(mixing) @ flat).reshape(batch, k, *shape)
    # The batch shares the samples: one product for all.
    mixing = xp.permute_dims(mixing, (1, 0, 2)).reshape(n, batch * k)
    d, where = flat.shape[1], {"dtype": flat.dtype, "device": device(flat)}
    centroids = xp.empty((batch * k, d), **where)

    def fill(some: slice) -> None:
        centroids[:, some] = (flat[:, some].T @ mixing).T

    workers.map(fill, slices(d, -(-d // workers.count)))
    return centroids.reshape(batch, k, *shape)


def _pseudo_inverse(unit: Array) -> Array:
    """Compute pseudo-inverses (batch, k, k) of V'V, for unit columns (batch, n, k).

    Eigenvalues below 10 k eps count as zeros. Without any such eigenvalue the inverse
    is the same, and far cheaper. It is taken in double precision: in single precision
    its rounding errors would hide how small the eigenvalues are.
    """
    xp = array_namespace(unit)
    wide, k = xp.astype(unit, xp.float64, copy=False), unit.shape[-1]
    correlation = xp.matrix_transpose(wide) @ wide
    rtol = 10 * k * xp.finfo(unit.dtype).eps
    inverse, exists = inverses(correlation)
    condition = _column_sum_norm(correlation) * _column_sum_norm(inverse)
    known = condition * (10 * k * xp.finfo(xp.float64).eps) < _FAR_FROM_SINGULAR
    plain = exists & known & (condition * rtol < 1)
    if not xp.all(plain):
        # These are few and small: a CPU is faster than a GPU.
        singular = np.flatnonzero(~to_numpy(plain))
        matrices = to_numpy(take(correlation, singular))
        pseudo = np.linalg.pinv(matrices, rtol=rtol, hermitian=True)
        inverse[xp.asarray(singular, device=device(inverse))] = like(pseudo, inverse)
    return xp.astype(inverse, unit.dtype, copy=False)


def _column_sum_norm(matrices: Array) -> Array:
    """Compute the largest absolute column sum of matrices (batch, k, k): (batch,)."""
    xp = array_namespace(matrices)
    return xp.max(xp.sum(xp.abs(matrices), axis=-2), axis=-1)


def unit_columns(coefficients: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Scale the columns of V to length 1, and return their lengths (batch, 1, k).

    A column of zeros is not changed, and its length is 1.
    """
    xp = array_namespace(coefficients)
    # Dividing by the largest entry first avoids the underflow of tiny squares.
    peaks = positive_or_one(xp.max(coefficients, axis=-2, keepdims=True))
    scaled = coefficients / peaks
    lengths = positive_or_one(xp.linalg.vector_norm(scaled, axis=-2, keepdims=True))
    return scaled / lengths, lengths * peaks


def adjust(coefficients: Array, centroids: Array) -> tuple[Array, Array, Array]:
    """Scale the columns of V to length 1 and the centroids inversely, Eq. (adjust).

    Returns V (batch, n, k), U (batch, k, c, h, w), and the lengths (batch, 1, k) that
    the columns of V had.
    """
    unit, lengths = unit_columns(coefficients)
    batch, _, k = lengths.shape
    return unit, centroids * lengths.reshape(batch, k, 1, 1, 1), lengths


def hold_scale(
    coefficients: Array, centroids: Array, weights: Weights, roots: Array | None = None
) -> tuple[Array, Array]:
    """Scale the columns of V to length sqrt(n / k) if a term asks for it, Eq. (adjust).

    The centroids are scaled inversely, so that no residual changes. Entries of the
    batch in which no term that holds the scale has a weight stay as they are.

    Parameters
    ----------
    coefficients, centroids : arrays of shape (batch, n, k) and (batch, k, c, h, w)
    weights : dict of str to array of shape (batch, 1, 1)
    roots : array of shape (n, 1) or None
        Square roots of the weights of the samples, whose sum then stands for n.
    """
    xp = array_namespace(coefficients)
    _, n, k = coefficients.shape
    for weight in (weights[term.parameter] for term in TERMS if term.holds_scale):
        held = weight > 0
        if xp.any(held):
            unit, scaled, _ = adjust(coefficients, centroids)
            length = math.sqrt((n if roots is None else float(xp.sum(roots**2))) / k)
            coefficients = xp.where(held, length * unit, coefficients)
            centroids = xp.where(held[..., None, None], scaled / length, centroids)
    return coefficients, centroids


def canonical_signs(projection: AnyArray) -> AnyArray:
    """Flip the signs of directions (d, r) so that their largest entries are positive.

    Eq. (sol_P_pre) does not determine the signs, and P P' does not depend on them.
    """
    xp = array_namespace(projection)
    largest = xp.argmax(xp.abs(projection), axis=0)
    picked = projection[largest, xp.arange(projection.shape[1], device=device(largest))]
    return projection * xp.sign(picked)
