"""Who takes part in writing whom: the relation of least-squares subspace clustering.

Samples of one subspace, such as one face under many lights, can be far from each other
and still be written in terms of each other. With projected samples F, scaled to unit
mean square norm, the smallest weights that write each as a combination of all are

    Z = argmin ||F - Z F||^2 + ridge ||Z||^2 = F (F'F + ridge I)^-1 F' = G G',
    G = F (F'F + ridge I)^-1/2,

so that the largest |Z_ij| of a row are a search for the largest |inner products| of
whitened samples, and no n x n array is ever held.
"""

from array_api_compat import array_namespace

from twofold.core.arrays import Array, positive_or_one, squared_norms
from twofold.core.neighbors.exact import largest_products

RIDGE = 0.1
"""Of Z; docs/defaults.md has others beside it."""


def shares(
    features: Array, n_neighbors: int, queries: Array | None = None
) -> tuple[Array, Array]:
    """The largest |Z_ij| of every row, divided by the largest of all.

    Parameters
    ----------
    features : array of shape (runs, n, d)
        Projected samples.
    n_neighbors : int
    queries : array of shape (runs, m, d) or None
        With None every sample is asked for, and takes no part in itself.

    Returns
    -------
    shares : array of shape (runs, m, n_neighbors)
        From 0 to 1, the largest first; 0 for samples of zeros.
    neighbors : integer array of shape (runs, m, n_neighbors)
    """
    xp = array_namespace(features)
    whitening = whitening_of(features)
    asked = None if queries is None else queries @ whitening
    products, neighbors = largest_products(features @ whitening, n_neighbors, asked)
    return products / positive_or_one(
        xp.max(products, axis=-1, keepdims=True)
    ), neighbors


def whitening_of(features: Array, ridge: float = RIDGE) -> Array:
    """T (runs, d, min(n, d)) with G = F T, for F (runs, n, d) of any length.

    With F = A S B' it is B (S^2 + ridge I)^-1/2, found from the smaller of F'F and FF'.
    """
    xp = array_namespace(features)
    _, n, d = features.shape
    mean = xp.mean(squared_norms(features), axis=1)[:, None, None]
    scale = 1 / xp.sqrt(positive_or_one(mean))
    features = features * scale
    across = xp.matrix_transpose(features)
    values, vectors = xp.linalg.eigh(across @ features if d <= n else features @ across)
    values = xp.clip(values, min=0.0)[:, None, :]
    shrunk = scale / xp.sqrt(values + ridge)
    if d > n:  # B = F' A S^-1, but for directions without any energy
        largest = xp.max(values, axis=-1, keepdims=True)
        some = values > n * xp.finfo(values.dtype).eps * largest
        vectors = across @ vectors
        shrunk = xp.where(some, shrunk / xp.sqrt(positive_or_one(values)), 0.0 * shrunk)
    return vectors * shrunk
