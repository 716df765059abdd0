"""Small random problems that several tests share."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from twofold.core.graphs.construction import build_graph
from twofold.core.graphs.graph import Graph
from twofold.core.terms import TERMS

SUBSPACE = ("subspace_knn", "subspace")

GRAPHS = (*SUBSPACE, "heat", "binary", "cosine")
"""Kinds of graphs that the references have as well."""

# (n, c, h, w) and (left, right) numbers of directions
LAYOUTS = {
    "square": ((30, 1, 6, 6), (2, 3)),
    "wide": ((25, 1, 4, 9), (3, 2)),
    "vectors": ((40, 1, 12, 1), (3, 1)),
    "colour": ((24, 3, 5, 6), (2, 2)),
}


def stack(shape: tuple[int, ...], seed: int = 0, n_groups: int = 3) -> np.ndarray:
    """Noisy samples (n, c, h, w) around a few signed means."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_groups, *shape[1:]))
    return means[np.arange(shape[0]) % n_groups] + 0.5 * rng.normal(size=shape)


def positive(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.2, 1.2, size=shape)


def images(n: int = 60, h: int = 7, w: int = 6, seed: int = 0) -> np.ndarray:
    """A grey stack (n, h, w) of three groups."""
    return stack((n, 1, h, w), seed)[:, 0]


def holes(shape: tuple[int, ...], share: float = 0.3, seed: int = 0) -> np.ndarray:
    """A random mask that leaves something of every sample."""
    mask = np.random.default_rng(seed).uniform(size=shape) < share
    mask[mask.reshape(len(mask), -1).all(axis=1), 0] = False
    return mask


def pierced(samples: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """NaN where the mask is True."""
    return np.where(mask, np.nan, samples)


def relative(found: np.ndarray, known: np.ndarray) -> float:
    """How far an array is from a known one, in terms of the latter's norm."""
    return float(np.linalg.norm(found - known) / np.linalg.norm(known))


def weights(energy: object = 1.0, graph: object = 1.0) -> dict[str, np.ndarray]:
    """Weights of the terms for a batch, each of shape (batch,); 0 for other terms."""
    given = {"energy_weight": energy, "graph_weight": graph}
    batch = max(np.size(energy), np.size(graph))
    return {
        term.parameter: np.zeros(batch) + given.get(term.parameter, 0.0)
        for term in TERMS
    }


def batched(energy: object = 1.0, graph: object = 1.0, dtype: type = float) -> dict:
    """The same, each of shape (batch, 1, 1)."""
    pair = weights(energy, graph).items()
    return {name: w.reshape(-1, 1, 1).astype(dtype) for name, w in pair}


def groups(n: int = 60) -> np.ndarray:
    """The groups that ``images`` and ``stack`` were drawn from."""
    return np.arange(n) % 3


def dense(graph: Graph, run: int = 0) -> np.ndarray:
    """W of one run, written out."""
    n, q = graph.neighbors.shape[1:]
    directed = np.zeros((n, n))
    for i in range(n):
        for s in range(q):
            directed[i, graph.neighbors[run, i, s]] += graph.weights[run, i, s]
    return directed + directed.T


@dataclass(frozen=True)
class VStep:
    """All that the V step takes: V, (A, B, graph) of each side, lambda_2."""

    coefficients: np.ndarray
    inner: tuple[np.ndarray, np.ndarray]
    cross: tuple[np.ndarray, np.ndarray]
    graphs: tuple[Graph, Graph]
    graph_weight: float


def v_step(n: int, k: int, d: int, graph_weight: float, seed: int) -> VStep:
    rng = np.random.default_rng(seed)
    features = [rng.normal(size=(1, n, d)) for _ in range(2)]
    centroids = [rng.normal(size=(1, k, d)) for _ in range(2)]
    return VStep(
        rng.uniform(0.01, 2, size=(1, n, k)),
        tuple(u @ u.mT for u in centroids),
        tuple(f @ u.mT for f, u in zip(features, centroids, strict=True)),
        tuple(build_graph(f, 3, "binary") for f in features),
        graph_weight,
    )


def planted(n, k, within, between, seed=0):
    """Return a graph with planted clusters and unit weights, and its k groups."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % k
    share = np.where(groups[:, None] == groups, within, between)
    half = np.triu(rng.uniform(size=(n, n)) < share, 1).astype(float)
    return csr_array(half + half.T), groups
