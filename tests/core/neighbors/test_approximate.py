import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from twofold import TSNMF
from twofold.core.neighbors import approximate
from twofold.core.neighbors.approximate import APPROXIMATE
from twofold.core.neighbors.certified import update_lists
from twofold.core.neighbors.products import largest_products, update_products
from twofold.core.solver import solve
from twofold.estimators.parameters import search_name

few = pytest.fixture(autouse=True)(
    lambda monkeypatch: monkeypatch.setattr(approximate, "_MIN_POINTS", 1000)
)

NEEDS_FAISS = "Faiss is the optional extra 'approximate'"


def share_found(neighbors, points):
    """Return the fraction of the listed neighbours that are nearest neighbours."""
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, : neighbors.shape[1]]
    pairs = zip(neighbors, nearest, strict=True)
    return np.mean([np.isin(ours, exact).mean() for ours, exact in pairs])


def groups(n, d):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)) + 3 * rng.normal(size=(12, d))[np.arange(n) % 12]


def test_nearly_all_neighbours_are_exact_after_any_move():
    pytest.importorskip("faiss", reason=NEEDS_FAISS)
    rng, points, lists = np.random.default_rng(1), groups(1500, 20), None
    searched = []
    for size in (0.0, 0.003, 0.2, 0.05, 0.0):
        points = points + size * rng.normal(size=points.shape)
        squared, neighbors, lists = update_lists(lists, points, 5, APPROXIMATE)
        searched.append(lists.searched)
        assert share_found(neighbors, points) > 0.98
        assert not (neighbors == np.arange(1500)[:, None]).any()
        assert all(len(set(row)) == 5 for row in neighbors)
        pairs = points[:, None] - points[neighbors]
        np.testing.assert_allclose(squared, (pairs**2).sum(axis=-1), rtol=1e-9)
    assert searched[0] == 1500  # by the index
    assert 0 < searched[2] < 1500  # among the candidates of candidates


@pytest.mark.parametrize("opposite", [False, True])
def test_nearly_all_largest_products_are_found_after_any_move(opposite):
    """Points of a few lines, all on one side of the origin or on both."""
    pytest.importorskip("faiss", reason=NEEDS_FAISS)
    rng, lists = np.random.default_rng(1), None
    points = groups(1500, 20) * rng.uniform(0.5, 1.5, size=(1500, 1))
    if opposite:
        points[::2] *= -1
    for size in (0.0, 0.003, 0.2, 0.05, 0.0):
        points = points + size * rng.normal(size=points.shape)
        found, neighbors, lists = update_products(lists, points, 5, APPROXIMATE)
        exact = np.abs(points @ points.T)
        np.fill_diagonal(exact, -1)
        largest = np.argsort(-exact, axis=1)[:, :5]
        assert np.mean((neighbors[..., None] == largest[:, None]).any(-1)) > 0.98
        assert all(len(set(row)) == 5 for row in neighbors)
        values = np.take_along_axis(exact, neighbors, axis=1)
        np.testing.assert_allclose(found, values, rtol=1e-9)


def test_an_index_that_finds_too_little_is_searched_more_thoroughly(monkeypatch):
    """Near the origin there are many points whose products mislead the search."""
    faiss = pytest.importorskip("faiss", reason=NEEDS_FAISS)
    assert faiss
    monkeypatch.setattr(approximate, "_EF_SEARCH", 1)
    monkeypatch.setattr(approximate, "_EXTRA", 1)
    points = np.random.default_rng(0).normal(size=(3000, 60))
    recalls = []
    for efforts in (((1, (1,)),), ((1, (1,)), (8, (1, -1)), (64, (1, -1)))):
        monkeypatch.setattr(approximate, "_EFFORTS", efforts)
        _, neighbors, _ = update_products(None, points, 5, APPROXIMATE)
        largest = largest_products(points[None], 5)[1][0]
        recalls.append(np.mean((neighbors[..., None] == largest[:, None]).any(-1)))
    assert recalls[0] < 0.9 < 0.95 < recalls[1]


def test_few_points_are_searched_exactly(monkeypatch):
    monkeypatch.setattr(approximate, "_search_index", None)
    points = groups(200, 4)
    _, neighbors, _ = update_lists(None, points, 5, APPROXIMATE)
    assert share_found(neighbors, points) == 1


def test_rows_with_too_few_results_are_searched_exactly(monkeypatch):
    """The index returns each point itself, or the same point many times."""
    points = groups(1200, 4)
    useless = np.repeat(np.arange(1200)[:, None], 31, axis=1)
    useless[::2, 5:] = 7
    monkeypatch.setattr(approximate, "_search_index", lambda *given: useless)
    _, neighbors, _ = update_lists(None, points, 5, APPROXIMATE)
    assert share_found(neighbors, points) == 1


@pytest.mark.torch
def test_tensors_need_no_faiss(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    monkeypatch.setitem(sys.modules, "faiss", None)
    images = groups(40, 12).reshape(40, 4, 3)
    model = TSNMF(3, neighbors="approximate", random_state=0)
    exact = TSNMF(3, random_state=0).fit(images).labels_
    np.testing.assert_array_equal(model.fit(torch.asarray(images)).labels_, exact)


def test_entries_that_occur_earlier_in_their_row_are_repeated():
    rows = np.array([[3, 1, 3, 3], [2, 2, 0, 1]])
    expected = [[False, False, True, True], [False, True, False, False]]
    np.testing.assert_array_equal(approximate._is_repeated(rows), expected)


def test_an_approximate_fit_agrees_with_the_exact_one():
    pytest.importorskip("faiss", reason=NEEDS_FAISS)
    images = groups(1200, 30).reshape(1200, 6, 5)
    exact = TSNMF(12, random_state=0).fit(images)
    near = TSNMF(12, neighbors="approximate", random_state=0).fit(images)
    assert np.mean(exact.labels_ == near.labels_) > 0.99
    np.testing.assert_allclose(
        near.objective_history_[-1], exact.objective_history_[-1], rtol=1e-2
    )


def test_without_faiss_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"needs Faiss: pip install 'twofold\[appr"):
        TSNMF(2, neighbors="approximate").fit(np.ones((5, 3, 3)))


@pytest.mark.parametrize(
    ("neighbors", "n", "installed", "expected"),
    [
        ("auto", approximate.MANY_SAMPLES, True, "approximate"),
        ("auto", approximate.MANY_SAMPLES, False, "exact"),
        ("auto", approximate.MANY_SAMPLES - 1, True, "exact"),
        ("exact", 10**6, True, "exact"),
        ("approximate", 10, False, "approximate"),
    ],
)
def test_many_samples_are_searched_approximately(
    monkeypatch, neighbors, n, installed, expected
):
    spec = object() if installed else None
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    assert search_name(neighbors, n) == expected


def test_known_candidates_that_have_nearly_all_neighbours_spare_an_index(monkeypatch):
    pytest.importorskip("faiss", reason=NEEDS_FAISS)
    built, real = [], approximate._build_index

    def counted(points, *, by_distance):
        built.append(by_distance)
        return real(points, by_distance=by_distance)

    monkeypatch.setattr(approximate, "_build_index", counted)
    careful = replace(APPROXIMATE, loss_share=1e9)  # no bound outlasts a move
    rng, points = np.random.default_rng(0), groups(1500, 20)
    _, _, lists = update_lists(None, points, 5, careful)
    for size, count in ((0.05, 1), (3.0, 2)):
        points = points + size * rng.normal(size=points.shape)
        _, neighbors, lists = update_lists(lists, points, 5, careful)
        assert share_found(neighbors, points) > 0.98
        assert len(built) == count


@pytest.mark.parametrize("neighbors", ["approximate", "exact"])
def test_an_approximate_fit_begins_with_the_lists_of_its_start(monkeypatch, neighbors):
    given = []

    def recorded(*arguments):
        given.append(arguments[-1])
        return solve(*arguments)

    monkeypatch.setattr("twofold.estimators.problem.solve", recorded)
    images = groups(60, 48).reshape(60, 8, 6)
    TSNMF(3, neighbors=neighbors, random_state=0, n_init=2).fit(images)
    if neighbors == "exact":
        assert given == [(None, None)]
    else:
        for side in given[0]:
            assert len(side.lists.nearest) == len(side.lists.products) == 2
            assert len(side.projection) == 2
