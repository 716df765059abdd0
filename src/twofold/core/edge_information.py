"""How much the edges of a graph tell about clusters.

B. Karrer, M. E. J. Newman. Stochastic blockmodels and community structure in networks.
Physical Review E 83, 2011.
"""

import numpy as np
from scipy.sparse import csr_array

from twofold.core.modularity import weights_between


def edge_information(weights: csr_array, labels: np.ndarray) -> float:
    """Return the mutual information of the clusters at both ends of an edge, in nats.

    It is sum_ab p_ab log(p_ab / (p_a p_b)), where p_ab is the share of the symmetric
    weights W (n, n) between clusters a and b, and p_a the share of the degrees in a:
    from 0 to log k. It is also how much likelier an edge is, on average, in the
    degree-corrected stochastic block model of the clusters than without clusters.
    """
    between = weights_between(weights, labels)
    total = between.sum()
    if not total:
        return 0.0
    joint = between / total
    degree_shares = joint.sum(axis=1)
    expected = np.outer(degree_shares, degree_shares)
    present = joint > 0
    terms = joint[present] * np.log(joint[present] / expected[present])
    return max(float(terms.sum()), 0.0)  # rounding may make it negative
