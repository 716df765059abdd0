"""The labels read off V, and those of new samples."""

import numpy as np
import problems
import pytest
import subspace_reference
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from twofold import TSNMF
from twofold.estimators.labels import ASSIGNMENTS, assign_labels, mean_rows
from twofold.metrics import clustering_accuracy

# By K-means on V


def test_labels_are_those_of_k_means_where_all_samples_differ():
    V = np.random.default_rng(0).uniform(size=(40, 3))
    labels = assign_labels(V, None, np.arange(40), 3, seed=5, k_means=True)
    kmeans = KMeans(3, n_init=10, random_state=5).fit(V)
    np.testing.assert_array_equal(labels, kmeans.labels_)


def test_identical_samples_get_one_label():
    V = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.9], [1.0, 0.1]])
    group = np.array([0, 1, 1, 1])
    labels = assign_labels(V, None, group, 2, seed=0, k_means=True)
    assert labels[1] == labels[2] == labels[3] != labels[0]


@pytest.mark.parametrize("weights", [None, csr_array(1 - np.eye(6))])
def test_identical_samples_make_fewer_clusters(weights):
    V = np.random.default_rng(0).uniform(size=(6, 3))
    group = np.array([0, 0, 0, 1, 1, 1])
    labels = assign_labels(V, weights, group, 3, seed=0)
    assert set(labels) == {0, 1}


@pytest.mark.parametrize("assign", ASSIGNMENTS)
def test_fewer_clusters_than_asked_for_are_said(images, assign):
    twice = np.repeat(images[:2], 3, axis=0)
    message = "found 2 of n_clusters=3 .* only 2 of the 6 samples differ"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model = TSNMF(3, assign_labels=assign, random_state=0).fit(twice)
    assert set(model.labels_) == {0, 1}
    assert caught[0].filename == __file__  # the line of the user's call


def test_the_largest_coefficients_are_the_labels_without_a_graph():
    V = np.random.default_rng(0).uniform(size=(40, 3))
    labels = assign_labels(V, None, np.arange(40), 3, seed=0)
    np.testing.assert_array_equal(labels, V.argmax(axis=1))


def test_a_fit_has_the_largest_coefficients_unless_the_graph_moves_samples():
    noise = np.random.default_rng(0).normal(size=(60, 7, 6))
    for assign, same in (("coefficients", True), ("graph", False)):
        model = TSNMF(3, assign_labels=assign, random_state=0).fit(noise)
        largest = model.coefficients_.argmax(axis=1)
        assert np.array_equal(model.labels_, largest) == same


def test_means_of_clusters():
    V = np.random.default_rng(0).uniform(size=(6, 3)).astype(np.float32)
    means = mean_rows(V, np.array([2, 0, 1, 0, 2, 2]))
    assert means.dtype == np.float32
    expected = [V[[1, 3]].mean(axis=0), V[2], V[[0, 4, 5]].mean(axis=0)]
    np.testing.assert_allclose(means, expected, rtol=1e-6)


# By the graph


def pieces(n, k):
    """Groups of n samples that are joined to their own group alone, and W."""
    groups = np.arange(n) % k
    return groups, csr_array((groups[:, None] == groups) - np.eye(n))


def test_the_largest_coefficients_name_the_clusters_where_the_graph_agrees():
    groups, W = pieces(30, 3)
    V = 0.1 + np.eye(3)[groups][:, [2, 0, 1]]
    labels = assign_labels(V, W, np.arange(30), 3, seed=0)
    np.testing.assert_array_equal(labels, V.argmax(axis=1))


def test_samples_move_to_those_that_they_are_joined_to():
    groups, W = pieces(60, 3)
    V = 0.1 + np.eye(3)[groups]
    V[:10] = V[:10, [1, 2, 0]]
    labels = assign_labels(V, W, np.arange(60), 3, seed=0)
    np.testing.assert_array_equal(labels, groups)


def test_a_graph_without_edges_moves_nobody():
    V = np.random.default_rng(0).uniform(size=(20, 3))
    labels = assign_labels(V, csr_array((20, 20)), np.arange(20), 3, seed=0)
    np.testing.assert_array_equal(labels, V.argmax(axis=1))


def test_k_means_comes_first_where_a_cluster_is_nobodys_largest():
    """The third column never is the largest one, and yet tells a group apart."""
    groups, W = pieces(30, 3)
    V = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.5, 0.9]])[groups]
    labels = assign_labels(V, W, np.arange(30), 3, seed=0)
    assert clustering_accuracy(groups, labels) == 1.0
    assert set(labels) == {0, 1, 2}


def test_identical_samples_move_together():
    """Each of them alone would go with its own edges."""
    group = np.array([0, 1, 2, 2, 3, 4])
    W = np.zeros((6, 6))
    W[0, 1] = W[4, 5] = 3
    W[1, 2] = 1
    W[3, 4] = 2
    V = np.array([[1, 0], [1, 0], [1, 0], [0.8, 0.2], [0, 1], [0, 1]])
    labels = assign_labels(V, csr_array(W + W.T), group, 2, seed=0)
    np.testing.assert_array_equal(labels, [0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize("graph", problems.GRAPHS)
def test_copies_share_a_label(graph):
    rng = np.random.default_rng(3)
    images = rng.normal(size=(40, 6, 6))  # no clear groups
    copies = rng.integers(0, 40, size=90)
    model = TSNMF(4, graph=graph, random_state=0).fit(images[copies])
    assert len(set(zip(copies, model.labels_, strict=True))) == len(set(copies))


@pytest.mark.parametrize("graph", ["subspace_knn", "heat", "binary", "cosine"])
@pytest.mark.parametrize("init", ["spectral", "random"])
def test_planted_clusters_are_found(images, graph, init):
    model = TSNMF(3, graph=graph, init=init, assign_labels="graph", random_state=0)
    found = model.fit_predict(images)
    assert clustering_accuracy(problems.groups(), found) == 1.0


@pytest.mark.parametrize("graph", problems.SUBSPACE)
def test_planted_subspaces_are_found(graph):
    """Combinations of two images of each group, of any sign, near and far."""
    rng = np.random.default_rng(0)
    groups, pairs = np.arange(90) % 3, rng.normal(size=(3, 2, 20, 20))
    places = rng.normal(size=(90, 2))
    samples = np.einsum("ij,ijhw->ihw", places, pairs[groups])
    found = TSNMF(3, graph=graph, random_state=0).fit_predict(samples)
    assert clustering_accuracy(groups, found) == 1.0


def test_the_parameter_is_checked(images):
    with pytest.raises(ValueError, match="'assign_labels' parameter of TSNMF must be"):
        TSNMF(3, assign_labels="spectral").fit(images)


# Of new samples


def unit(images):
    return images / np.linalg.norm(images, axis=(1, 2), keepdims=True)


def edges(trained, asked, graph, q, bandwidth):
    """Weights (m, n) of edges from projected samples to fitted ones of one side."""
    if graph in problems.SUBSPACE:
        return subspace_reference.new_edges(trained, q, graph, asked)
    if graph == "cosine":
        trained, asked = (
            rows / np.linalg.norm(rows, axis=1, keepdims=True)
            for rows in (trained, asked)
        )
    squared = cdist(asked, trained, "sqeuclidean")
    weights = {
        "heat": np.exp(-squared / bandwidth),
        "binary": np.ones_like(squared),
        "cosine": np.maximum(1 - squared / 2, 0),
    }[graph]
    last = np.sort(squared, axis=1)[:, q - 1 : q]
    return np.where(squared <= last, weights, 0)


@pytest.mark.parametrize("graph", problems.GRAPHS)
def test_new_samples_follow_the_votes_of_those_they_are_joined_to(graph):
    """Written out from the fitted attributes; noise, so that votes are close."""
    rng = np.random.default_rng(0)
    noise, new = rng.normal(size=(50, 6, 7)), rng.normal(size=(40, 6, 7))
    new = np.concatenate([new, noise])
    model = TSNMF(4, graph=graph, n_neighbors=6, random_state=0).fit(noise)
    votes = np.zeros((90, 4))
    sides = [
        lambda X: X.transpose(0, 2, 1) @ model.left_projection_,
        lambda X: X @ model.right_projection_,
    ]
    for project, side in zip(sides, model.state_.predictor.sides, strict=True):
        seen, asked = (project(unit(X)).reshape(len(X), -1) for X in (noise, new))
        weights = edges(seen, asked, graph, 6, side.bandwidth)
        votes += weights @ np.eye(4)[model.labels_]
    np.testing.assert_array_equal(model.predict(new), votes.argmax(axis=1))


@pytest.mark.parametrize("graph", ["heat", "subspace_knn"])
def test_by_k_means_new_samples_join_the_nearest_center(graph):
    rng = np.random.default_rng(0)
    noise, new = rng.normal(size=(50, 6, 7)), rng.normal(size=(40, 6, 7))
    options = {"graph": graph, "assign_labels": "k-means"}
    model = TSNMF(4, random_state=0, **options).fit(noise)
    placed = model.transform(noise)
    centers = [placed[model.labels_ == j].mean(axis=0) for j in range(4)]
    nearest = cdist(model.transform(new), centers).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(new), nearest)


@pytest.mark.parametrize("assign", ["graph", "coefficients"])
def test_samples_without_an_edge_join_the_nearest_mean_of_coefficients(assign):
    flat = problems.images(h=4, w=5).reshape(60, -1)
    model = TSNMF(3, graph="heat", assign_labels=assign, random_state=0).fit(flat)
    rows = model.coefficients_
    centers = [rows[model.labels_ == j].mean(axis=0) for j in range(3)]
    np.testing.assert_allclose(model.state_.centers, centers, rtol=1e-9)
    far = 100 * np.random.default_rng(1).normal(size=(20, 20))
    nearest = cdist(model.transform(far), centers).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(far), nearest)


@pytest.mark.parametrize("graph", problems.GRAPHS)
def test_samples_brighter_than_all_join_their_group(graph):
    """Of vectors the lengths count, and heat does not reach so far."""
    flat = problems.images(h=4, w=5).reshape(60, -1)
    model = TSNMF(3, graph=graph, random_state=0).fit(flat)
    np.testing.assert_array_equal(model.predict(100 * flat), model.labels_)


@pytest.mark.parametrize("graph", problems.GRAPHS)
def test_a_sample_is_placed_alike_in_any_company(graph):
    flat = problems.images().reshape(60, -1)
    model = TSNMF(3, graph=graph, random_state=0).fit(flat)
    company = np.concatenate([flat[:5], 1e13 * flat[5:6]])
    placed = model.transform(company)[:5]
    np.testing.assert_allclose(placed, model.transform(flat[:5]), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(model.predict(company)[:5], model.predict(flat[:5]))
