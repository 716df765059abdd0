"""How much the edges of a graph tell about clusters, and moves that raise it.

B. Karrer, M. E. J. Newman. Stochastic blockmodels and community structure in networks.
Physical Review E 83, 2011.
"""

import numpy as np
from scipy.sparse import csr_array

from twofold.core.modularity import weights_between
from twofold.core.moves import Clusters, improve_labels

_FLOOR = 1e-3
"""Weight of all pairs of clusters together, as a part of the whole, that is added: a
first edge between two clusters is unlikely, not impossible.
"""


def edge_information(weights: csr_array, labels: np.ndarray) -> float:
    """Return the mutual information of the clusters at both ends of an edge, in nats.

    It is sum_ab p_ab log(p_ab / (p_a p_b)), where p_ab is the share of the symmetric
    weights W (n, n) between clusters a and b, and p_a the share of the degrees in a:
    from 0 to log k. It is also how much likelier an edge is, on average, in the
    degree-corrected stochastic block model of the clusters than without clusters.
    """
    return _information(weights_between(weights, labels))


def _information(between: np.ndarray) -> float:
    """Return the edge information of weights (k, k) between clusters."""
    total = between.sum()
    if not total:
        return 0.0
    joint = between / total
    degree_shares = joint.sum(axis=1)
    expected = np.outer(degree_shares, degree_shares)
    present = joint > 0
    terms = joint[present] * np.log(joint[present] / expected[present])
    return max(float(terms.sum()), 0.0)  # rounding may make it negative


def raise_information(weights: csr_array, labels: np.ndarray) -> np.ndarray:
    """Move single samples between clusters while the edge information rises.

    Each sample moves to the cluster in which its edges are likeliest, with the rates
    w_ab / (d_a d_b) of edges between clusters a and b of degrees d as they are without
    the sample. No cluster loses its last sample.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric weights W.
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ..., without an empty cluster.

    Returns
    -------
    int array of shape (n,)
        Labels whose edge information is at least as high.
    """
    # SciPy's sum of all would sort the edges of its argument.
    total = weights.sum(axis=1).sum() or 1.0

    def gain(samples: np.ndarray, clusters: Clusters) -> np.ndarray:
        own = clusters.own(samples)
        to, weight = clusters.weights_to[samples], clusters.degree[samples]
        between = clusters.between()
        floor = _FLOOR * total / len(between) ** 2
        found = to @ _log_rates(between, between.sum(axis=1), floor).T
        found[own] = _gain_without(between, own[1], to, weight, floor)
        return found

    def score(clusters: Clusters) -> float:
        return _information(clusters.between())

    return improve_labels(weights, labels, score, gain)[0]


def _log_rates(between: np.ndarray, degree: np.ndarray, floor: float) -> np.ndarray:
    """Return log(w_ab / (d_a d_b)) of weights (k, k) and degrees (k,) with a floor."""
    degree = degree + len(degree) * floor
    return np.log(between + floor) - np.log(np.outer(degree, degree))


def _gain_without(
    between: np.ndarray,
    own: np.ndarray,
    to: np.ndarray,
    weight: np.ndarray,
    floor: float,
) -> np.ndarray:
    """Return the gain of each sample in its own cluster by rates without it, (b,).

    Else it would speak for its own cluster, and more so the smaller this is.

    Parameters
    ----------
    between : array of shape (k, k)
        Weights between clusters.
    own : int array of shape (b,)
        Clusters of the samples.
    to : array of shape (b, k)
        Weights of the edges of the samples to others of each cluster.
    weight : array of shape (b,)
        Degrees of the samples.
    floor : float
    """
    k, rows = len(between), np.arange(len(own))
    degree = np.broadcast_to(between.sum(axis=1), to.shape).copy()
    degree[rows, own] -= weight
    rest = between[own] - to
    # Edges within the cluster count twice, and an edge to itself once.
    rest[rows, own] -= weight - to.sum(axis=1) + to[rows, own]
    log_rates = np.log(np.maximum(rest, 0) + floor) - np.log(degree + k * floor)
    log_rates -= np.log(degree[rows, own] + k * floor)[:, None]
    return (to * log_rates).sum(axis=1)
