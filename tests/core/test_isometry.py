"""Few samples with many entries in fewer coordinates."""

import numpy as np
import problems
import pytest
import reference

from twofold.core.grams import both_sides
from twofold.core.isometry import shortened
from twofold.core.solver import solve
from twofold.core.state import SolverOptions


@pytest.mark.parametrize(("dtype", "close"), [(float, 1e-13), (np.float32, 1e-5)])
def test_all_inner_products_stay_the_same(dtype, close):
    features = np.random.default_rng(0).normal(3, 1, (2, 30, 5000)).astype(dtype)
    found = shortened(features)
    assert found.shape == (2, 30, 30)
    assert found.dtype == dtype
    wide = features.astype(float)
    known = wide @ wide.mT
    np.testing.assert_allclose(found @ found.mT, known, rtol=close, atol=0)


def test_nearly_dependent_samples_keep_their_small_distances():
    rng = np.random.default_rng(1)
    features = np.ones(300) + 1e-5 * rng.normal(size=(1, 20, 300))
    found = shortened(features)
    assert found.shape == (1, 20, 20)
    known, squared = (
        ((rows[:, :, None] - rows[:, None]) ** 2).sum(-1) for rows in (features, found)
    )
    # A Gram entry is a sum of d products, here of d in all, each rounded once or twice.
    rounding = features.shape[-1] ** 2 * np.finfo(float).eps
    assert rounding < 1e-3 * known[known > 0].min()
    np.testing.assert_allclose(squared, known, rtol=0, atol=rounding)


@pytest.mark.parametrize("shape", [(1, 20, 40), (1, 20, 10)])
def test_features_that_are_not_far_longer_stay(shape):
    features = np.random.default_rng(0).normal(size=shape)
    assert shortened(features) is features


@pytest.mark.parametrize("seed", range(20))
def test_copies_and_zeros_have_the_same_coordinates(seed):
    """Whether or not rounding makes the Gram matrix look regular."""
    features = np.random.default_rng(seed).normal(size=(2, 9, 50))
    features[0, 3], features[0, 5], features[0, 7:] = features[0, 1], 0, features[0, 0]
    found = shortened(features)
    assert found.shape == (2, 9, 9)
    np.testing.assert_allclose(found @ found.mT, features @ features.mT, atol=1e-12)
    for copy, of in ((3, 1), (7, 0), (8, 0)):
        np.testing.assert_array_equal(found[0, copy], found[0, of])
    assert not found[0, 5].any()
    one = np.random.default_rng(seed).normal(size=(1, 30, 500))
    one[0, 29] = one[0, 4]
    for found in (shortened(one), shortened(one.astype(np.float32))):
        assert found.shape == (1, 30, 30)
        np.testing.assert_array_equal(found[0, 29], found[0, 4])


def test_zeros_alone_stay_zeros():
    assert not shortened(np.zeros((1, 5, 50))).any()


@pytest.mark.parametrize("row", [0, 1])
def test_dependent_samples_leave_the_features_as_they_are(row):
    """Without a copy, and beside one."""
    features = np.random.default_rng(0).normal(size=(1, 6, 50))
    features[0, 3] = features[0, row] = features[0, 1]
    features[0, 4] = features[0, 2] + features[0, 5]
    assert shortened(features) is features


@pytest.mark.parametrize("graph", problems.GRAPHS)
def test_fits_to_long_samples_agree_with_the_literal_algorithm(graph):
    shape, directions = (12, 3, 10, 9), (2, 3)
    samples, start = problems.stack(shape), problems.positive((12, 3), seed=1)
    options = SolverOptions(directions, n_neighbors=4, graph=graph, max_iter=6, tol=0.0)
    sides, weights = both_sides(samples), problems.weights(0.5, 0.3)
    [ours] = solve(samples, sides, start[None], weights, options)
    theirs = reference.ts_nmf(
        samples,
        start,
        n_directions=directions,
        lambda_1=0.5,
        lambda_2=0.3,
        n_neighbors=4,
        n_iter=6,
        graph=graph,
    )
    state = ours.state
    np.testing.assert_allclose(state.coefficients[0], theirs.V, atol=1e-8)
    np.testing.assert_allclose(problems.dense(state.right.graph), theirs.W_P, atol=1e-8)
    np.testing.assert_allclose(problems.dense(state.left.graph), theirs.W_Q, atol=1e-8)
