"""One job against the library's own calls."""

import json
from dataclasses import replace

import numpy as np
import pytest

from twofold import methods
from twofold.metrics import clustering_accuracy, nmi, purity
from twofold.paper import Protocol
from twofold.paper.data import load_subset, subset_seed
from twofold.paper.jobs import run_job
from twofold.paper.protocol import Job, all_jobs


def tiny_job(method, *grid_points, **more):
    return Job(
        "tiny:faces", method, 3, 1, 0, tuple(map(json.dumps, grid_points)), **more
    )


@pytest.mark.parametrize(
    ("name", "grid_point"),
    [("kmeans", {}), ("gnmf", {"graph_weight": 0.1}), ("pca", {"n_components": 3})],
)
def test_scores_are_those_of_the_clusterer_on_the_subset(name, grid_point):
    [result] = run_job(tiny_job(name, grid_point))
    images, target = load_subset("tiny:faces", 3, 1, 0)
    seed = subset_seed(0, 3, 1)
    labels = methods.build(name, 3, random_state=seed, **grid_point).fit_predict(images)
    assert result.accuracy == 100 * clustering_accuracy(target, labels)
    assert result.nmi == 100 * nmi(target, labels)
    assert result.purity == 100 * purity(target, labels)
    assert (result.n_samples, result.error) == (36, None)


def test_a_sweep_gives_what_single_fits_give():
    grid_points = [
        {"n_directions": 2, "energy_weight": e, "graph_weight": g}
        for e in (0.1, 1.0)
        for g in (0.01, 10.0)
    ]
    together = run_job(tiny_job("ts-nmf", *grid_points))
    alone = [run_job(tiny_job("ts-nmf", grid_point))[0] for grid_point in grid_points]
    for one, other in zip(together, alone, strict=True):
        assert (one.key, one.grid_point) == (other.key, other.grid_point)
        scores = one.accuracy, one.nmi, one.purity, one.n_iter
        assert scores == (other.accuracy, other.nmi, other.purity, other.n_iter)


def test_max_iter_reaches_the_model():
    grid_point = {
        "n_directions": 2,
        "energy_weight": 1.0,
        "graph_weight": 1.0,
        "tol": 0.0,
    }
    [result] = run_job(tiny_job("ts-nmf", grid_point, max_iter=4, traced=True))
    assert result.n_iter == 4
    assert len(json.loads(result.trace)) == 4


def test_a_failing_fit_says_why_and_stops_nothing():
    [result] = run_job(tiny_job("tiny:broken", {}))
    assert result.error == "ArithmeticError: no luck with 3"
    assert result.accuracy is None
    assert np.isfinite(result.seconds)


def test_a_result_says_where_it_is_from():
    [result] = run_job(tiny_job("kmeans", {}))
    origin = json.loads(result.origin)
    assert origin["device"] == "cpu"
    assert {"numpy", "scikit-learn", "twofold"} <= set(origin["versions"])


def test_same_job_same_scores():
    jobs = all_jobs(Protocol(data=("tiny:faces",), subsets=1, quick=True, max_iter=20))
    for job in jobs:
        first, second = run_job(job), run_job(replace(job))
        for one, other in zip(first, second, strict=True):
            assert one.error is None
            scores = one.accuracy, one.nmi, one.purity
            assert scores == (other.accuracy, other.nmi, other.purity)


@pytest.mark.torch
def test_tensors_on_a_device_give_the_same_scores():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    grid_point = {"n_directions": 2, "energy_weight": 1.0, "graph_weight": 1.0}
    [here] = run_job(tiny_job("ts-nmf", grid_point))
    [there] = run_job(tiny_job("ts-nmf", grid_point), "cpu")
    assert (here.accuracy, here.nmi) == (there.accuracy, there.nmi)
