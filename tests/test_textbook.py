"""The vectorised Algorithm 1 of the benchmarks against the literal one."""

import importlib
import sys
from pathlib import Path

import numpy as np
import problems
import pytest
import reference

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def textbook(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("textbook")
    sys.modules.pop("textbook")


@pytest.mark.parametrize("graph", ["heat", "subspace_knn"])
@pytest.mark.parametrize("layout", ["wide", "colour"])
def test_the_textbook_version_takes_the_literal_steps(layout, graph, textbook):
    shape, directions = problems.LAYOUTS[layout]
    samples, start = problems.stack(shape), problems.positive((shape[0], 3), seed=1)
    common = {"n_directions": directions, "n_neighbors": 4, "n_iter": 5, "graph": graph}
    literal = reference.ts_nmf(samples, start, lambda_1=0.5, lambda_2=0.3, **common)
    coefficients, centroids = textbook.ts_nmf(
        samples, start, energy_weight=0.5, graph_weight=0.3, **common
    )
    np.testing.assert_allclose(coefficients, literal.V, atol=1e-8)
    np.testing.assert_allclose(centroids, literal.U, atol=1e-8)
