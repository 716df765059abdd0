"""Labels on which the graphs of a search agree.

The clusters of a candidate have the highest modularity in its own graph, but the score
of labels is a mean over graphs. In the consensus graph, the mean of these graphs,
samples move to where the score of the labels is higher.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from twofold.core.communities import in_order
from twofold.core.edge_information import edge_information, raise_information
from twofold.core.modularity import modularity, refine_labels
from twofold.core.spectral import kmeans_labels, spectral_embedding
from twofold.estimators.search.candidates import Preview, best_graphs
from twofold.estimators.search.offers import nearly_best

_MARGIN = 0.03
"""Rise of the edge information, as a part of it, from which on other labels are taken.
"""


def consensus_labels(
    previews: Sequence[Preview],
    seed: int = 0,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return labels of the best candidates once samples have moved, (n,).

    Samples move in the consensus graph, in which the labels have the highest modularity
    among those of all candidates that are nearly as good as the best. If others are
    found of which this graph clearly tells more, these are taken instead: the
    modularity is blind to clusters much smaller than the largest. Labels are 0, 1, ...,
    in the order of the first sample of each cluster. All previews, at least one, have
    the same number of clusters.
    """
    best = nearly_best(previews)
    graph = consensus_graph(previews, best[0].labels)
    moved = (refine_labels(graph, preview.labels) for preview in best)
    labels = max(moved, key=lambda labels: modularity(graph, labels))
    k = best[0].k
    points = spectral_embedding(graph, k, seed)
    spectral = kmeans_labels(points, k, seed, sample_weight=sample_weight)
    starts = labels, np.unique(spectral, return_inverse=True)[1]
    raised = [raise_information(graph, start) for start in starts]
    told = [edge_information(graph, each) for each in raised]
    required = (1 + _MARGIN) * edge_information(graph, labels)
    return in_order(raised[np.argmax(told)] if max(told) > required else labels)


def consensus_graph(previews: Sequence[Preview], labels: np.ndarray) -> csr_array:
    """Return the mean of the graphs in which labels are scored, (n, n).

    These are two graphs of each kind. The weights of each graph are divided by their
    sum, and all kinds count the same.
    """
    kinds = best_graphs(labels, previews)
    graphs = [
        each.adjacency / (each.adjacency.sum() * len(best) * len(kinds))
        for best in kinds.values()
        for _, each in best
    ]
    return csr_array(sum(graphs[1:], graphs[0]))
