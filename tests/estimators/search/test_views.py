"""Graphs of candidates that share the projected samples are those made alone."""

import tracemalloc

import numpy as np
import problems
import pytest

from twofold import TSNMF
from twofold.channels import BANKS
from twofold.estimators.problem import make_problem, read_given
from twofold.estimators.search.views import Candidate, View

CANDIDATES = [
    Candidate("pixels", graph, q, 3, weight)
    for weight in (1.0, 0.1)
    for graph, q in (("subspace_knn", 8), ("subspace", 8), ("heat", 5), ("cosine", 5))
]


def view_of(images):
    base = TSNMF(3, random_state=0)
    return View(make_problem(base, read_given(base, images), BANKS["pixels"]), None)


@pytest.mark.parametrize("n", [60, 700])
def test_previews_do_not_depend_on_those_before(n):
    images = problems.images(n)
    together = view_of(images)
    for candidate in CANDIDATES:
        shared, labels, chance = together.graph_and_clusters(candidate, 3)
        alone = view_of(images).graph_and_clusters(candidate, 3)
        apart = abs(shared - alone[0])
        assert apart.max() <= 1e-12 * alone[0].max()
        np.testing.assert_array_equal(labels, alone[1])
        np.testing.assert_allclose(chance, alone[2], 0, 1e-9)


def bytes_of_arrays():
    """What NumPy holds by now, without what the interpreter keeps for its own use."""
    arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    traces = tracemalloc.take_snapshot().filter_traces([arrays]).traces
    return sum(trace.size for trace in traces)


def test_long_samples_are_not_kept_once_more_by_their_previews():
    """Projected, they would be twice as large as the samples with all directions."""
    images = np.random.default_rng(0).normal(size=(40, 6, 7, 200))
    view = view_of(images)
    tracemalloc.start()
    for r in (4, 7):
        view.graph_and_clusters(Candidate("pixels", "heat", 5, r, 1.0), 3)
    kept = bytes_of_arrays()
    view.forget()
    left = bytes_of_arrays()
    tracemalloc.stop()
    assert kept < 0.3 * images.nbytes
    assert left < 0.1 * kept


@pytest.mark.parametrize("candidate", CANDIDATES[:2])
def test_what_is_forgotten_is_made_anew(candidate):
    view = view_of(problems.images()[np.arange(70) % 60])  # some of them twice
    shared, labels, _ = view.graph_and_clusters(candidate, 3)
    view.forget()
    again, found, _ = view.graph_and_clusters(candidate, 3)
    assert abs(shared - again).max() == 0
    np.testing.assert_array_equal(labels, found)
