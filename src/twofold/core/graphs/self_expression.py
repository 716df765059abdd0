"""Subspace affinities by ridge self-expression, as in least-squares regression (LSR).

Samples of one subspace, such as images of one face under many lights, can be far from
each other and still be linear combinations of each other. For projected samples F,
scaled to unit mean square norm, the ridge self-expression is

    Z = argmin ||F - Z F||^2 + ridge ||Z||^2 = F (F'F + ridge I)^-1 F' = G G',
    G = F (F'F + ridge I)^-1/2.

The affinity of samples i and j is |Z_ij|, the absolute inner product of whitened
samples. The largest affinities of a sample are therefore found by a search for the
largest absolute inner products, and no n x n array is ever held.
"""

from array_api_compat import array_namespace, device

from twofold.core.arrays import (
    Array,
    lower_inverses,
    positive_or_one,
    squared_norms,
)
from twofold.core.neighbors.products import largest_products

RIDGE = 0.1
"""Ridge of the self-expression; docs/defaults.md compares other values."""


def affinities(
    features: Array,
    n_neighbors: int,
    queries: Array | None = None,
    known: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """Return the largest affinities |Z_ij| of every row, scaled to a maximum of 1.

    Parameters
    ----------
    features : array of shape (batch, n, d)
        Projected samples.
    n_neighbors : int
    queries : array of shape (batch, m, d) or None
        New samples. If None, every sample is a query and never its own neighbour.
    known : (array, array) or None
        The ``whitening`` of the features, if it is known. Queries alone need it.

    Returns
    -------
    affinities, neighbors : arrays of shape (batch, m, n_neighbors)
        From 0 to 1 in descending order, 0 for samples of zeros; and their indices.
    """
    if queries is None:
        white, white_queries = whitened(features), None
    else:
        matrix, white = known or whitening(features)
        white_queries = queries @ matrix
    products, neighbors = largest_products(white, n_neighbors, white_queries)
    return to_affinities(products), neighbors


def whitening(features: Array) -> tuple[Array, Array]:
    """Return T of ``whitening_of``, and the whitened features F T."""
    matrix = whitening_of(features)
    return matrix, features @ matrix


def to_affinities(products: Array) -> Array:
    """Divide products (..., n_neighbors) by the largest of each row, or by 1."""
    largest = array_namespace(products).max(products, axis=-1, keepdims=True)
    return products / positive_or_one(largest)


def whitened(features: Array, ridge: float = RIDGE) -> Array:
    """Return G (batch, n, min(n, d)) of F (batch, n, d), up to a rotation.

    For d <= n it is F T, see ``whitening_of``. Else, with FF' = A S^2 A', it is
    A S (S^2 + ridge I)^-1/2.
    """
    xp = array_namespace(features)
    _, n, d = features.shape
    if d <= n:
        return features @ whitening_of(features, ridge)
    features, _ = _unit_mean_square(features)
    values, vectors = _squared_singular_values(features)
    return vectors * xp.sqrt(values / (values + ridge))


def whitening_of(features: Array, ridge: float = RIDGE) -> Array:
    """Return a matrix T (batch, d, min(n, d)) with G = F T, for F (batch, n, d).

    T T' = (F'F + ridge I)^-1 on the span of the samples, which determines G G'. For
    d <= n, T is the inverse of a Cholesky factor. Else, with the singular value
    decomposition F = A S B', it is B (S^2 + ridge I)^-1/2, computed from FF'.
    """
    xp = array_namespace(features)
    _, n, d = features.shape
    features, scale = _unit_mean_square(features)
    across = xp.matrix_transpose(features)
    if d <= n:
        inverse = lower_inverses(_cholesky(_gram(features), ridge))
        return scale * xp.astype(xp.matrix_transpose(inverse), features.dtype)
    values, vectors = _squared_singular_values(features)
    # B = F' A S^-1, except for directions without energy
    inverse = scale / xp.sqrt((values + ridge) * positive_or_one(values))
    return (across @ vectors) * xp.where(values > 0, inverse, xp.zeros_like(inverse))


def _squared_singular_values(features: Array) -> tuple[Array, Array]:
    """Return S^2 (batch, 1, n) and A (batch, n, n) of FF' = A S^2 A'.

    Rounding leaves a little where there is no energy. It is set to zero: the ridge is
    small, and would let it tell identical samples apart.
    """
    xp = array_namespace(features)
    values, vectors = xp.linalg.eigh(features @ xp.matrix_transpose(features))
    values, n = values[:, None, :], features.shape[1]
    least = n * xp.finfo(values.dtype).eps * xp.max(values, axis=-1, keepdims=True)
    return xp.where(values > least, values, xp.zeros_like(values)), vectors


def _unit_mean_square(features: Array) -> tuple[Array, Array]:
    """Scale features to unit mean square norm; also return the factor (batch, 1, 1)."""
    xp = array_namespace(features)
    mean = xp.mean(squared_norms(features), axis=1)[:, None, None]
    scale = 1 / xp.sqrt(positive_or_one(mean))
    return features * scale, scale


def _gram(features: Array) -> Array:
    """Compute F'F (batch, d, d) in double precision.

    In single precision its rounding errors could be as large as the ridge.
    """
    xp = array_namespace(features)
    wide = xp.astype(features, xp.float64)
    return xp.matrix_transpose(wide) @ wide


def _cholesky(gram: Array, ridge: float) -> Array:
    """Return the factor L (batch, d, d) of F'F + ridge I = L L'; F'F is overwritten."""
    xp = array_namespace(gram)
    diagonal = xp.arange(gram.shape[-1], device=device(gram))
    gram[:, diagonal, diagonal] += ridge
    return xp.linalg.cholesky(gram)
