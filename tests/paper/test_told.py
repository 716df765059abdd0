"""Methods that are told which entries are missing."""

import sys
from types import ModuleType

import numpy as np
import problems
import pytest
from sklearn.utils import Bunch

from twofold.paper import DataSet, Protocol, summarize
from twofold.paper.data import load_data, load_subset
from twofold.paper.jobs import run_job
from twofold.paper.methods import METHODS, TOLD_METHODS
from twofold.paper.protocol import all_jobs, methods_of

IMAGES = np.abs(problems.images(60, 8, 8)) + 0.1
HOLES = np.random.default_rng(0).uniform(size=IMAGES.shape) < 0.3


@pytest.fixture
def holed(monkeypatch):
    """Import paths of data with entries removed, with NaN, and complete."""
    module = ModuleType("holed_data")

    def loader(images):
        return lambda: Bunch(images=images, target=problems.groups())

    module.removed = DataSet("Removed", loader(IMAGES), removed=0.25)
    module.nan = DataSet("NaN", loader(problems.pierced(IMAGES, HOLES)))
    module.whole = DataSet("Whole", loader(IMAGES))
    monkeypatch.setitem(sys.modules, "holed_data", module)
    load_data.cache_clear()
    load_subset.cache_clear()
    yield "holed_data:removed", "holed_data:nan", "holed_data:whole"
    load_data.cache_clear()
    load_subset.cache_clear()


def test_those_that_are_told_see_nan_where_others_see_zeros(holed):
    removed, nan, whole = holed
    for data, share in [(removed, 0.25), (nan, HOLES.mean())]:
        zeros, target = load_subset(data, 3, 0, 0)
        told, _ = load_subset(data, 3, 0, 0, told=True)
        missing = np.isnan(told)
        assert missing.mean() == pytest.approx(share)
        np.testing.assert_array_equal(zeros == 0, missing)
        np.testing.assert_array_equal(told[~missing], zeros[~missing])
        np.testing.assert_array_equal(zeros[~missing], IMAGES[~missing])
        assert len(target) == 60
    assert np.isfinite(load_subset(whole, 3, 0, 0, told=True)[0]).all()


def test_where_nan_is_makes_another_data_set(holed):
    zero_there = np.where(HOLES, 0.0, IMAGES)
    sys.modules["holed_data"].zeros = DataSet(
        "Zeros", lambda: Bunch(images=zero_there, target=problems.groups())
    )
    nan, zeros = (load_data(f"holed_data:{name}", 0) for name in ("nan", "zeros"))
    np.testing.assert_array_equal(nan.images, zeros.images)
    assert nan.digest != zeros.digest


def test_they_run_only_where_entries_are_missing(holed):
    removed, nan, whole = holed
    protocol = Protocol(data=holed, methods=("kmeans", "semi-nmf-told"))
    for data in (removed, nan):
        assert methods_of(protocol, data) == protocol.methods
    assert methods_of(protocol, whole) == ("kmeans",)
    ran = {(job.data, job.method) for job in all_jobs(protocol)}
    assert (whole, "semi-nmf-told") not in ran
    with pytest.raises(ValueError, match="for data sets with missing entries"):
        all_jobs(Protocol(data=(whole,), methods=("ts-nmf-told",)))


@pytest.mark.parametrize("name", TOLD_METHODS)
def test_each_fits_and_has_its_table(holed, name):
    protocol = Protocol(
        data=holed[:1], methods=(name,), clusters=(3,), subsets=1, quick=True
    )
    results = [r for job in all_jobs(protocol) for r in run_job(job)]
    assert all(result.error is None for result in results)
    [accuracy, *_] = summarize(protocol, results).tables
    assert accuracy.average(name) > 90


def test_they_are_set_beside_the_columns_of_the_paper():
    for name, method in TOLD_METHODS.items():
        plain = METHODS[name.removesuffix("-told")]
        assert method.paper_title == plain.title
        assert method.grid == plain.grid
