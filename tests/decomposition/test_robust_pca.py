"""RobustPCA: the parts, new samples and the weight."""

import numpy as np
import pytest
from problems import relative
from sklearn.exceptions import ConvergenceWarning

from twofold.decomposition import RobustPCA


@pytest.fixture(scope="module")
def known():
    """Return a low-rank stack (80, 10, 9) and its sparse corruption."""
    rng = np.random.default_rng(0)
    low_rank = (rng.normal(size=(80, 3)) @ rng.normal(size=(3, 90))).reshape(80, 10, 9)
    hit = rng.uniform(size=low_rank.shape) < 0.05
    return low_rank, np.where(hit, rng.uniform(-20, 20, size=low_rank.shape), 0.0)


@pytest.mark.parametrize("unit", [1.0, 255.0, 1e-6])
def test_it_recovers_the_parts(known, unit):
    low_rank, sparse = known
    model = RobustPCA().fit(unit * (low_rank + sparse))
    assert relative(model.low_rank_, unit * low_rank) < 1e-5
    assert relative(model.sparse_, unit * sparse) < 1e-5
    assert model.n_components_ == 3
    assert model.sparsity_weight_ == 1 / np.sqrt(90)


def test_the_parts_and_the_components_fit_together(known):
    images = sum(known)
    model = RobustPCA().fit(images)
    np.testing.assert_allclose(model.low_rank_ + model.sparse_, images, atol=1e-4)
    flat = model.components_.reshape(3, -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(3), atol=1e-10)
    rebuilt = model.inverse_transform(model.coefficients_)
    np.testing.assert_allclose(rebuilt, model.low_rank_, atol=1e-10)
    assert (flat[range(3), np.abs(flat).argmax(axis=1)] > 0).all()
    values = np.linalg.svd(model.low_rank_.reshape(80, -1), compute_uv=False)
    np.testing.assert_allclose(model.singular_values_, values[:3])


def test_training_samples_get_the_low_rank_part_of_the_fit(known):
    images = sum(known)
    model = RobustPCA().fit(images)
    rebuilt = model.inverse_transform(model.transform(images))
    assert relative(rebuilt, model.low_rank_) < 1e-4


def test_new_samples_are_split_against_the_fitted_subspace(known):
    low_rank, sparse = known
    model = RobustPCA().fit((low_rank + sparse)[:60])
    clean, dirt = model.split((low_rank + sparse)[60:])
    # Coordinates shrink by less than a percent, and the corruption is removed.
    assert relative(clean, low_rank[60:]) < 0.01
    assert relative(dirt, sparse[60:]) < 0.01
    np.testing.assert_allclose(clean + dirt, (low_rank + sparse)[60:])


def test_a_large_weight_leaves_nothing_sparse_and_a_small_one_no_rank(known):
    images = sum(known)
    all_low = RobustPCA(sparsity_weight=10.0).fit(images)
    np.testing.assert_allclose(all_low.low_rank_, images, atol=1e-4)
    all_sparse = RobustPCA(sparsity_weight=1e-4).fit(images)
    assert all_sparse.n_components_ == 0
    np.testing.assert_allclose(all_sparse.sparse_, images, atol=1e-4)
    assert all_sparse.transform(images).shape == (80, 0)
    np.testing.assert_array_equal(
        all_sparse.inverse_transform(np.zeros((4, 0))), np.zeros((4, 10, 9))
    )


def test_a_fit_that_does_not_converge_warns_with_its_residual(known):
    with pytest.warns(ConvergenceWarning, match=r"the residual \d.*tol=1e-07"):
        RobustPCA(max_iter=3).fit(sum(known))


def test_entries_far_larger_than_all_others_are_warned_of(known):
    images = sum(known)
    images[3, 2, 1] = 1e8
    with pytest.warns(UserWarning, match=r"up to 1\.0e\+08 beside a median"):
        RobustPCA().fit(images)


@pytest.mark.parametrize("weight", [0, -1.0, "auto"])
def test_a_bad_weight(known, weight):
    with pytest.raises(ValueError, match="sparsity_weight"):
        RobustPCA(weight).fit(sum(known))


@pytest.mark.parametrize("size", [1e-300, 1e-307, 1e-320])
def test_new_samples_next_to_zero(size):
    rng = np.random.default_rng(0)
    model = RobustPCA().fit(rng.uniform(size=(30, 8, 6)))
    codes = model.transform(size * rng.uniform(size=(4, 8, 6)))
    assert np.isfinite(codes).all()
    assert 0 < np.abs(codes).max() < 100 * size
