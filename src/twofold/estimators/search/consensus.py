"""Labels on which the graphs of a search agree.

The clusters of a candidate have the highest modularity in its own graph, but the score
of labels is a mean over graphs. In the consensus graph, the mean of these graphs,
samples move to where the score of the labels is higher.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from twofold.core.communities import graph_clusters, in_order
from twofold.core.edge_information import edge_information, raise_information
from twofold.core.kmeans import kmeans_labels
from twofold.core.modularity import modularity, refine_labels
from twofold.core.planted import merge_tree
from twofold.core.spectral import spectral_embedding
from twofold.estimators.search.candidates import (
    CandidateProber,
    Preview,
    best_graphs,
    by_score,
)
from twofold.estimators.search.offers import nearly_best
from twofold.estimators.search.views import Candidate

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
    found = [preview.labels for preview in best]
    return _agreed(graph, found, best[0].k, seed, sample_weight)


def consensus_of_all(
    previews: Sequence[Preview], prober: CandidateProber, seed: int
) -> np.ndarray | None:
    """Return the labels of ``consensus_labels`` for all rows, previewed or not.

    If a part of many samples was previewed, the graphs of the consensus, and the
    clusters of those candidates among them that are nearly as good as the best, are
    made of all samples. None if the time is over before, or no graph is connected well
    enough.
    """
    weights = prober.given.copies.weights
    if prober.all_previewed:
        return consensus_labels(previews, seed, weights)
    best = nearly_best(previews)
    k, good = best[0].k, [preview.candidate for preview in best]
    kinds: dict[str, list[csr_array]] = {}
    found = []
    for candidate in _scored(previews, best[0]):
        if prober.is_late():
            return None
        graph = prober.whole_view(candidate.channels).first_adjacency(candidate, k)
        if graph is not None:
            kinds.setdefault(candidate.graph, []).append(graph)
            if candidate in good:
                found.append(graph_clusters(graph, k, seed, sample_weight=weights))
    if not found:
        return None
    return _agreed(_mean_graph(list(kinds.values())), found, k, seed, weights)


def _scored(previews: Sequence[Preview], best: Preview) -> list[Candidate]:
    """Return the candidates in whose graphs the labels of the best are scored.

    Those that share samples, or their projections, stand together, and those of the
    channels of the best, which its fit takes up again, come last: samples in several
    channels are not held at once.
    """
    kinds = best_graphs(best.labels, previews).values()
    scored = [preview.candidate for each in kinds for _, preview in each]
    last = best.candidate.channels
    return sorted(
        scored,
        key=lambda each: (
            *(each.channels == last, each.channels),
            *(each.n_directions, each.energy_weight),
        ),
    )


def _agreed(
    graph: csr_array,
    found: Sequence[np.ndarray],
    k: int,
    seed: int,
    sample_weight: np.ndarray | None,
) -> np.ndarray:
    """Return the best of some labels after moves in the consensus graph."""
    moved = (refine_labels(graph, labels) for labels in found)
    labels = max(moved, key=lambda labels: modularity(graph, labels))
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
    kinds = best_graphs(labels, previews).values()
    return _mean_graph([[each.adjacency for _, each in best] for best in kinds])


def _mean_graph(kinds: Sequence[Sequence[csr_array]]) -> csr_array:
    """Return the mean of the graphs of each kind, all kinds counting the same."""
    graphs = [
        graph / (graph.sum() * len(kind) * len(kinds))
        for kind in kinds
        for graph in kind
    ]
    return csr_array(sum(graphs[1:], graphs[0]))


def hierarchy(
    previews: Sequence[Preview], labels: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the merges of k clusters in the consensus graph of previews.

    None of the samples of a small cluster may have been previewed.
    """
    if previews:
        graph = consensus_graph(previews, by_score(previews)[0].labels)
    else:  # nothing is known of them: they are merged in their order
        graph = csr_array((len(labels), len(labels)))
    return merge_tree(graph, labels, k)
