"""The estimator: its attributes, its invariances and new samples."""

import numpy as np
import problems
import pytest
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from twofold import TSNMF
from twofold.core.graphs import KINDS
from twofold.core.start import STARTS
from twofold.estimators.labels import ASSIGNMENTS
from twofold.estimators.problem import read_problem
from twofold.metrics import clustering_accuracy

# The fit


def test_it_finds_the_groups(images, model):
    assert clustering_accuracy(problems.groups(), model.labels_) == 1.0


def test_the_fitted_arrays_keep_their_promises(images, model):
    V, U = model.coefficients_, model.components_
    assert V.shape == (60, 3)
    assert (V >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1)
    assert U.shape == (3, 7, 6)
    assert (U < 0).any()
    P, Q = model.right_projection_, model.left_projection_
    for projection, size, kept in [(Q, 7, 6), (P, 6, 5)]:  # 32 entries, and no fewer
        assert projection.shape == (size, kept)
        np.testing.assert_allclose(projection.T @ projection, np.eye(kept), atol=1e-12)
    assert model.labels_.shape == (60,)
    assert set(model.labels_) == {0, 1, 2}
    assert model.n_features_in_ == 42
    assert model.sample_shape_ == (7, 6)


def test_the_history_has_the_objective_and_its_terms(images):
    model = TSNMF(3, random_state=0, energy_weight=0.5, graph_weight=2.0).fit(images)
    terms = model.objective_terms_
    residuals = {"right_residual", "left_residual"}
    assert set(terms) == residuals | {"energy", "smoothness", "overlap"}
    total = (
        terms["right_residual"]
        + terms["left_residual"]
        - 0.5 * terms["energy"]
        + 2.0 * terms["smoothness"]
    )
    np.testing.assert_allclose(model.objective_history_, total)
    assert model.objective_history_.shape == (model.n_iter_,)


@pytest.mark.parametrize("scale", ["sample", "global"])
def test_reconstruction_errors_are_those_of_the_images(images, scale):
    bright = images * np.linspace(1, 3, 60)[:, None, None]
    model = TSNMF(3, scale=scale, random_state=0).fit(bright)
    rebuilt = model.inverse_transform(model.coefficients_)
    if scale == "sample":
        norms = np.linalg.norm(bright, axis=(1, 2))
        rebuilt = rebuilt * (norms / np.sqrt(np.mean(norms**2)))[:, None, None]
    expected = np.linalg.norm(bright - rebuilt, axis=(1, 2))
    np.testing.assert_allclose(model.reconstruction_error_, expected, rtol=1e-9)


def test_an_outlier_has_the_largest_reconstruction_error(images):
    spoiled = images.copy()
    shuffled = np.random.default_rng(0).permutation(spoiled[17].ravel())
    spoiled[17] = shuffled.reshape(7, 6)
    model = TSNMF(3, random_state=0).fit(spoiled)
    assert model.reconstruction_error_.argmax() == 17


@pytest.mark.parametrize("graph", KINDS)
@pytest.mark.parametrize("init", STARTS)
def test_the_same_seed_gives_the_same_bits(images, init, graph):
    options = {"init": init, "graph": graph, "n_init": 2, "random_state": 7}
    first, second = (TSNMF(3, **options).fit(images) for _ in range(2))
    for name in ("labels_", "components_", "coefficients_", "objective_history_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_the_global_random_state_is_left_alone(images):
    before = np.random.get_state()[1].copy()
    TSNMF(3, init="random").fit(images)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_restarts_keep_the_lowest_objective(images):
    options = {"init": "random", "max_iter": 5, "tol": 0.0}
    seeds = np.random.RandomState(3).randint(2**31 - 1, size=7)[:6]
    with pytest.warns(ConvergenceWarning):
        together = TSNMF(3, n_init=6, random_state=3, **options).fit(images)
    lowest = []
    order = read_problem(TSNMF(3), images).given.order
    for seed in seeds:
        start = np.empty((60, 3))
        start[order] = 0.2 + np.random.RandomState(seed).uniform(size=(60, 3))
        with pytest.warns(ConvergenceWarning):
            alone = TSNMF(3, **{**options, "init": start}).fit(images)
        lowest.append(alone.objective_history_[-1])
    np.testing.assert_allclose(together.objective_history_[-1], min(lowest))


def test_a_given_start_is_used_and_its_zeros_lifted(images):
    start = np.eye(3)[problems.groups()]
    model = TSNMF(3, init=start, random_state=0).fit(images)
    np.testing.assert_array_equal(model.coefficients_.argmax(axis=1), problems.groups())
    assert (model.coefficients_ > 0).all()


def test_a_fit_cut_short_says_what_to_do(images):
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        TSNMF(3, max_iter=2, tol=0.0, random_state=0).fit(images)


def test_a_sweep_equals_the_fits_alone():
    images = load_digits().images[:200]  # their spectral start depends on the energy
    pairs = [(0.1, 0.0), (1.0, 1.0), (10.0, 0.1)]
    base = TSNMF(10, n_init=2, random_state=0)
    for model, (energy, graph) in zip(
        base.fit_sweep(images, pairs), pairs, strict=True
    ):
        alone = clone(base).set_params(energy_weight=energy, graph_weight=graph)
        alone.fit(images)
        assert model.get_params() == alone.get_params()
        np.testing.assert_array_equal(model.labels_, alone.labels_)
        np.testing.assert_allclose(model.coefficients_, alone.coefficients_, rtol=1e-8)
        np.testing.assert_array_equal(model.predict(images), alone.predict(images))
    with pytest.raises(NotFittedError):
        base.predict(images)


# Invariances


def test_transposed_samples_swap_the_projections(images):
    upright = TSNMF(3, n_directions=(2, 4), random_state=0).fit(images)
    turned = TSNMF(3, n_directions=(4, 2), random_state=0)
    turned.fit(images.transpose(0, 2, 1))
    np.testing.assert_array_equal(upright.labels_, turned.labels_)
    np.testing.assert_allclose(upright.left_projection_, turned.right_projection_)
    np.testing.assert_allclose(upright.right_projection_, turned.left_projection_)
    np.testing.assert_allclose(
        upright.components_, turned.components_.transpose(0, 2, 1), atol=1e-9
    )


@pytest.mark.parametrize("init", ["spectral", "random"])
def test_transposed_images_of_few_different_pixels_get_the_same_labels(init):
    images = (load_digits().images[:200] > 8).astype(float)
    upright = TSNMF(10, init=init, random_state=0).fit(images)
    turned = TSNMF(10, init=init, random_state=0).fit(images.transpose(0, 2, 1))
    np.testing.assert_array_equal(upright.labels_, turned.labels_)


@pytest.mark.parametrize("graph", ["heat", *problems.SUBSPACE])
@pytest.mark.parametrize("init", STARTS)
def test_permuted_samples_permute_the_labels(images, init, graph):
    noise = np.random.default_rng(1).normal(size=images.shape)  # no clear groups
    order = np.random.default_rng(0).permutation(len(images))
    plain = TSNMF(3, init=init, graph=graph, random_state=0).fit(noise)
    permuted = TSNMF(3, init=init, graph=graph, random_state=0).fit(noise[order])
    np.testing.assert_array_equal(plain.labels_[order], permuted.labels_)
    np.testing.assert_array_equal(plain.coefficients_[order], permuted.coefficients_)
    np.testing.assert_array_equal(
        plain.reconstruction_error_[order], permuted.reconstruction_error_
    )


def test_a_permuted_start_gives_the_permuted_solution(images):
    start = problems.positive((60, 3))
    order = np.random.default_rng(0).permutation(len(images))
    plain = TSNMF(3, init=start, random_state=0).fit(images)
    permuted = TSNMF(3, init=start[order], random_state=0).fit(images[order])
    np.testing.assert_allclose(
        plain.coefficients_[order], permuted.coefficients_, rtol=1e-8
    )


@pytest.mark.parametrize("scale", ["sample", "global"])
@pytest.mark.parametrize("factor", [255, 1 / 255, 1e150, 1e-150])
def test_the_unit_of_the_pixels_changes_nothing(images, scale, factor):
    plain = TSNMF(3, scale=scale, random_state=0).fit(images)
    other = TSNMF(3, scale=scale, random_state=0).fit(factor * images)
    np.testing.assert_array_equal(plain.labels_, other.labels_)
    np.testing.assert_allclose(plain.coefficients_, other.coefficients_, rtol=1e-9)
    np.testing.assert_allclose(factor * plain.components_, other.components_, rtol=1e-9)
    np.testing.assert_allclose(
        factor * plain.reconstruction_error_, other.reconstruction_error_, rtol=1e-9
    )
    np.testing.assert_array_equal(
        plain.predict(images[:5]), other.predict(factor * images[:5])
    )


def vectors():
    return load_digits().data[:300], 10


def narrow():
    return np.random.default_rng(0).uniform(size=(100, 2, 50)), 3


def centred():
    images = load_digits().images[:300]
    return images - images.mean(axis=0), 10


def bits():
    return np.random.default_rng(0).integers(0, 2, size=(300, 20)) + 0.0, 4


def copies():
    return np.repeat(np.random.default_rng(1).uniform(size=(20, 6, 5)), 8, axis=0), 4


@pytest.mark.parametrize("graph", ["heat", *problems.SUBSPACE])
@pytest.mark.parametrize("scale", ["auto", "global"])
@pytest.mark.parametrize("samples", [vectors, narrow, centred, bits, copies])
def test_rounding_decides_nothing(samples, scale, graph):
    """Of these, eigenvalues at energy_weight=1 or distances tie, but for rounding."""
    X, k = samples()
    options = {"scale": scale, "graph": graph, "random_state": 0}
    plain = TSNMF(k, **options).fit(X)
    for factor in (255, 1 / 3.7):
        other = TSNMF(k, **options).fit(factor * X)
        np.testing.assert_array_equal(plain.labels_, other.labels_)
        np.testing.assert_allclose(
            plain.objective_history_, other.objective_history_, rtol=1e-6
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_images_that_differ_in_brightness_alone_are_identical(images, dtype):
    same = (images[:1] * np.linspace(1, 9, 20)[:, None, None]).astype(dtype)
    with pytest.warns(ConvergenceWarning, match="found 1 of n_clusters=3 clusters"):
        model = TSNMF(3, random_state=0).fit(same)
    np.testing.assert_array_equal(model.labels_, np.zeros(20))
    np.testing.assert_array_equal(model.predict(255 * same), model.labels_)
    assert len(set(TSNMF(3, scale="global", random_state=0).fit_predict(same))) == 3


# New samples


@pytest.mark.parametrize("graph_weight", [0.0, 5.0])
@pytest.mark.parametrize("scale", ["sample", "global"])
def test_coefficients_solve_the_nonnegative_least_squares_problem(scale, graph_weight):
    """Written out from the fitted attributes, one sample at a time."""
    images, new = problems.images(), 3 * problems.images(n=5, seed=8)
    options = {"n_directions": (3, 4), "graph": "binary", "n_neighbors": 4}
    model = TSNMF(3, scale=scale, graph_weight=graph_weight, random_state=0, **options)
    model.fit(images)
    norms = np.linalg.norm(images, axis=(1, 2))
    unit = np.sqrt(np.mean(norms**2))
    if scale == "sample":
        trained = images / norms[:, None, None]
        asked = new / np.linalg.norm(new, axis=(1, 2), keepdims=True)
    else:
        trained, asked = images / unit, new / unit
    P, Q = model.right_projection_, model.left_projection_
    U, V, lengths = (
        model.components_ / unit,
        model.coefficients_,
        model.state_.lengths[0],
    )
    for x, placed in zip(asked, model.transform(new), strict=True):
        rows = [np.reshape(U @ P, (3, -1)).T, np.reshape(Q.T @ U, (3, -1)).T]
        sides = [np.ravel(x @ P), np.ravel(Q.T @ x)]
        for near, point in [(trained @ P, x @ P), (Q.T @ trained, Q.T @ x)]:
            for i in np.argsort(np.linalg.norm(near - point, axis=(1, 2)))[:4]:
                rows.append(np.sqrt(graph_weight) * np.diag(lengths))
                sides.append(np.sqrt(graph_weight) * lengths * V[i])
        expected, _ = nnls(np.concatenate(rows), np.concatenate(sides))
        np.testing.assert_allclose(placed, expected, atol=1e-8)


def test_the_labels_are_those_of_k_means_on_the_unit_columns(images):
    model = TSNMF(3, assign_labels="k-means", random_state=0).fit(images)
    seed = np.random.RandomState(0).randint(2**31 - 1, size=2)[-1]
    order = read_problem(TSNMF(3), images).given.order
    kmeans = KMeans(3, n_init=10, random_state=seed).fit(model.coefficients_[order])
    np.testing.assert_array_equal(model.labels_[order], kmeans.labels_)


def test_identical_samples_share_a_label_and_too_few_are_said():
    images = np.repeat(problems.images(n=2), 15, axis=0)
    with pytest.warns(ConvergenceWarning, match="found 2 of n_clusters=3 clusters"):
        model = TSNMF(3, random_state=0).fit(images)
    assert len(set(model.labels_[:15])) == len(set(model.labels_[15:])) == 1
    np.testing.assert_array_equal(model.predict(images), model.labels_)


def test_parameters_set_after_the_fit_wait_for_the_next(images):
    model = TSNMF(3, random_state=0).fit(images)
    before = model.transform(images)
    model.set_params(graph_weight=50.0, scale="global", graph="cosine", n_neighbors=9)
    np.testing.assert_array_equal(model.transform(images), before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_new_samples_of_another_dtype_are_placed_alike(dtype):
    images = np.round(20 * np.abs(problems.images()))
    model = TSNMF(3, random_state=0).fit(images.astype(np.float32))
    placed = model.transform(images.astype(dtype))
    assert placed.dtype == np.float32
    expected = model.transform(images.astype(np.float32))
    np.testing.assert_allclose(placed, expected, rtol=1e-5)  # of single precision
    assert model.predict(images.astype(dtype)).dtype == model.labels_.dtype


def test_tiny_samples_are_placed_by_a_model_of_single_precision(images):
    model = TSNMF(3, random_state=0).fit(images.astype(np.float32))
    np.testing.assert_array_equal(model.predict(1e-60 * images), model.labels_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_samples_far_larger_than_the_fitted_ones_are_refused(images, dtype):
    flat = images.reshape(60, -1)
    model = TSNMF(3, random_state=0).fit(flat.astype(dtype))
    limit = float(np.finfo(dtype).max) ** 0.25
    assert np.isfinite(model.transform(0.1 * limit * flat)).all()
    with pytest.raises(ValueError, match="X must have samples of norms up to"):
        model.predict(100 * limit * flat)


@pytest.mark.parametrize("graph", KINDS)
@pytest.mark.parametrize("assign_labels", ASSIGNMENTS)
def test_predict_agrees_with_the_labels(images, graph, assign_labels):
    options = {"graph": graph, "assign_labels": assign_labels}
    model = TSNMF(3, random_state=0, **options).fit(images)
    np.testing.assert_array_equal(model.predict(images), model.labels_)


def test_new_samples_join_their_group(images, model):
    # The groups' means come first out of the generator: they do not depend on n.
    new, group = problems.images(n=90), problems.groups(90)
    name_of_group = model.labels_[:3]
    np.testing.assert_array_equal(model.predict(new[60:]), name_of_group[group[60:]])


def test_coefficients_rebuild_the_images(images, model):
    rebuilt = model.inverse_transform(model.transform(images))
    assert rebuilt.shape == images.shape
    unit = images / np.linalg.norm(images, axis=(1, 2), keepdims=True)
    unit_rebuilt = rebuilt / np.linalg.norm(rebuilt, axis=(1, 2), keepdims=True)
    assert np.sum(unit * unit_rebuilt, axis=(1, 2)).min() > 0.7


def test_flat_samples_are_placed_as_their_images_are(images, model):
    np.testing.assert_array_equal(
        model.transform(images), model.transform(images.reshape(60, -1))
    )


def test_methods_need_a_fitted_model(images):
    for method in ("predict", "transform", "inverse_transform"):
        with pytest.raises(NotFittedError):
            getattr(TSNMF(), method)(images)
