"""Missing-aware methods in the protocol."""

import sys
from types import ModuleType

import numpy as np
import problems
import pytest
from sklearn.utils import Bunch

from twofold.paper import DataSet, Protocol, summarize
from twofold.paper.data import load_data, load_subset
from twofold.paper.jobs import run_job
from twofold.paper.methods import METHODS, MISSING_METHODS
from twofold.paper.protocol import all_jobs, methods_of

IMAGES = np.abs(problems.images(60, 8, 8)) + 0.1
MASK = np.random.default_rng(0).uniform(size=IMAGES.shape) < 0.3


@pytest.fixture
def incomplete(monkeypatch):
    """Import paths of data with entries removed, with NaN, and complete."""
    module = ModuleType("incomplete_data")

    def loader(images):
        return lambda: Bunch(images=images, target=problems.groups())

    module.removed = DataSet("Removed", loader(IMAGES), removed=0.25)
    module.nan = DataSet("NaN", loader(problems.pierced(IMAGES, MASK)))
    module.whole = DataSet("Whole", loader(IMAGES))
    monkeypatch.setitem(sys.modules, "incomplete_data", module)
    load_data.cache_clear()
    load_subset.cache_clear()
    yield "incomplete_data:removed", "incomplete_data:nan", "incomplete_data:whole"
    load_data.cache_clear()
    load_subset.cache_clear()


def test_missing_entries_are_nan_for_missing_aware_methods_and_zero_for_others(
    incomplete,
):
    removed, nan, whole = incomplete
    for data, share in [(removed, 0.25), (nan, MASK.mean())]:
        zeros, target = load_subset(data, 3, 0, 0)
        as_nan, _ = load_subset(data, 3, 0, 0, missing_as_nan=True)
        missing = np.isnan(as_nan)
        assert missing.mean() == pytest.approx(share)
        np.testing.assert_array_equal(zeros == 0, missing)
        np.testing.assert_array_equal(as_nan[~missing], zeros[~missing])
        np.testing.assert_array_equal(zeros[~missing], IMAGES[~missing])
        assert len(target) == 60
    assert np.isfinite(load_subset(whole, 3, 0, 0, missing_as_nan=True)[0]).all()


def test_where_nan_is_makes_another_data_set(incomplete):
    zero_there = np.where(MASK, 0.0, IMAGES)
    sys.modules["incomplete_data"].zeros = DataSet(
        "Zeros", lambda: Bunch(images=zero_there, target=problems.groups())
    )
    nan, zeros = (load_data(f"incomplete_data:{name}", 0) for name in ("nan", "zeros"))
    np.testing.assert_array_equal(nan.images, zeros.images)
    assert nan.digest != zeros.digest


def test_they_run_only_where_entries_are_missing(incomplete):
    removed, nan, whole = incomplete
    protocol = Protocol(data=incomplete, methods=("kmeans", "semi-nmf-missing"))
    for data in (removed, nan):
        assert methods_of(protocol, data) == protocol.methods
    assert methods_of(protocol, whole) == ("kmeans",)
    ran = {(job.data, job.method) for job in all_jobs(protocol)}
    assert (whole, "semi-nmf-missing") not in ran
    with pytest.raises(ValueError, match="for data sets with missing entries"):
        all_jobs(Protocol(data=(whole,), methods=("ts-nmf-missing",)))


@pytest.mark.parametrize("name", MISSING_METHODS)
def test_each_fits_and_has_its_table(incomplete, name):
    protocol = Protocol(
        data=incomplete[:1], methods=(name,), clusters=(3,), subsets=1, quick=True
    )
    results = [r for job in all_jobs(protocol) for r in run_job(job)]
    assert all(result.error is None for result in results)
    [accuracy, *_] = summarize(protocol, results).tables
    assert accuracy.average(name) > 90


def test_they_are_set_beside_the_columns_of_the_paper():
    for name, method in MISSING_METHODS.items():
        plain = METHODS[name.removesuffix("-missing")]
        assert method.paper_title == plain.title
        assert method.grid == plain.grid
