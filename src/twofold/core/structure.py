"""Whether there are clusters at all: halves that agree, and borders that are sparse.

Graphs of nearest neighbours have clusters of high modularity in one cloud of samples,
too. Two things tell real clusters from those. Halves of the samples, clustered each by
itself, find the same ones, more than halves of a cloud of the same covariance do. And
samples at the borders of clusters lie farther from their neighbours than samples inside
do.

R. Tibshirani, G. Walther. Cluster validation by prediction strength. Journal of
Computational and Graphical Statistics 14, 2005.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import dct
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.stats import rankdata
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from twofold.core.arrays import positive_or_one, slices
from twofold.core.communities import graph_clusters
from twofold.core.graphs.construction import build_graph
from twofold.core.isometry import shortened

_LARGEST_HALF = 2000
"""Most samples of a half that is clustered."""

_BLOCK = 8192
"""Number of samples that are compared at once."""

_N_VOTERS = 5
"""Number of neighbours of a sample that name its cluster."""

_N_SPLITS, _FEW_SPLITS, _MANY = 4, 2, 600
"""Number of divisions into halves, and of more than so many samples."""

_BORDER, _LISTS = 0.1, (2, 3, 5, 7, 10)
"""Least share of samples at borders, and the numbers of neighbours that are tried."""

_FEWEST, _LEAST_SIZE = 20, 4
"""Number of samples, and mean size of a cluster, below which halves tell nothing."""

Sides = Sequence[np.ndarray]
"""Projected samples (n, d) of the left and of the right side."""


@dataclass(frozen=True)
class Structure:
    """How much speaks for clusters; NaN if there are too few samples to tell."""

    agreement: float  # A, adjusted Rand index of halves
    by_chance: float  # A_0, of halves of a cloud
    valley: float  # B, how much sparser borders are, as an area under a curve
    half_labels: tuple[np.ndarray, ...]  # (n,) each, the clusters by each half

    @property
    def strength(self) -> float:
        """A - A_0 + B - 1/2, Eq. (structure): about 0 in a cloud."""
        return self.agreement - self.by_chance + self.valley - 0.5


def measure_structure(
    sides: Sides, labels: np.ndarray, k: int, kind: str, n_neighbors: int, seed: int
) -> Structure:
    """Measure how much speaks for the clusters of some samples, Eq. (structure).

    Parameters
    ----------
    sides : sequence of arrays of shape (n, d)
    labels : int array of shape (n,)
        Cluster of each sample: 0, 1, ...
    k : int
        Number of clusters that halves are divided into.
    kind : str
        Name of the kind of graph.
    n_neighbors : int
    seed : int
    """
    n = len(labels)
    if n < max(_FEWEST, _LEAST_SIZE * k):
        return Structure(np.nan, np.nan, np.nan, (labels,))
    if labels.max() == 0:
        return Structure(0.0, 0.0, 0.5, (labels,))
    random, graph = np.random.RandomState(seed), (kind, n_neighbors)
    sides = [_short(side) for side in sides]
    splits = _N_SPLITS if n <= _MANY else _FEW_SPLITS
    found = _by_halves(sides, *graph, k, random, splits)
    some = np.arange(n)
    if n > 2 * _LARGEST_HALF:
        some = np.sort(random.choice(n, 2 * _LARGEST_HALF, replace=False))
    few = [side[some].astype(float, copy=False) for side in sides]
    cloud = _by_halves(surrogate_cloud(few, random), *graph, k, random, splits // 2)
    agreement = _mean_agreement(found)
    depth = valley(beside(few), labels[some])
    if depth is None:  # clusters that are far apart are found by halves as well
        depth = 0.5 + max(agreement, 0.0) / 2
    by_chance = max(0.0, _mean_agreement(cloud))
    return Structure(agreement, by_chance, depth, tuple(found))


def _short(side: np.ndarray) -> np.ndarray:
    """Return as few coordinates as give the same distances and products."""
    return shortened(side[None])[0] if side.shape[1] > len(side) else side


def beside(sides: Sides) -> np.ndarray:
    """Return both sides beside each other, each of mean square norm 1: (n, d + d')."""
    return np.hstack([side / _scale(side) for side in sides])


def joint_graph(sides: Sides, kind: str, n_neighbors: int) -> csr_array:
    """Return W_P + W_Q of projected samples."""
    left, right = (
        build_graph(side[None], n_neighbors, kind).adjacency.astype(float)
        for side in (*sides, sides[0])[:2]
    )
    return left + right if len(sides) > 1 else left


def surrogate_cloud(sides: Sides, random: np.random.RandomState) -> list[np.ndarray]:
    """Return a sample of one cloud: the same mean, covariance and norms, no clusters.

    The samples less their mean are mixed by an orthogonal n x n matrix, cosine
    transforms with random signs and orders in between, so that each becomes a sum of
    all. Each row then gets the norm of its rank.
    """
    n = len(sides[0])
    signs = random.choice([-1.0, 1.0], (3, n, 1))
    orders = [random.permutation(n), random.permutation(n), np.arange(n)]
    found = []
    for side in sides:
        mean = side.mean(axis=0)
        rows = side - mean
        for sign, order in zip(signs, orders, strict=True):
            rows = dct(rows * sign, axis=0, norm="ortho")[order]
        rows = rows + mean
        norms, own = np.sort(_norms(side)), _norms(rows)
        scale = norms[np.argsort(np.argsort(own))] / positive_or_one(own)
        found.append(rows * scale[:, None])
    return found


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(np.vecdot(rows, rows))


def _by_halves(
    sides: Sides,
    kind: str,
    n_neighbors: int,
    k: int,
    random: np.random.RandomState,
    splits: int,
) -> list[np.ndarray]:
    """Return labels (n,) by each half of some divisions, two after two.

    A half is clustered by its own graph, and its samples name the clusters of all.
    """
    n, found = len(sides[0]), []
    for _ in range(splits):
        order = random.permutation(n)
        for half in (order[: n // 2], order[n // 2 :]):
            half = half[:_LARGEST_HALF]
            own = [side[half].astype(float, copy=False) for side in sides]
            graph = joint_graph(own, kind, n_neighbors)
            labels = graph_clusters(graph, k, 0, n_init=3, exchanges=False)
            found.append(_voted(sides, half, labels))
    return found


def _voted(sides: Sides, named: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the cluster that most of the nearest named samples have, of each sample.

    By blocks in single precision, since all samples are compared, however many.
    """
    scales = [_scale(side) for side in sides]
    points = _scaled_beside(sides, scales, named)
    near = NearestNeighbors(n_neighbors=min(_N_VOTERS, len(named))).fit(points)
    found = []
    for block in slices(len(sides[0]), _BLOCK):
        listed = labels[
            near.kneighbors(_scaled_beside(sides, scales, block), return_distance=False)
        ]
        votes = (listed[:, :, None] == np.arange(1 + labels.max())).sum(axis=1) * 1.0
        votes[np.arange(len(votes)), listed[:, 0]] += 0.5  # the nearest decides ties
        found.append(votes.argmax(axis=1))
    return np.concatenate(found)


def _scale(side: np.ndarray) -> float:
    """Return the root mean square norm of the rows of one side, or 1."""
    return float(np.sqrt(np.vecdot(side, side).mean())) or 1.0


def _scaled_beside(
    sides: Sides, scales: Sequence[float], rows: slice | np.ndarray
) -> np.ndarray:
    """Return some rows of ``beside`` in single precision."""
    parts = [side[rows] / scale for side, scale in zip(sides, scales, strict=True)]
    return np.hstack(parts).astype(np.float32)


def _mean_agreement(found: Sequence[np.ndarray]) -> float:
    """Return the mean adjusted Rand index of both halves of each division.

    It is 0 where a half finds a single cluster, with which another would agree fully.
    """
    pairs = zip(found[::2], found[1::2], strict=True)
    return float(np.mean([_agreement(*pair) for pair in pairs]))


def _agreement(one: np.ndarray, other: np.ndarray) -> float:
    if one.min() == one.max() or other.min() == other.max():
        return 0.0
    return float(adjusted_rand_score(one, other))


def kept_share(labels: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """Return in which part of other labels each sample is in the cluster of its own.

    Clusters of other labels are matched to the own ones, by most samples in common.
    """
    kept = np.zeros(len(labels))
    for other in others:
        size = 1 + max(int(labels.max()), int(other.max()))
        cells = np.bincount(labels * size + other, minlength=size**2)
        own, matched = linear_sum_assignment(-cells.reshape(size, size))
        name = np.empty(size, dtype=int)
        name[matched] = own
        kept += name[other] == labels
    return kept / len(others)


def valley(points: np.ndarray, labels: np.ndarray) -> float | None:
    """Return how much sparser samples lie at borders of clusters than inside.

    It is the chance that a sample at a border is the sparser one of two, 1/2 if borders
    are no different; None if there is no border. A sample is at a border if one of its
    q nearest neighbours is in another cluster; q is the first number with which a tenth
    of the samples are. Sparseness is the distance to the q-th neighbour, by its rank
    within the cluster.
    """
    n = len(points)
    near = NearestNeighbors(n_neighbors=min(_LISTS[-1] + 1, n)).fit(points)
    distances, neighbors = (array[:, 1:] for array in near.kneighbors(points))
    other = labels[neighbors] != labels[:, None]
    for q in _LISTS:
        q = min(q, other.shape[1])
        border = other[:, :q].any(axis=1)
        if border.mean() >= _BORDER:
            break
    count = int(border.sum())
    if not 0 < count < n:
        return None if count == 0 else 0.5
    place = np.empty(n)
    for cluster in np.unique(labels):
        own = labels == cluster
        place[own] = (rankdata(distances[own, q - 1]) - 0.5) / own.sum()
    ranks = rankdata(place)[border].sum() - count * (count + 1) / 2
    return float(ranks / (count * (n - count)))
