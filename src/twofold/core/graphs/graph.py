"""The graph W of the samples, kept as lists of weighted edges."""

from dataclasses import dataclass, replace
from functools import cached_property

from array_api_compat import array_namespace, device, is_numpy_array
from scipy.sparse import csr_array

from twofold.core.arrays import (
    Array,
    flat_neighbors,
    row_sums,
    slices,
    sparse_rows,
    symmetric_product,
)

_BLOCK_ENTRIES = 2**24
"""Maximum number of neighbours of neighbours that are compared at once."""


@dataclass(frozen=True)
class Graph:
    """A symmetric graph W = A + A', kept as the q listed edges of every sample.

    An edge listed by both of its ends has half of its weight in each direction, so that
    it counts once in W.

    If samples have weights m_i, W holds m_i m_j w_ij, and V has the rows
    sqrt(m_i) v_i, see ``weighted``. ``product``, ``degree`` and ``laplacian`` are those
    for such rows.
    """

    neighbors: Array  # (batch, n, q), column indices of the entries of A
    weights: Array  # (batch, n, q), entries of A
    degree: Array  # (batch, n, 1), diagonal of D: the row sums of W, over m_i
    bandwidth: Array  # (batch, 1, 1), scale of squares in the heat kernel; 0 if none
    roots: Array | None = None  # (batch, n, 1), sqrt(m_i); None if all of them are 1
    # (batch, 1, 1), fraction found of the nearest neighbours; None if it is exact.
    recall: Array | None = None

    @classmethod
    def from_edges(
        cls, neighbors: Array, weights: Array, bandwidth: Array | None = None
    ) -> "Graph":
        """Build W from the entries of A; the degrees follow from them."""
        degree = row_sums(neighbors, weights)
        if bandwidth is None:
            bandwidth = array_namespace(weights).zeros_like(degree[:, :1, :])
        return cls(neighbors, weights, degree, bandwidth)

    @classmethod
    def of_single_sample(cls, features: Array) -> "Graph":
        """Return the graph of one sample (batch, 1, d), which has no edge."""
        xp = array_namespace(features)
        shape = features.shape[0], 1, 1
        none = xp.zeros(shape, dtype=features.dtype, device=device(features))
        return cls(xp.zeros_like(none, dtype=xp.int64), none, none, none)

    def weighted(self, roots: Array | None) -> "Graph":
        """Return the graph of samples that have weights m_i; ``roots`` are sqrt(m_i).

        An edge of weight w_ij stands for m_i m_j edges, and the smoothness becomes
        1/2 sum_ij m_i m_j w_ij ||v_i - v_j||^2. In terms of the rows y_i =
        sqrt(m_i) v_i this is Tr(Y' L Y) with L_ij = -sqrt(m_i m_j) w_ij off the
        diagonal, and L_ii = sum_j m_j w_ij.

        Parameters
        ----------
        roots : array of shape (n, 1), or None if all weights are 1
        """
        if roots is None:
            return self
        xp = array_namespace(self.weights)
        batch, n, q = self.neighbors.shape
        m = roots[:, 0] ** 2
        ends = xp.take(m, self.neighbors.reshape(-1), axis=0).reshape(batch, n, q)
        weights = self.weights * m[:, None] * ends
        return replace(
            self,
            weights=weights,
            degree=row_sums(self.neighbors, weights) / m[:, None],
            roots=xp.broadcast_to(roots, (batch, n, 1)),
        )

    @cached_property
    def adjacency(self) -> csr_array:
        """W in SciPy; the graphs of a batch are blocks on the diagonal."""
        entries = self.weights.reshape(-1, self.weights.shape[-1])
        directed = sparse_rows(flat_neighbors(self.neighbors), entries)
        return directed + directed.T

    def product(self, coefficients: Array) -> Array:
        """Compute W V for V of shape (batch, n, k)."""
        rows = coefficients if self.roots is None else coefficients / self.roots
        if is_numpy_array(rows):
            flat = rows.reshape(-1, rows.shape[-1])
            product = (self.adjacency @ flat).reshape(rows.shape)
        else:
            product = symmetric_product(self.neighbors, self.weights, rows)
        return product if self.roots is None else product / self.roots

    def laplacian(self, coefficients: Array) -> Array:
        """Compute L V = D V - W V for V of shape (batch, n, k)."""
        return self.degree * coefficients - self.product(coefficients)


@dataclass(frozen=True)
class Edges:
    """Weighted edges from new samples to training samples."""

    weights: Array  # (m, q)
    neighbors: Array  # (m, q), indices of training samples

    def sums(self, rows: Array) -> Array:
        """Return sum_l w_l rows_l over the neighbours l of every new sample: (m, k)."""
        xp = array_namespace(rows)
        taken = xp.take(rows, self.neighbors.reshape(-1), axis=0)
        taken = taken.reshape(*self.neighbors.shape, rows.shape[1])
        return xp.sum(self.weights[..., None] * taken, axis=1)

    @property
    def degree(self) -> Array:
        """sum_l w_l of every new sample: (m, 1)."""
        return array_namespace(self.weights).sum(self.weights, axis=1, keepdims=True)


def is_listed(lists: Array, edges: Array) -> Array:
    """Return for every edge i -> j whether j is in the list of i: (batch, n, e).

    ``lists`` is of shape (batch, n, q), and ``edges`` (batch, n, e) has the ends j.
    """
    xp = array_namespace(lists)
    *_, n, e = edges.shape
    parts = [
        xp.any(edges[..., block, :, None] == lists[..., block, None, :], axis=-1)
        for block in slices(n, _BLOCK_ENTRIES // (e * lists.shape[-1]))
    ]
    return xp.concat(parts, axis=-2)


def is_listed_back(lists: Array, edges: Array) -> Array:
    """Return for every edge i -> j whether i is in the list of j; see ``is_listed``."""
    xp = array_namespace(lists)
    flat_lists, flat_edges = flat_neighbors(lists), flat_neighbors(edges)
    n, q = flat_lists.shape
    e = flat_edges.shape[1]
    owners = xp.arange(n, dtype=lists.dtype, device=device(lists))[:, None, None]
    parts = []
    for block in slices(n, _BLOCK_ENTRIES // (e * q)):
        ends = flat_edges[block, :].reshape(-1)
        lists_of_ends = xp.take(flat_lists, ends, axis=0).reshape(-1, e, q)
        parts.append(xp.any(lists_of_ends == owners[block], axis=-1))
    return xp.concat(parts, axis=0).reshape(edges.shape)
