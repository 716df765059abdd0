"""The samples projected by one side, with graphs of several kinds."""

from dataclasses import replace

import numpy as np
import problems
import pytest

from twofold.core import graphs
from twofold.core.grams import both_sides
from twofold.core.graphs import construction
from twofold.core.projected import project_side
from twofold.core.state import SolverOptions

OPTIONS = SolverOptions((3, 3), n_neighbors=6, graph="subspace_knn")


def projected(options, roots=None):
    samples = problems.stack((60, 1, 7, 6))
    side = both_sides(samples if roots is None else samples * roots[..., None, None])[1]
    projection = np.linalg.qr(np.random.default_rng(0).normal(size=(1, 6, 3)))[0]
    return project_side(side, projection, None, options, roots)


@pytest.mark.parametrize("roots", [None, np.sqrt(1 + np.arange(60) % 3)[:, None]])
@pytest.mark.parametrize("kind", graphs.KINDS)
@pytest.mark.parametrize("n_neighbors", [3, 6, 9])
def test_another_graph_is_that_of_samples_projected_anew(kind, n_neighbors, roots):
    options = replace(OPTIONS, graph=kind, n_neighbors=n_neighbors)
    found = projected(OPTIONS, roots).with_graph(options).graph.adjacency
    expected = projected(options, roots).graph.adjacency
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-12)


def test_samples_are_whitened_once_for_all_graphs(monkeypatch):
    first = projected(OPTIONS)

    def whitened(features):
        raise AssertionError("whitened again")

    monkeypatch.setattr(construction, "whitened", whitened)
    other = first.with_graph(replace(OPTIONS, graph="subspace"))
    assert other.graph.adjacency.nnz > 0


def test_points_alone_make_the_same_graphs():
    whole = projected(OPTIONS)
    points = whole.of_points()
    assert points.features is points.points
    options = replace(OPTIONS, graph="heat")
    found, expected = (each.with_graph(options).graph for each in (points, whole))
    np.testing.assert_array_equal(
        found.adjacency.toarray(), expected.adjacency.toarray()
    )
