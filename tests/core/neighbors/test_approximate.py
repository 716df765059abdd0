"""Neighbours in cells: what is found of brute force, and in which order."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from twofold import TSNMF
from twofold.core.graphs import KINDS
from twofold.core.graphs.construction import approximate_graph, build_graph
from twofold.core.neighbors import approximate
from twofold.core.neighbors.approximate import cell_bounds, cluster_centres, divide
from twofold.estimators.parameters import search_name


def groups(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3 * rng.normal(size=(12, d))[np.arange(n) % 12]


def share_found(neighbors, points):
    """Return the fraction of the nearest neighbours of brute force that are listed."""
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, : neighbors.shape[1]]
    return np.mean((nearest[..., None] == neighbors[:, None]).any(axis=-1))


def test_nearly_all_nearest_neighbours_are_found_with_their_distances():
    points = groups(4000, 20)
    cells = divide(points, 5)
    squared, neighbors = cells.nearest(5)
    assert cells.visited.shape[1] < len(cells.bounds) - 1  # not all are compared
    assert share_found(neighbors, points) > 0.97
    assert not (neighbors == np.arange(4000)[:, None]).any()
    assert all(len(set(row)) == 5 for row in neighbors)
    pairs = points[:, None] - points[neighbors]
    np.testing.assert_allclose(squared, (pairs**2).sum(axis=-1), rtol=1e-4)
    assert (np.diff(squared, axis=1) >= 0).all()


def test_the_recall_that_is_said_is_that_of_brute_force():
    points = groups(6000, 30)
    cells = divide(points, 10)
    # 3,000 neighbours are tried: three standard deviations of a fraction near 0.98.
    assert share_found(cells.nearest(10)[1], points) == pytest.approx(
        cells.recall, abs=0.008
    )


def test_more_cells_are_visited_until_enough_neighbours_are_found(monkeypatch):
    """Points without clusters in many dimensions have neighbours in many cells."""
    points = np.random.default_rng(0).normal(size=(3000, 15))
    monkeypatch.setattr(approximate, "_VISITS", 1)
    recalls = []
    for wanted in (0.0, 0.9):
        monkeypatch.setattr(approximate, "_RECALL", wanted)
        cells = divide(points, 5)
        recalls.append(share_found(cells.nearest(5)[1], points))
    assert recalls[0] < 0.5
    assert recalls[1] > 0.88
    monkeypatch.setattr(approximate, "_RECALL", 1.1)
    every = divide(points, 5)
    assert every.recall == 1
    assert share_found(every.nearest(5)[1], points) == 1


def test_the_largest_products_are_those_with_points_in_visited_cells():
    points = groups(2000, 10)
    white = np.random.default_rng(1).normal(size=(2000, 6))
    cells = divide(points, 5)
    products, neighbors = cells.largest_products(white, 5)
    cell = np.empty(2000, int)
    cell[cells.order] = cells.cell
    visited = np.empty_like(cells.visited)
    visited[cells.order] = cells.visited
    compared = (cell[None, :, None] == visited[:, None, :]).any(axis=-1)
    np.fill_diagonal(compared, False)
    assert not compared.all(axis=1).any()
    exact = np.where(compared, np.abs(white @ white.T), -1)
    np.testing.assert_allclose(products, np.sort(exact)[:, :-6:-1], rtol=1e-4)
    listed = np.take_along_axis(exact, neighbors, axis=1)
    np.testing.assert_allclose(listed, products, rtol=1e-4)


def test_rows_that_visit_only_tiny_cells_are_searched_among_all(monkeypatch):
    """Ten far groups of four points: five neighbours need a second group."""
    monkeypatch.setattr(approximate, "_CELL_SIZE", 4)
    monkeypatch.setattr(approximate, "_VISITS", 1)
    monkeypatch.setattr(approximate, "_RECALL", 0.0)
    rng = np.random.default_rng(0)
    points = 100 * np.arange(10)[:, None, None] + rng.normal(size=(10, 4, 3))
    points = points.reshape(40, 3)
    _, neighbors = divide(points, 5).nearest(5)
    assert share_found(neighbors, points) == 1


def test_cells_are_clusters_cut_to_nearly_one_size():
    bounds = cell_bounds(np.array([3, 0, 300, 128]), 128)
    np.testing.assert_array_equal(bounds, [0, 3, 103, 203, 303, 431])


def test_centres_of_clusters_that_lie_apart_are_their_means():
    apart = 50 * np.eye(6)[np.arange(600) % 6] + groups(600, 6)
    points = apart.astype(np.float32)
    means = [points[i::6].mean(axis=0) for i in range(6)]
    found = cluster_centres(points[np.argsort(np.arange(600) % 6, kind="stable")], 6)
    order = np.argsort(cdist(means, found).argmin(axis=1))
    np.testing.assert_allclose(found, np.array(means)[order], atol=1e-4)


@pytest.mark.parametrize("different", [1, 3])
def test_copies_of_few_points_are_divided(different):
    points = np.tile(np.eye(3)[:different], (600, 1))
    squared, neighbors = divide(points, 5).nearest(5)
    assert not squared.any()
    np.testing.assert_array_equal(points[neighbors[:, 0]], points)


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_of_a_single_cell_are_those_of_all_samples(kind):
    features = groups(90, 40).astype(np.float64)[None]
    ours, exact = (
        build(features, 5, kind).adjacency.toarray()
        for build in (approximate_graph, build_graph)
    )
    np.testing.assert_allclose(ours, exact, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_each_entry_of_a_batch_has_its_own_graph_of_weighted_samples(weighted):
    features = np.stack([groups(90, 40), groups(90, 40, seed=1)])
    roots = np.sqrt(1 + np.arange(90) % 3)[:, None] if weighted else None
    if weighted:
        features = features * roots
    for kind in ("heat", "subspace_knn"):
        ours, exact = (
            build(features, 5, kind, roots)
            for build in (approximate_graph, build_graph)
        )
        for name in ("weights", "degree"):
            np.testing.assert_allclose(
                getattr(ours, name), getattr(exact, name), rtol=1e-4, atol=1e-6
            )
        assert ours.recall.shape == (2, 1, 1)


@pytest.mark.parametrize(("spread", "least"), [(0.1, 0.98), (1e-3, 0), (1e-5, 0)])
def test_the_recall_says_what_single_precision_hides(spread, least):
    """Small groups far from each other, two of which may share a cell."""
    rng = np.random.default_rng(0)
    centres = np.repeat(10 * rng.normal(size=(40, 12)), 50, axis=0)
    points = centres + spread * rng.normal(size=(2000, 12))
    cells = divide(points, 5)
    neighbors = cells.nearest(5)[1]
    found = share_found(neighbors, points)
    assert found >= least
    # 1,500 neighbours are tried.
    assert found == pytest.approx(cells.recall, abs=0.05)
    np.testing.assert_array_equal(centres[neighbors[:, 0]], centres)


def test_a_sample_far_from_all_others_changes_no_other():
    points = groups(2000, 12)
    points[7] *= 1e4
    squared, neighbors = divide(points, 5).nearest(5)
    others = np.delete(np.arange(2000), 7)
    pairs = ((points[:, None] - points[neighbors]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(squared[others], pairs[others], rtol=0.02)
    assert share_found(neighbors, points) > 0.97


def test_an_approximate_fit_agrees_with_the_exact_one():
    images = groups(3000, 48).reshape(3000, 8, 6)
    exact = TSNMF(12, neighbors="exact", random_state=0).fit(images)
    near = TSNMF(12, neighbors="approximate", random_state=0).fit(images)
    assert np.mean(exact.labels_ == near.labels_) > 0.99
    assert exact.neighbor_recall_ is None
    assert 0.98 <= near.neighbor_recall_ <= 1


def test_the_order_of_the_samples_does_not_matter():
    images = groups(1500, 48).reshape(1500, 8, 6)
    order = np.random.default_rng(0).permutation(1500)
    model = TSNMF(12, neighbors="approximate", random_state=0)
    labels = model.fit(images).labels_
    np.testing.assert_array_equal(model.fit(images[order]).labels_, labels[order])


@pytest.mark.torch
def test_tensors_are_compared_with_all_others():
    torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    images = groups(40, 12).reshape(40, 4, 3)
    model = TSNMF(3, neighbors="approximate", random_state=0)
    assert model.fit(torch.asarray(images)).neighbor_recall_ is None


@pytest.mark.parametrize(
    ("neighbors", "n", "expected"),
    [
        ("auto", approximate.MANY_SAMPLES, "approximate"),
        ("auto", approximate.MANY_SAMPLES - 1, "exact"),
        ("exact", 10**6, "exact"),
        ("approximate", 10, "approximate"),
    ],
)
def test_many_samples_are_searched_approximately(neighbors, n, expected):
    assert search_name(neighbors, n) == expected
