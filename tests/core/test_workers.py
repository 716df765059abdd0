"""Threads of a fit: the same results by any number, and limits that are taken back."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import problems
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from twofold import TSNMF
from twofold.core import workers
from twofold.core.workers import ALONE, MOST_SAMPLES, workers_for

PAIRS = [(energy, graph) for energy in (0.1, 1.0) for graph in (0.1, 1.0, 10.0)]


def threads():
    return [library["num_threads"] for library in threadpool_info()]


@pytest.fixture
def two_threads(monkeypatch):
    """BLAS has two threads, whatever machine this is."""
    monkeypatch.setattr(workers.single_threads, "users", 0)
    with threadpool_limits(2):
        yield


def test_libraries_have_one_thread_within_and_as_many_as_before_after(two_threads):
    before = threads()
    with workers_for(np.zeros((4, 2))) as outer, workers_for(np.zeros((4, 2))) as inner:
        assert outer.count == inner.count == 2
        assert set(threads()) == {1}
    assert threads() == before


def test_the_last_of_several_fits_takes_the_limit_back(two_threads):
    before, samples = threads(), np.zeros((4, 2))
    first, second = workers_for(samples), workers_for(samples)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(threads()) == {1}
    second.__exit__(None, None, None)
    assert threads() == before


def test_many_samples_and_a_single_thread_are_left_to_the_caller():
    with workers_for(np.broadcast_to(0.0, (MOST_SAMPLES, 1))) as alone:
        assert alone is ALONE
    with threadpool_limits(1), workers_for(np.zeros((4, 2))) as alone:
        assert alone is ALONE


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("graph", ["heat", "subspace_knn"])
def test_a_sweep_has_the_results_of_one_thread(two_threads, graph, missing):
    samples = problems.stack((40, 1, 6, 5))[:, 0]
    samples[3, 2, 1] = np.nan if missing else samples[3, 2, 1]
    model = TSNMF(
        3,
        graph=graph,
        n_init=2,
        max_iter=8,
        tol=1e-3,
        random_state=0,
        missing_values=np.nan,
    )
    divided = model.fit_sweep(samples, PAIRS)
    with threadpool_limits(1):
        alone = model.fit_sweep(samples, PAIRS)
    for ours, theirs in zip(divided, alone, strict=True):
        assert ours.n_iter_ == theirs.n_iter_
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(
            ours.objective_history_, theirs.objective_history_, rtol=1e-9
        )
        np.testing.assert_allclose(
            ours.coefficients_, theirs.coefficients_, rtol=1e-7, atol=1e-9
        )


def test_fits_in_threads_of_the_user_are_those_of_one_thread(two_threads):
    samples, before = problems.stack((40, 1, 6, 5))[:, 0], threads()
    models = [TSNMF(3, max_iter=5, tol=0.5, random_state=seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        fitted = list(pool.map(lambda model: model.fit(samples).labels_, models))
    assert threads() == before
    for model, labels in zip(models, fitted, strict=True):
        np.testing.assert_array_equal(model.fit(samples).labels_, labels)
