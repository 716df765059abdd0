"""Threads of a fit: the same results by any number, and limits that are taken back."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import problems
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from twofold import TSNMF
from twofold.core.workers import ALONE, FEWEST_FOR_BLAS, single_threads, workers_for

PAIRS = [(energy, graph) for energy in (0.1, 1.0) for graph in (0.1, 1.0, 10.0)]
FEW = np.zeros((4, 2))


def threads(api="blas"):
    return {
        pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == api
    }


@pytest.fixture
def two_threads():
    """BLAS has two threads, whatever machine this is."""
    with threadpool_limits(2):
        if threads() != {2}:
            pytest.skip("BLAS has one thread on this machine")
        yield


def test_libraries_have_one_thread_within_and_as_many_as_before_after(two_threads):
    with workers_for(FEW) as outer, workers_for(FEW) as inner:
        assert outer is inner
        assert outer.count == 2
        assert threads() == threads("openmp") == {1}
    assert threads() == threads("openmp") == {2}


def test_a_failure_within_takes_the_limit_back(two_threads):
    with pytest.raises(ZeroDivisionError), workers_for(FEW) as workers:
        workers.map(lambda number: 1 / number, [1, 0])
    assert threads() == {2}
    with workers_for(FEW) as workers:
        assert workers.count == 2


def test_contexts_of_two_threads_may_end_in_any_order(two_threads):
    """The limit is that of the context that began first, and ends with it."""
    began, go_on = Event(), Event()

    def other():
        before = threads("openmp")  # each thread has a limit of its own
        with single_threads() as count:
            seen = count, threads("openmp")
            began.set()
            go_on.wait(60)
        return *seen, before == threads("openmp")

    for first_out in ("here", "there"):
        began.clear()
        go_on.clear()
        with ThreadPoolExecutor(1) as pool:
            with single_threads() as count:
                running = pool.submit(other)
                assert began.wait(60)
                assert threads() == {1}
                if first_out == "there":
                    go_on.set()
                    running.result()
                    assert threads() == {1}
            assert threads() == {2}
            go_on.set()
            seen, within, as_before = running.result()
        assert (count, seen, within) == (2, 1, {1})
        assert as_before
        assert threads() == threads("openmp") == {2}


def test_many_samples_and_a_single_thread_are_left_to_the_caller(two_threads):
    with workers_for(np.broadcast_to(0.0, (FEWEST_FOR_BLAS, 1))) as alone:
        assert alone is ALONE
        assert threads() == {2}
    with threadpool_limits(1), workers_for(FEW) as alone:
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
    samples = problems.stack((40, 1, 6, 5))[:, 0]
    models = [TSNMF(3, max_iter=5, tol=0.5, random_state=seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        fitted = list(pool.map(lambda model: model.fit(samples).labels_, models))
    assert threads() == threads("openmp") == {2}
    for model, labels in zip(models, fitted, strict=True):
        np.testing.assert_array_equal(model.fit(samples).labels_, labels)
