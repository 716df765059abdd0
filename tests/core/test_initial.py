import numpy as np
import problems
import pytest
from scipy.sparse.csgraph import connected_components

from twofold.core.initial import (
    KINDS,
    first_adjacency,
    indicators,
    spectral_embedding,
    starts,
)
from twofold.core.solver import Settings
from twofold.metrics import accuracy

SETTINGS = Settings((3, 3))


def start(kind, seeds, samples=None, k=3):
    samples = problems.stack((60, 1, 7, 6)) if samples is None else samples
    return starts(samples, k, kind, SETTINGS, 1.0, seeds)


@pytest.mark.parametrize("kind", KINDS)
def test_starts_are_positive_and_repeat_with_the_seed(kind):
    first, second = start(kind, [3, 4]), start(kind, [3, 4])
    assert first.shape == (2, 60, 3)
    assert (first > 0).all()
    np.testing.assert_array_equal(first, second)


def test_random_starts_differ_between_seeds():
    first, second = start("random", [1, 2])
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("kind", ["spectral", "k-means"])
def test_clustered_starts_find_well_separated_groups(kind):
    samples = problems.stack((60, 1, 7, 6)) + 5 * problems.groups()[:, None, None, None]
    labels = start(kind, [0], samples)[0].argmax(axis=1)
    assert accuracy(problems.groups(), labels) == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (3, 2), (6, 6)])
def test_starts_exist_for_as_many_clusters_as_samples(kind, n, k):
    samples = problems.stack((n, 1, 7, 6))
    assert np.isfinite(start(kind, [0], samples, k)).all()


@pytest.mark.parametrize("offset", [0, 5], ids=["connected", "in pieces"])
def test_the_embedding_spans_the_leading_eigenvectors(offset):
    samples = problems.stack((60, 1, 7, 6))
    samples = samples + offset * problems.groups()[:, None, None, None]
    weights = first_adjacency(samples, 3, SETTINGS, 1.0)
    dense = weights.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    root = 1 / np.sqrt(dense.sum(axis=1))
    leading = np.linalg.eigh(root[:, None] * dense * root)[1][:, -3:]
    unit = leading / np.linalg.norm(leading, axis=1, keepdims=True)
    ours = spectral_embedding(weights, 3, seed=0)
    np.testing.assert_allclose(ours @ ours.T, unit @ unit.T, atol=1e-4)


def test_the_first_graph_has_no_more_pieces_than_clusters():
    pairs = 100 * np.arange(30)[:, None, None, None] + problems.stack((30, 2, 1, 1))
    samples = pairs.reshape(60, 1, 1, 1)
    for k in (2, 5):
        weights = first_adjacency(samples, k, Settings((1, 1), n_neighbors=1), 1.0)
        assert connected_components(weights)[0] <= k


def test_indicators_are_lifted_off_zero():
    lifted = indicators(np.array([1, 0]), 2)
    np.testing.assert_allclose(lifted, [[0.2, 1.2], [1.2, 0.2]])
