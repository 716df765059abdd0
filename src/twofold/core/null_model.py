"""The modularity of clusters under the configuration model."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from twofold.core.communities import graph_clusters
from twofold.core.modularity import modularity


def chance_modularity(
    weights: csr_array, k: int, seed: int, device: Any = None
) -> float:
    """Return the modularity of ``graph_clusters`` in a randomly rewired graph.

    The rewired graph has the same degrees and weights but no cluster structure. Its
    modularity is positive all the same, and higher the fewer edges there are. Exchanges
    would raise it by about a hundredth of itself, in several times the time. ``device``
    is as for ``graph_clusters``.
    """
    rewired = rewire(weights, np.random.RandomState(seed))
    labels = graph_clusters(rewired, k, seed, n_init=1, exchanges=False, device=device)
    return modularity(rewired, labels)


def rewire(weights: csr_array, random: np.random.RandomState) -> csr_array:
    """Draw a graph from the configuration model by shuffling the ends of all edges.

    Every sample keeps its number of edges, except that edges from a sample to itself
    are dropped.
    """
    edges = coo_array(weights)
    upper = edges.row < edges.col  # every edge once
    ends = random.permutation(np.concatenate([edges.row[upper], edges.col[upper]]))
    rows, columns = np.split(ends, 2)
    proper = rows != columns
    pairs = rows[proper], columns[proper]
    half = csr_array((edges.data[upper][proper], pairs), shape=weights.shape)
    return half + half.T
