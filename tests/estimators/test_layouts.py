"""Samples of every layout and dtype, and hard but valid ones."""

import numpy as np
import problems
import pytest

from twofold import TSNMF
from twofold.core.graphs import KINDS
from twofold.core.start import STARTS


def test_flat_samples_with_a_shape_are_images(images, model):
    flat = TSNMF(3, sample_shape=(7, 6), random_state=0).fit(images.reshape(60, -1))
    np.testing.assert_array_equal(flat.coefficients_, model.coefficients_)
    assert flat.components_.shape == (3, 7, 6)


def test_flat_samples_without_a_shape_are_vectors(images):
    model = TSNMF(3, n_directions=4, random_state=0).fit(images.reshape(60, -1))
    assert model.components_.shape == (3, 42)
    assert model.left_projection_.shape == (42, 4)
    np.testing.assert_array_equal(model.right_projection_, [[1.0]])
    assert model.inverse_transform(model.coefficients_).shape == (60, 42)


def test_channels_share_the_projections(images):
    colour = np.stack([images, 2 * images, -images], axis=-1)
    model = TSNMF(3, n_directions=(2, 3), random_state=0).fit(colour)
    grey = TSNMF(3, n_directions=(2, 3), random_state=0).fit(images)
    np.testing.assert_allclose(model.left_projection_, grey.left_projection_, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, grey.labels_)
    assert model.components_.shape == (3, 7, 6, 3)
    np.testing.assert_allclose(
        model.components_[..., 1], 2 * model.components_[..., 0], atol=1e-9
    )
    np.testing.assert_allclose(model.transform(colour), grey.transform(images))
    flat = TSNMF(3, n_directions=(2, 3), sample_shape=(7, 6, 3), random_state=0)
    flat.fit(colour.reshape(60, -1))
    np.testing.assert_array_equal(flat.components_, model.components_)


@pytest.mark.parametrize(
    ("n_directions", "left", "right"),
    [(2, 2, 2), ((3, 1), 3, 1), (7, 7, 6), ((1, 7), 1, 6), (None, 6, 5)],
)
def test_directions_are_capped_at_their_side(images, n_directions, left, right):
    model = TSNMF(3, n_directions=n_directions, random_state=0).fit(images)
    assert model.left_projection_.shape == (7, left)
    assert model.right_projection_.shape == (6, right)


@pytest.mark.parametrize(
    ("shape", "left", "right"),
    [
        ((30, 20), 4, 4),
        ((30, 5), 7, 4),
        ((30, 5, 3), 4, 4),
        ((50,), 32, 1),
        ((9,), 9, 1),
    ],
)
def test_the_directions_kept_by_default(shape, left, right):
    samples = np.random.default_rng(0).normal(size=(12, *shape))
    model = TSNMF(2, random_state=0).fit(samples)
    assert model.left_projection_.shape == (shape[0], left)
    assert model.right_projection_.shape[1] == right


@pytest.mark.parametrize(
    ("shape", "scale", "n_neighbors"),
    [((6, 7), "sample", 3), ((42,), "global", 5), ((42, 1), "global", 5)],
)
def test_vectors_have_defaults_of_their_own(images, shape, scale, n_neighbors):
    samples = images.reshape(60, *shape) * np.linspace(1, 3, 60).reshape(
        -1, *np.ones_like(shape)
    )
    options = {"graph": "heat", "random_state": 0}
    plain = TSNMF(3, **options).fit(samples)
    told = TSNMF(3, scale=scale, n_neighbors=n_neighbors, **options).fit(samples)
    np.testing.assert_array_equal(plain.coefficients_, told.coefficients_)


@pytest.mark.parametrize(
    ("shape", "graph", "n_neighbors"),
    [
        ((4, 8), "subspace_knn", 10),
        ((32,), "subspace_knn", 10),
        ((4, 4, 2), "subspace_knn", 10),
        ((31, 1), "heat", 5),
        ((31,), "heat", 5),
        ((6, 5), "heat", 3),
        ((5, 3, 2), "heat", 3),
    ],
)
def test_the_graph_by_default(shape, graph, n_neighbors):
    """Samples of fewer than 32 entries lie in no subspaces."""
    means = np.random.default_rng(0).normal(size=(3, *shape))
    noise = np.random.default_rng(1).normal(size=(40, *shape))
    samples = means[np.arange(40) % 3] + 0.7 * noise
    plain = TSNMF(3, random_state=0).fit(samples)
    told = TSNMF(3, graph=graph, n_neighbors=n_neighbors, random_state=0).fit(samples)
    np.testing.assert_array_equal(plain.coefficients_, told.coefficients_)
    np.testing.assert_array_equal(plain.labels_, told.labels_)


def test_shares_have_ten_neighbours_by_default(images):
    plain = TSNMF(3, graph="subspace", random_state=0).fit(images)
    told = TSNMF(3, graph="subspace", n_neighbors=10, random_state=0).fit(images)
    np.testing.assert_array_equal(plain.coefficients_, told.coefficients_)


def test_a_long_vector_costs_no_cubed_eigenproblem(monkeypatch):
    """At 10,000 features the (d, d) Gram alone would take 800 MB."""
    sizes = []

    def watched(matrix):
        sizes.append(matrix.shape[-1])
        return eigh(matrix)

    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", watched)
    flat = problems.stack((100, 1, 10_000, 1)).reshape(100, -1)
    model = TSNMF(3, random_state=0).fit(flat)
    assert max(sizes) == 132
    assert model.left_projection_.shape == (10_000, 32)
    np.testing.assert_array_equal(model.predict(flat), model.labels_)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("float32", "float32"),
        (">f4", "float32"),
        ("float64", "float64"),
        (">f8", "float64"),
        ("float16", "float64"),
        ("uint8", "float64"),
        ("int64", "float64"),
        ("bool", "float64"),
    ],
)
def test_floats_are_kept_and_all_else_becomes_double(images, given, kept):
    samples = np.clip(100 + 30 * images, 0, 255).astype(given)
    if given == "bool":
        samples = images > 0
    model = TSNMF(3, random_state=0).fit(samples)
    for array in (model.components_, model.coefficients_, model.left_projection_):
        assert array.dtype == kept
    assert model.transform(samples).dtype == kept


@pytest.mark.parametrize("graph", KINDS)
@pytest.mark.parametrize("init", STARTS)
@pytest.mark.parametrize(
    "samples",
    [
        np.ones((12, 4, 5)),
        np.zeros((12, 4, 5)),
        np.repeat(problems.images(n=3), 4, axis=0),
        np.concatenate([problems.images(n=11, h=4, w=5), np.zeros((1, 4, 5))]),
        1e150 * problems.images(n=12),
        1e-150 * problems.images(n=12),
    ],
    ids=["constant", "zero", "duplicates", "one zero", "huge", "tiny"],
)
@pytest.mark.filterwarnings("ignore:TSNMF found")
@pytest.mark.filterwarnings("ignore:TSNMF stopped at max_iter")
@pytest.mark.parametrize("k", [1, 3, 12])
def test_degenerate_samples_give_finite_results(samples, init, graph, k):
    model = TSNMF(k, init=init, graph=graph, random_state=0).fit(samples)
    for name in ("components_", "coefficients_", "reconstruction_error_"):
        assert np.isfinite(getattr(model, name)).all()
    assert np.isfinite(model.transform(samples)).all()
    assert np.isfinite(model.objective_history_).all()
    assert model.labels_.max() < k


def test_as_many_clusters_as_samples_separate_all():
    model = TSNMF(6, random_state=0).fit(problems.images(n=6))
    assert len(set(model.labels_)) == 6
