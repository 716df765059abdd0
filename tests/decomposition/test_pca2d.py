"""PCA2D against the literal one and scikit-learn's PCA."""

import tracemalloc

import baselines_reference as literal
import numpy as np
import problems
import pytest
from sklearn.decomposition import PCA

from twofold.core.pca2d import principal_directions
from twofold.decomposition import PCA2D

IMAGES = problems.images() + 3


def same_span(ours, theirs):
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-10)


def test_the_directions_of_each_side_are_the_literal_ones():
    model = PCA2D((3, 2), side="both").fit(IMAGES)
    mean, P, variances = literal.pca2d(IMAGES, 2)
    same_span(model.right_projection_, P)
    np.testing.assert_allclose(model.right_variance_, variances, atol=1e-12)
    np.testing.assert_allclose(model.mean_, mean)
    _, Q, variances = literal.pca2d(IMAGES.swapaxes(1, 2), 3)
    same_span(model.left_projection_, Q)
    np.testing.assert_allclose(model.left_variance_, variances, atol=1e-12)


def test_no_orthonormal_directions_retain_more_variance():
    centred = (IMAGES - IMAGES.mean(axis=0))[:, None]
    P, _ = principal_directions(centred, 2)
    rng = np.random.default_rng(0)
    for _ in range(200):
        other = np.linalg.qr(rng.normal(size=(6, 2)))[0]
        assert np.sum((centred @ other) ** 2) <= np.sum((centred @ P) ** 2)


@pytest.mark.parametrize("side", ["right", "left", "both"])
@pytest.mark.parametrize("n", [60, 20])
def test_of_vectors_it_is_pca(side, n):
    """Including fewer vectors than entries."""
    vectors = IMAGES[:n].reshape(n, -1)
    ours = PCA2D(5, side=side).fit(vectors)
    theirs = PCA(5).fit(vectors)
    same_span(ours.left_projection_, theirs.components_.T)
    np.testing.assert_allclose(
        ours.left_variance_[:5] * n / (n - 1), theirs.explained_variance_
    )
    assert ours.left_variance_.shape == (42,)
    ratio = theirs.explained_variance_ratio_.sum()
    assert np.isclose(ours.explained_variance_ratio_, ratio)
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(vectors)),
        theirs.inverse_transform(theirs.transform(vectors)),
        atol=1e-10,
    )


@pytest.mark.parametrize(
    ("side", "k"), [("right", 7 * 2), ("left", 2 * 6), ("both", 2 * 2)]
)
def test_codes_are_the_projected_samples(side, k):
    model = PCA2D(2, side=side).fit(IMAGES)
    codes = model.transform(IMAGES)
    assert codes.shape == (60, k)
    Q, P = model.left_projection_, model.right_projection_
    for image, code in zip(IMAGES, codes, strict=True):
        np.testing.assert_allclose((Q.T @ (image - model.mean_) @ P).ravel(), code)
    rebuilt = model.inverse_transform(codes)
    error = np.sum((IMAGES - rebuilt) ** 2)
    np.testing.assert_allclose(model.objective_history_, [error])
    spread = np.sum((IMAGES - IMAGES.mean(axis=0)) ** 2)
    assert np.isclose(1 - error / spread, model.explained_variance_ratio_)


@pytest.mark.parametrize("side", ["right", "left", "both"])
def test_all_directions_reconstruct_exactly(side):
    model = PCA2D(50, side=side).fit(IMAGES)
    assert model.right_projection_.shape == (6, 6)
    np.testing.assert_allclose(model.inverse_transform(model.transform(IMAGES)), IMAGES)
    assert np.isclose(model.explained_variance_ratio_, 1)


def test_long_vectors_need_no_quadratic_memory():
    vectors = np.random.default_rng(0).normal(size=(5, 20_000))
    tracemalloc.start()
    model = PCA2D(9).fit(vectors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * vectors.nbytes < 20_000**2
    assert model.left_projection_.shape == (20_000, 5)
    rebuilt = model.inverse_transform(model.transform(vectors))
    np.testing.assert_allclose(rebuilt, vectors, atol=1e-10)


@pytest.mark.torch
def test_codes_that_are_tensors_are_reconstructed():
    torch = pytest.importorskip("torch")
    model = PCA2D(2, side="both").fit(IMAGES)
    codes = model.transform(IMAGES)
    rebuilt = model.inverse_transform(torch.asarray(codes))
    assert isinstance(rebuilt, np.ndarray)
    np.testing.assert_array_equal(rebuilt, model.inverse_transform(codes))


def test_directions_point_to_their_largest_entry():
    model = PCA2D(4, side="both").fit(IMAGES)
    for projection in (model.left_projection_, model.right_projection_):
        largest = np.abs(projection).argmax(axis=0)
        assert (projection[largest, range(4)] > 0).all()


def test_the_left_side_is_the_right_side_of_transposed_samples():
    left = PCA2D(3, side="left").fit(IMAGES)
    right = PCA2D(3).fit(IMAGES.swapaxes(1, 2))
    np.testing.assert_allclose(left.left_projection_, right.right_projection_)


@pytest.mark.parametrize(
    "n_directions", [0, (2,), (1, 2, 3), "two", (2, 0), True, None]
)
def test_bad_directions(n_directions):
    with pytest.raises(ValueError, match="n_directions"):
        PCA2D(n_directions).fit(IMAGES)


def test_new_samples_too_large_for_the_model_are_refused():
    model = PCA2D(3).fit(IMAGES.astype(np.float32))
    with pytest.raises(
        ValueError, match=r"X must have samples of norms up to .* times"
    ):
        model.transform(1e60 * IMAGES)


def test_a_bad_side():
    with pytest.raises(ValueError, match="'side' parameter"):
        PCA2D(side="top").fit(IMAGES)
