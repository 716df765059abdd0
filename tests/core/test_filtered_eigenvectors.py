"""Eigenvectors by filtered subspaces, against a dense eigensolver."""

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval
from scipy.sparse import csr_array

from twofold.core.communities import graph_clusters
from twofold.core.filtered_eigenvectors import _filtered as filtered
from twofold.core.filtered_eigenvectors import filtered_eigenvectors
from twofold.core.spectral import spectral_embedding

torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
pytestmark = pytest.mark.torch

CPU = torch.device("cpu")


def symmetric(eigenvalues, seed=0):
    """Return a matrix of given eigenvalues, and its eigenvectors in their order."""
    n = len(eigenvalues)
    vectors = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]
    return csr_array(vectors * eigenvalues @ vectors.T), vectors


def test_the_filter_is_the_chebyshev_polynomial_of_the_interval():
    """Against NumPy's, on a diagonal matrix: at most 1 up to the edge, 1e8 at 1."""
    values, edge = np.linspace(-1, 1, 41), 0.5
    matrix = torch.diag(torch.as_tensor(values))
    block = torch.ones((41, 1), dtype=torch.float64)
    found = filtered(matrix, block, edge)[:, 0].numpy()
    scaled = (values - (edge - 1) / 2) / ((edge + 1) / 2)
    degree = np.ceil(np.log(1e8) / np.arccosh(scaled[-1])).astype(int)
    np.testing.assert_allclose(found, chebval(scaled, [0] * degree + [1]), rtol=1e-9)
    assert np.abs(found[values <= edge]).max() <= 1 + 1e-9
    assert found[-1] > 1e7


def test_samples_without_an_edge_have_rows_of_zeros():
    weights = graph(60, 4, 0.01).toarray()
    weights[::6] = weights[:, ::6] = 0
    ours = spectral_embedding(csr_array(weights), 4, 0, device=CPU)
    lengths = np.linalg.norm(ours, axis=1)
    np.testing.assert_allclose(lengths, np.arange(60) % 6 > 0, atol=1e-12)


def graph(n, k, bridge):
    """Return k dense groups whose neighbours are joined by weak edges."""
    rng, group = np.random.default_rng(0), np.arange(n) * k // n
    weights = rng.uniform(size=(n, n)) * (group[:, None] == group)
    weights += bridge * (np.abs(group[:, None] - group) == 1)
    return csr_array(np.triu(weights, 1) + np.triu(weights, 1).T)


def angles(ours, theirs):
    """Return the sines of the principal angles between the spans of columns."""
    a, b = np.linalg.qr(ours)[0], np.linalg.qr(theirs)[0]
    return np.linalg.norm(a - b @ (b.T @ a), axis=0)


@pytest.mark.parametrize("largest", [[0.9, 0.95, 0.99], [0.989, 0.99, 0.99]])
def test_the_largest_eigenvalues_beside_known_ones_are_found(largest):
    """Close eigenvalues, equal ones, and some near -1, which are as large."""
    values = np.concatenate([np.linspace(-1, 0.6, 96), largest, [1.0]])
    matrix, vectors = symmetric(values)
    guess = np.random.default_rng(1).normal(size=(100, 20))
    found = filtered_eigenvectors(matrix, vectors[:, -1:], 3, guess, 1e-10, CPU)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(found.T @ matrix @ found, np.diag(largest), atol=1e-9)
    assert angles(found, vectors[:, -4:-1]).max() < 1e-8


@pytest.mark.parametrize(("pieces", "bridge"), [(1, 0.01), (4, 0.0)])
def test_the_embedding_is_that_of_lanczos_iterations(pieces, bridge):
    """A connected graph, and one in pieces, whose eigenvalue 1 is multiple."""
    weights = graph(120, 4, bridge)
    ours = spectral_embedding(weights, 6, 0, device=CPU)
    theirs = spectral_embedding(weights, 6, 0)
    assert angles(ours, theirs).max() < 1e-7


def test_as_many_vectors_as_samples_allow():
    weights = graph(12, 2, 0.1)
    ours = spectral_embedding(weights, 11, 0, device=CPU)
    assert ours.shape == (12, 11)
    assert angles(ours, spectral_embedding(weights, 11, 0)).max() < 1e-6


def test_clusters_of_a_graph_are_those_of_the_cpu():
    weights = graph(400, 5, 0.02)
    theirs = graph_clusters(weights, 5, 0)
    np.testing.assert_array_equal(graph_clusters(weights, 5, 0, device=CPU), theirs)
    np.testing.assert_array_equal(theirs, np.arange(400) * 5 // 400)
