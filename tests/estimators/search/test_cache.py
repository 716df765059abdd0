"""Previews that a search keeps in a folder, and what may lie there instead."""

import errno
import shutil

import numpy as np
import problems
import pytest
from sklearn.base import clone

import twofold.estimators.search.views
from twofold import TSNMF, AutoTSNMF

FEW = {"max_fits": 3, "random_state": 0}


@pytest.fixture(scope="module")
def auto(images):
    """A search that keeps nothing, of few previews."""
    return AutoTSNMF(3, **FEW).fit(images)


def test_a_search_goes_on_from_its_folder(auto, images, tmp_path, monkeypatch):
    folder = tmp_path / "new" / "previews"
    first = AutoTSNMF(3, cache=folder, max_time=0, **FEW).fit(images)
    assert first.out_of_time_
    AutoTSNMF(3, cache=folder, **FEW).fit(images)

    def never(*_, **__):
        raise AssertionError("a preview was made again")

    monkeypatch.setattr(twofold.estimators.search.views, "graph_clusters", never)
    again = AutoTSNMF(3, cache=folder, **FEW).fit(images)
    np.testing.assert_array_equal(again.labels_, auto.labels_)
    assert again.search_results_["score"] == auto.search_results_["score"]
    flat = {"estimator": TSNMF(n_neighbors=10, tol=1e-2)}
    for others in ({"random_state": 1}, {"n_clusters": 4}, flat):
        with pytest.raises(AssertionError, match="made again"):
            clone(again).set_params(**others).fit(images)
    with pytest.raises(AssertionError, match="made again"):
        clone(again).fit(images + 0.1)


@pytest.fixture(scope="module")
def kept(images, tmp_path_factory):
    """A search that has kept its previews."""
    folder = tmp_path_factory.mktemp("kept") / "previews"
    return AutoTSNMF(3, cache=folder, **FEW).fit(images)


@pytest.fixture
def copied(kept, tmp_path):
    """The same search, not fitted, with a copy of the previews."""
    folder = shutil.copytree(kept.cache, tmp_path / "previews")
    assert len(list(folder.iterdir())) > 2
    return clone(kept).set_params(cache=folder)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nothing", b"x" * 1000])
def test_damaged_files_are_made_again(auto, copied, images, content):
    for path in copied.cache.iterdir():
        path.write_bytes(content)
    np.testing.assert_array_equal(copied.fit(images).labels_, auto.labels_)
    assert all(path.read_bytes() != content for path in copied.cache.iterdir())


@pytest.mark.parametrize(
    "wrong", [{"labels": np.full(60, -1)}, {"chance": np.nan}, {"labels": np.ones(60)}]
)
def test_files_of_other_numbers_are_made_again(auto, copied, images, wrong):
    for path in copied.cache.iterdir():
        with np.load(path) as file:
            arrays = dict(file)
        np.savez(path, **{**arrays, **wrong})
    np.testing.assert_array_equal(copied.fit(images).labels_, auto.labels_)


def test_previews_of_samples_of_another_shape_are_others(tmp_path):
    rows = problems.positive((60, 72))
    found = {}
    for shape in ((8, 9), (9, 8)):
        base = TSNMF(sample_shape=shape)
        search = AutoTSNMF(3, estimator=base, n_directions=(3,), random_state=0)
        fresh = search.fit(rows).search_results_["score"]
        kept = search.set_params(cache=tmp_path).fit(rows).search_results_["score"]
        assert kept == fresh
        found[shape] = fresh
    assert found[8, 9] != found[9, 8]


def test_objects_in_a_file_are_not_unpickled(auto, copied, images):
    for path in copied.cache.iterdir():
        np.savez(path, labels=np.array([{}], dtype=object))
    np.testing.assert_array_equal(copied.fit(images).labels_, auto.labels_)


def test_a_folder_that_is_full(images, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    reason = "could not be written to: No space left on device; make room or name"
    with pytest.raises(OSError, match=rf"^cache {tmp_path} {reason}"):
        AutoTSNMF(3, cache=tmp_path, **FEW).fit(images)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_is_found_before_anything_is_read(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nowhere").symlink_to("none")
    for cache in ("", "nowhere", tmp_path / "nowhere"):
        with pytest.raises(ValueError, match=r"^cache must be"):
            AutoTSNMF(3, cache=cache).fit("no samples")
    assert [path.name for path in tmp_path.iterdir()] == ["nowhere"]
