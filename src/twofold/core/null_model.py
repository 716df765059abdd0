"""How much clusters stand out in a graph, beyond what any graph like it would show."""

import numpy as np
from scipy.sparse import coo_array, csr_array

from twofold.core.modularity import improved, modularity
from twofold.core.start import spectral_labels


def graph_clusters(
    weights: csr_array, k: int, seed: int, n_init: int = 10
) -> np.ndarray:
    """The clusters of a graph: those of its spectral embedding, and moves from there.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        W, symmetric.
    k : int
    seed, n_init : int
        Of K-means in the embedding.

    Returns
    -------
    int array of shape (n,)
        0, 1, ..., all of which occur.
    """
    labels = spectral_labels(weights, k, seed, n_init)
    return improved(weights, np.unique(labels, return_inverse=True)[1])


def chance_modularity(weights: csr_array, k: int, seed: int) -> float:
    """The modularity of the clusters that are found where there are none.

    In a graph with as many edges at every sample, and of the same weights, that join
    anybody. The fewer edges there are, the better it can be cut into pieces.
    """
    rewired = rewire(weights, np.random.RandomState(seed))
    return modularity(rewired, graph_clusters(rewired, k, seed, n_init=1))


def rewire(weights: csr_array, random: np.random.RandomState) -> csr_array:
    """The graph with the ends of its edges shuffled: the configuration model.

    Every sample keeps the number of its edges, but for those that come back to itself,
    which are lost.
    """
    edges = coo_array(weights)
    upper = edges.row < edges.col
    ends = random.permutation(np.concatenate([edges.row[upper], edges.col[upper]]))
    one, other = np.split(ends, 2)
    apart = one != other
    pairs = one[apart], other[apart]
    half = csr_array((edges.data[upper][apart], pairs), shape=weights.shape)
    return half + half.T
