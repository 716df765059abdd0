import numpy as np
import problems
import pytest
from scipy.sparse import csr_array, lil_array
from scipy.sparse.csgraph import connected_components

from twofold.core.grams import both_sides
from twofold.core.graphs.construction import build_graph
from twofold.core.spectral import spectral_embedding
from twofold.core.start import (
    STARTS,
    first_adjacency,
    first_projections,
    indicators,
    is_well_connected,
    starts,
)
from twofold.core.state import SolverOptions
from twofold.metrics import clustering_accuracy

SETTINGS = SolverOptions((3, 3))
WEIGHTS = {name: float(w[0]) for name, w in problems.weights().items()}


def start(kind, seeds, samples=None, k=3):
    samples = problems.stack((60, 1, 7, 6)) if samples is None else samples
    return starts(samples, both_sides(samples), k, kind, SETTINGS, WEIGHTS, seeds)


@pytest.mark.parametrize("kind", STARTS)
def test_starts_are_positive_and_repeat_with_the_seed(kind):
    first, second = start(kind, [3, 4]), start(kind, [3, 4])
    assert first.shape == (2, 60, 3)
    assert (first > 0).all()
    np.testing.assert_array_equal(first, second)


def test_random_starts_differ_between_seeds():
    first, second = start("random", [1, 2])
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("kind", ["spectral", "k-means"])
def test_each_clustered_start_has_its_own_seed(kind):
    """Of noise, K-means finds other clusters with every seed."""
    noise = np.random.default_rng(0).normal(size=(60, 1, 7, 6))
    first, second = start(kind, [1, 2], noise, k=12)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("kind", ["spectral", "k-means"])
def test_clustered_starts_find_well_separated_groups(kind):
    samples = problems.stack((60, 1, 7, 6)) + 5 * problems.groups()[:, None, None, None]
    labels = start(kind, [0], samples)[0].argmax(axis=1)
    assert clustering_accuracy(problems.groups(), labels) == 1.0


@pytest.mark.parametrize("kind", STARTS)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (3, 2), (6, 6)])
def test_starts_exist_for_as_many_clusters_as_samples(kind, n, k):
    samples = problems.stack((n, 1, 7, 6))
    assert np.isfinite(start(kind, [0], samples, k)).all()


def first_graph(samples, k, settings=SETTINGS):
    views = first_projections(samples, both_sides(samples), settings, WEIGHTS)
    return first_adjacency(views, k, settings)


@pytest.mark.parametrize(("offset", "n_pieces"), [(0, 1), (9, 3)])
def test_the_embedding_spans_the_leading_eigenvectors(offset, n_pieces):
    noise = np.random.default_rng(0).normal(size=(60, 1, 7, 6))
    samples = noise + offset * problems.groups()[:, None, None, None]
    weights = first_graph(samples, 4)
    assert connected_components(weights)[0] == n_pieces
    dense = weights.toarray()
    root = 1 / np.sqrt(dense.sum(axis=1))
    leading = np.linalg.eigh(root[:, None] * dense * root)[1][:, -4:]
    unit = leading / np.linalg.norm(leading, axis=1, keepdims=True)
    ours = spectral_embedding(weights, 4, seed=0)
    np.testing.assert_allclose(ours @ ours.T, unit @ unit.T, atol=1e-4)


@pytest.mark.parametrize("seed", range(40))
def test_a_path_of_three_samples_is_embedded(seed):
    """Its second eigenvalue is 0: Lanczos steps end where nothing is left of a step."""
    first, second = np.random.default_rng(seed).uniform(size=2)
    dense = np.array([[0, first, 0], [first, 0, second], [0, second, 0]])
    root = 1 / np.sqrt(dense.sum(axis=1))
    leading = np.linalg.eigh(root[:, None] * dense * root)[1][:, -2:]
    unit = leading / np.linalg.norm(leading, axis=1, keepdims=True)
    ours = spectral_embedding(csr_array(dense), 2, seed=0, tolerance=1e-4)
    np.testing.assert_allclose(ours @ ours.T, unit @ unit.T, atol=1e-3)


def test_the_first_graph_is_the_sum_of_both_sides():
    samples = np.random.default_rng(0).normal(size=(40, 1, 7, 6))
    views = first_projections(samples, both_sides(samples), SETTINGS, WEIGHTS)
    graphs = [build_graph(view.features, 5, "heat") for view in views]
    both = sum(problems.dense(graph) for graph in graphs)
    weights = first_graph(samples, 3)
    np.testing.assert_allclose(weights.toarray(), both)


@pytest.mark.parametrize("energy_weight", [0.0, 0.1, 1.0])
def test_the_first_directions_weigh_spread_against_energy(energy_weight):
    samples = problems.stack((30, 1, 7, 6)) + 1
    weights = {**WEIGHTS, "energy_weight": energy_weight}
    options = SolverOptions((2, 3))
    views = first_projections(samples, both_sides(samples), options, weights)
    left, right = (view.features for view in views)
    images = samples[:, 0]
    centred = images - images.mean(axis=0)
    cost = sum(x.T @ x for x in centred) - energy_weight * sum(x.T @ x for x in images)
    P = np.linalg.eigh(cost)[1][:, :3]
    expected = (images @ P).reshape(30, -1)
    np.testing.assert_allclose(right[0] @ right[0].T, expected @ expected.T, atol=1e-8)
    cost = sum(x @ x.T for x in centred) - energy_weight * sum(x @ x.T for x in images)
    Q = np.linalg.eigh(cost)[1][:, :2]
    expected = (Q.T @ images).reshape(30, -1)
    np.testing.assert_allclose(left[0] @ left[0].T, expected @ expected.T, atol=1e-8)


def test_the_first_graph_has_no_more_pieces_than_clusters():
    groups = 100 * np.arange(6).repeat(10)[:, None, None, None]
    samples = problems.stack((60, 1, 1, 1)) + groups
    settings = SolverOptions((1, 1), n_neighbors=3, graph="binary")
    for k in (2, 5):
        weights = first_graph(samples, k, settings)
        assert connected_components(weights)[0] <= k


def test_a_few_samples_far_from_all_others_are_no_cluster_of_the_start():
    """Four of 124 make a connected piece with 3 neighbours, but not with 6."""
    samples = problems.stack((124, 1, 5, 5))
    samples[60:120] += 8
    samples[120:] += 4
    settings = SolverOptions((3, 3), n_neighbors=3)
    weights = first_graph(samples, 3, settings)
    _, piece = connected_components(weights)
    assert np.bincount(piece).min() > 4


@pytest.mark.parametrize("graph", problems.GRAPHS)
def test_more_pieces_than_clusters_start_from_k_means(graph):
    """Opposite samples never meet under cosines, nor copies far from all others."""
    ray = problems.positive((1, 1, 3, 4))
    scales = np.concatenate([np.linspace(1, 2, 50), -np.linspace(1, 2, 50)])
    far = 1e6 * np.arange(3).repeat(200)[:, None, None, None]
    for samples, k in [
        (scales[:, None, None, None] * ray, 1),
        (far + np.zeros((600, 1, 3, 4)), 2),
    ]:
        settings = SolverOptions((2, 2), graph=graph)
        sides = both_sides(samples)
        start = starts(samples, sides, k, "spectral", settings, WEIGHTS, [0])
        assert start.shape == (1, len(samples), k)
        assert np.isfinite(start).all()


def test_indicators_are_lifted_off_zero():
    lifted = indicators(np.array([1, 0]), 2)
    np.testing.assert_allclose(lifted, [[0.2, 1.2], [1.2, 0.2]])


def test_a_sample_without_edges_is_no_component():
    """A blank image has no edges; it must neither ask for neighbours nor be alone."""
    W, _ = problems.planted(60, 3, 0.6, 0.01)
    padded = lil_array((61, 61))
    padded[:60, :60] = W
    alone = csr_array(padded)
    assert is_well_connected(alone, 3)
    with_it, without = (spectral_embedding(graph, 3, 0) for graph in (alone, W))
    assert not with_it[60].any()
    np.testing.assert_allclose(
        with_it[:60] @ with_it[:60].T, without @ without.T, atol=1e-8
    )


def test_a_graph_without_edges_is_not_embedded():
    none = csr_array((5, 5))
    assert not is_well_connected(none, 2)
    assert not spectral_embedding(none, 2, 0).any()
