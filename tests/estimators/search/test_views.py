"""Graphs of candidates that share the projected samples are those made alone."""

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
