import numpy as np
import problems
import pytest

from twofold.core.grams import both_ways, one_side, project, residual_gram
from twofold.core.updates import update_centroids


@pytest.mark.parametrize("layout", problems.LAYOUTS)
def test_the_residual_gram_is_that_of_the_residuals(layout):
    shape, _ = problems.LAYOUTS[layout]
    samples, V = problems.stack(shape), problems.positive((2, shape[0], 3))
    U = update_centroids(samples, V)
    for view, centroids in zip(both_ways(samples), both_ways(U), strict=True):
        ours = residual_gram(one_side(view).gram, V, centroids)
        for run in range(2):
            residuals = view - np.tensordot(V[run], centroids[run], axes=1)
            literal = sum(r.T @ r for sample in residuals for r in sample)
            np.testing.assert_allclose(ours[run], literal, atol=1e-10)


def test_inner_products_after_projection_are_those_under_p_p():
    samples = problems.stack((6, 2, 4, 5))
    P = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0]
    features = project(samples, P[None])[0]
    projected = (samples @ P @ P.T).reshape(6, -1)
    np.testing.assert_allclose(features @ features.T, projected @ projected.T)


def test_the_left_side_is_the_right_side_of_transposed_samples():
    samples = problems.stack((6, 3, 4, 5))
    left, right = (one_side(view) for view in both_ways(samples))
    matrices = samples.reshape(18, 4, 5)
    np.testing.assert_allclose(right.gram, sum(x.T @ x for x in matrices))  # G_P
    np.testing.assert_allclose(left.gram, sum(x @ x.T for x in matrices))  # G_Q
