"""Embeddings of many numbers of eigenvectors, by one search."""

import numpy as np
import problems
import pytest
from scipy.sparse import block_diag, csr_array

from twofold.core.spectral import nested_embedding, spectral_embedding


def products(points):
    """What no rotation of the eigenvectors changes."""
    return points @ points.T


def graph_of_two_components():
    """A planted graph of 60 samples beside one of 30, and a sample without an edge."""
    parts = [problems.planted(n, 3, 0.6, 0.1, seed=n)[0] for n in (60, 30)]
    return csr_array(block_diag([*parts, csr_array((1, 1))], format="csr"))


GRAPHS = {
    "one component": problems.planted(80, 5, 0.5, 0.1)[0],
    "two, and a sample alone": graph_of_two_components(),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_it_is_the_embedding_of_each_number(name, count):
    weights = GRAPHS[name]
    found = nested_embedding(weights, 9, 0, 1e-10)(count)
    expected = spectral_embedding(weights, count, 0)
    assert found.shape == expected.shape
    np.testing.assert_allclose(products(found), products(expected), atol=1e-7)


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_it_is_that_of_all_eigenvectors(count):
    weights = GRAPHS["one component"]
    root = np.sqrt(weights.sum(axis=1))
    _, vectors = np.linalg.eigh(weights.toarray() / np.outer(root, root))
    leading = vectors[:, ::-1][:, :count]
    expected = leading / np.linalg.norm(leading, axis=1, keepdims=True)
    found = nested_embedding(weights, 7, 0, 1e-10)(count)
    np.testing.assert_allclose(products(found), products(expected), atol=1e-7)


def test_no_component_is_left_out():
    weights = GRAPHS["two, and a sample alone"]
    found = nested_embedding(weights, 5, 0, 1e-10)(1)
    expected = np.zeros((91, 2))
    expected[:60, 0] = expected[60:90, 1] = 1
    np.testing.assert_allclose(products(found), products(expected), atol=1e-12)


def test_a_graph_without_edges_has_rows_of_zeros():
    assert not nested_embedding(csr_array((4, 4)), 3, 0, 1e-6)(2).any()
