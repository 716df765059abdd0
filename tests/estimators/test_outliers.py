"""Samples that belong nowhere: label -1, in fits, searches and model files."""

import numpy as np
import problems
import pytest

from twofold import TSNMF, AutoTSNMF
from twofold.app.results import assign_trained
from twofold.estimators import load_model, save_model

ODD = [5, 31, 50]


@pytest.fixture(scope="module")
def images():
    """Images of three groups, three of them replaced by what is like no other."""
    images = problems.images(70, 9, 9, seed=3)
    rng = np.random.default_rng(7)
    images[ODD[0]] = 3.0  # a blank frame
    images[ODD[1:]] = rng.normal(size=(2, 9, 9))
    return images


@pytest.fixture(scope="module")
def model(images):
    return TSNMF(3, outliers=True, random_state=0).fit(images)


def test_odd_images_alone_are_of_no_cluster(images, model):
    np.testing.assert_array_equal(np.flatnonzero(model.labels_ == -1), ODD)
    plain = TSNMF(3, random_state=0).fit(images)
    rest = np.setdiff1d(np.arange(70), ODD)
    np.testing.assert_array_equal(model.labels_[rest], plain.labels_[rest])
    np.testing.assert_array_equal(model.state_.placed_labels, plain.labels_)
    assert plain.labels_.min() == 0
    np.testing.assert_array_equal(model.components_, plain.components_)


def test_new_samples_always_have_a_cluster(images, model):
    assert set(model.predict(images)) <= {0, 1, 2}
    assert set(model.predict(images[ODD])) <= {0, 1, 2}


@pytest.mark.parametrize("channels", ["pixels", "gradients"])
def test_groups_without_odd_images_have_hardly_any(channels):
    images = problems.images(60, 9, 9, seed=3)
    found = TSNMF(3, outliers=True, channels=channels, random_state=0).fit(images)
    assert (found.labels_ < 0).sum() <= 1


def test_each_fit_of_a_sweep_marks_them(images, model):
    sweep = TSNMF(3, outliers=True, random_state=0).fit_sweep(
        images, [(1.0, 1.0), (0.5, 1.0)]
    )
    assert len(sweep) == 2
    for each in sweep:
        np.testing.assert_array_equal(np.flatnonzero(each.labels_ == -1), ODD)


@pytest.mark.parametrize(
    "options",
    [{"outliers": True}, {"estimator": TSNMF(outliers=True)}],
    ids=["its own", "of the estimator"],
)
def test_a_search_marks_them(images, options):
    options |= {"max_fits": 2, "channels": "pixels", "random_state": 0}
    auto = AutoTSNMF(3, **options).fit(images)
    np.testing.assert_array_equal(np.flatnonzero(auto.labels_ == -1), ODD)
    assert auto.best_estimator_.outliers
    assert (auto.n_clusters_, auto.children_.shape) == (3, (2, 2))
    assert auto.confidence_.shape == (70,)
    for k in (1, 2, 3):
        cut = auto.cut(k)
        np.testing.assert_array_equal(np.flatnonzero(cut == -1), ODD)
        assert set(cut) == {-1, *range(k)}
    assert -1 not in auto.predict(images)
    off = AutoTSNMF(3, **options | {"outliers": False}).fit(images)
    assert off.labels_.min() == 0


def test_identical_samples_share_the_label(images):
    X = np.concatenate([images, images[ODD], images[:4]])
    found = TSNMF(3, outliers=True, random_state=0).fit(X)
    np.testing.assert_array_equal(found.labels_[70:73], found.labels_[ODD])
    np.testing.assert_array_equal(found.labels_[73:], found.labels_[:4])
    np.testing.assert_array_equal(np.flatnonzero(found.labels_[:70] == -1), ODD)
    same = TSNMF(1, outliers=True, random_state=0).fit(np.ones((20, 9, 9)))
    assert set(same.labels_) == {0}


def test_vectors_have_outliers_too():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 12)) + 9 * np.eye(12)[np.arange(60) % 2]
    rows[[4, 44]] = 40 * rng.normal(size=(2, 12))
    found = TSNMF(2, outliers=True, scale="global", random_state=0).fit(rows)
    np.testing.assert_array_equal(np.flatnonzero(found.labels_ == -1), [4, 44])


def test_missing_entries_do_not_prevent_it(images):
    holes = problems.pierced(images, problems.holes(images.shape, 0.1))
    found = TSNMF(3, outliers=True, missing_values=np.nan, random_state=0).fit(holes)
    assert set(ODD[1:]) <= set(np.flatnonzero(found.labels_ == -1))
    assert (found.labels_ == -1).sum() <= 5


def test_assignments_name_the_cluster_that_each_would_be_in(images, model):
    found = assign_trained(model, images)
    np.testing.assert_array_equal(np.flatnonzero(found.outlier), ODD)
    np.testing.assert_array_equal(found.clusters, model.state_.placed_labels)
    assert found.confidence.shape == (70,)


def test_a_model_file_keeps_them(images, model, tmp_path):
    save_model(model, tmp_path)
    loaded, _ = load_model(tmp_path)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    assert loaded.outliers is True
    np.testing.assert_array_equal(loaded.predict(images), model.predict(images))


@pytest.mark.torch
def test_tensors_are_marked_where_they_lie(images, model):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    found = TSNMF(3, outliers=True, random_state=0).fit(torch.asarray(images))
    assert isinstance(found.labels_, torch.Tensor)
    np.testing.assert_array_equal(found.labels_.numpy() < 0, model.labels_ < 0)
    assert isinstance(found.predict(torch.asarray(images)), torch.Tensor)


@pytest.mark.parametrize("value", [1, "yes", None])
def test_it_is_a_yes_or_a_no(images, value):
    with pytest.raises(ValueError, match="'outliers' parameter of TSNMF"):
        TSNMF(3, outliers=value).fit(images)
