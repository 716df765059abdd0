import sys

import numpy as np
import problems
import pytest

from twofold import TSNMF, AutoTSNMF
from twofold.core import devices
from twofold.core.devices import DeviceError, within_memory

pytestmark = pytest.mark.torch


class OutOfMemoryError(RuntimeError):
    """Has the name of PyTorch's exception."""


def room_for(limit, tried):
    """Return a solver that fails above ``limit`` and records the sizes of its calls."""

    def solve(part):
        tried.append(len(part))
        if len(part) > limit:
            raise OutOfMemoryError
        return [10 * index for index in part.tolist()]

    return solve


@pytest.mark.parametrize(
    ("limit", "sizes"),
    [(49, [49]), (24, [49, 25, 13, 13, 13, 10]), (1, [3, 2, 1, 1, 1])],
)
def test_batches_are_halved_until_they_fit(monkeypatch, limit, sizes):
    monkeypatch.setattr(devices, "_release_memory", lambda: None)
    tried, n_batch = [], sizes[0]
    results = within_memory(room_for(limit, tried), n_batch)
    assert results == [10 * index for index in range(n_batch)]
    assert tried == sizes


def test_a_single_run_that_does_not_fit_is_an_error():
    with pytest.raises(MemoryError, match="single run; give X as float32"):
        within_memory(room_for(0, []), 1)


def test_other_failures_are_not_hidden():
    def solve(part):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        within_memory(solve, 4)


def test_without_pytorch_a_device_is_refused_before_anything_is_read(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DeviceError, match=r"'cuda' needs PyTorch: pip install"):
        TSNMF(3, device="cuda").fit(problems.images())


@pytest.mark.parametrize("device", ["cuda:99", "abacus", "meta"])
def test_a_device_that_is_not_there_is_refused(device):
    pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    with pytest.raises(
        DeviceError, match=f"'{device}' cannot be used .*; leave it out"
    ):
        TSNMF(3, device=device).fit(problems.images())


def test_arrays_fitted_on_a_device_come_back_as_arrays():
    torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    images = problems.images()
    here = TSNMF(3, random_state=0).fit(images)
    there = TSNMF(3, device="cpu", random_state=0).fit(images)
    np.testing.assert_array_equal(here.labels_, there.labels_)
    for name in ("components_", "coefficients_", "reconstruction_error_"):
        assert isinstance(getattr(there, name), np.ndarray)
        np.testing.assert_allclose(
            getattr(here, name), getattr(there, name), rtol=1e-6, atol=1e-8
        )
    np.testing.assert_array_equal(here.predict(images), there.predict(images))
    tensor = TSNMF(3, device="cpu", random_state=0).fit(torch.asarray(images))
    assert isinstance(tensor.components_, torch.Tensor)


def test_a_sweep_that_is_split_for_memory_is_the_same(monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    import twofold.estimators.problem as problem

    images, pairs = problems.images(), [(0.1, 1.0), (1.0, 0.1), (1.0, 1.0)]
    model = TSNMF(3, device="cpu", n_init=2, random_state=0)
    whole = model.fit_sweep(images, pairs)
    solve = problem.solve

    def solve_few(samples, sides, start, *rest):
        if len(start) > 2:
            raise OutOfMemoryError
        return solve(samples, sides, start, *rest)

    monkeypatch.setattr(problem, "solve", solve_few)
    for one, other in zip(whole, model.fit_sweep(images, pairs), strict=True):
        np.testing.assert_array_equal(one.labels_, other.labels_)
        np.testing.assert_allclose(one.objective_history_, other.objective_history_)


def test_missing_entries_are_filled_on_a_device_too():
    pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    whole = problems.images()
    mask = np.random.default_rng(0).uniform(size=whole.shape) < 0.3
    here = TSNMF(3, random_state=0).fit(whole, mask=mask)
    there = TSNMF(3, device="cpu", random_state=0).fit(whole, mask=mask)
    np.testing.assert_array_equal(here.labels_, there.labels_)


def test_a_search_computes_on_the_device(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")
    import twofold.estimators.search.views as views

    images, seen = problems.images(), []
    project = views.first_projections
    monkeypatch.setattr(
        views,
        "first_projections",
        lambda samples, *rest: seen.append(type(samples)) or project(samples, *rest),
    )
    here = AutoTSNMF(3, random_state=0).fit(images)
    assert set(seen) == {np.ndarray}
    seen.clear()
    there = AutoTSNMF(3, estimator=TSNMF(device="cpu"), random_state=0).fit(images)
    assert set(seen) == {torch.Tensor}
    np.testing.assert_array_equal(here.labels_, there.labels_)
    assert here.best_score_ == pytest.approx(there.best_score_)
