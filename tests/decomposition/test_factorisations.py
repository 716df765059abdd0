"""SemiNMF, GNMF and RMNMF: properties of the factors, and new samples."""

import tracemalloc

import baselines_reference as literal
import numpy as np
import problems
import pytest
import reference
from scipy.optimize import nnls
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from twofold import TSNMF
from twofold.decomposition import GNMF, RMNMF, SemiNMF


def test_the_factors_of_semi_nmf_have_the_documented_properties(images):
    model = SemiNMF(3, random_state=0).fit(images)
    V = model.coefficients_
    assert (V >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1)
    assert (model.components_ < 0).any()
    assert (np.diff(model.objective_history_) <= 1e-12).all()
    typical = np.mean(np.sum(images**2, axis=(1, 2)))
    error = np.sum(model.reconstruction_error_**2) / typical
    assert np.isclose(model.objective_history_[-1], error)


def test_the_factors_of_gnmf_have_the_documented_properties(grey):
    model = GNMF(3, graph_weight=0.5, random_state=0).fit(grey)
    assert (model.coefficients_ >= 0).all()
    assert (model.components_ >= 0).all()
    typical = np.sqrt(np.mean(np.sum(grey**2, axis=(1, 2))))
    norms = np.linalg.norm(model.components_, axis=(1, 2))
    np.testing.assert_allclose(norms, typical)
    assert (np.diff(model.objective_history_) <= 1e-12).all()


@pytest.mark.parametrize("graph", problems.GRAPHS)
@pytest.mark.parametrize("n_neighbors", [2, 5])
@pytest.mark.parametrize("scale", ["global", "sample"])
def test_gnmf_is_the_literal_one_on_every_graph(grey, graph, n_neighbors, scale):
    X = grey.reshape(60, -1)
    norms = np.linalg.norm(X, axis=1)
    typical = np.sqrt(np.mean(norms**2))
    X = X / (typical if scale == "global" else norms[:, None])
    W = reference.build_w(X.T, n_neighbors, graph)
    V = problems.positive((60, 3))
    U = np.maximum(np.linalg.lstsq(V, X)[0], 0.2 * X.mean())
    options = {"graph": graph, "n_neighbors": n_neighbors, "scale": scale}
    model = GNMF(3, init=V, graph_weight=0.7, max_iter=4, tol=0.0, **options)
    with pytest.warns(ConvergenceWarning):
        model.fit(grey)
    V, U, objectives = literal.gnmf(X, V, U, W, 0.7, 4)
    lengths = np.linalg.norm(U, axis=1)
    np.testing.assert_allclose(model.objective_history_, objectives, rtol=1e-9)
    np.testing.assert_allclose(model.coefficients_, V * lengths, rtol=1e-8)
    components = typical * U / lengths[:, None]
    np.testing.assert_allclose(model.components_.reshape(3, -1), components, rtol=1e-8)


@pytest.mark.parametrize("graph", problems.GRAPHS)
@pytest.mark.parametrize("n_neighbors", [2, 5])
def test_rmnmf_is_the_literal_one_on_every_graph(grey, graph, n_neighbors):
    X = grey.reshape(60, -1)
    X = X / np.sqrt(np.mean(np.sum(X**2, axis=1)))
    W = reference.build_w(X.T, n_neighbors, graph)
    V = problems.positive((60, 3))
    model = RMNMF(3, init=V, graph=graph, n_neighbors=n_neighbors, graph_weight=0.01)
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_iter=5, tol=0.0).fit(grey)
    V, _, U, _ = literal.rmnmf(X, V, W, 0.01, 5)
    residuals = np.linalg.norm(X - V @ U, axis=1).sum()
    objective = residuals + 0.01 * literal.smoothness(V, W)
    assert np.isclose(model.objective_history_[-1], objective, rtol=1e-7)


def test_the_objective_of_rmnmf_is_that_of_its_factors(grey):
    model = RMNMF(3, graph_weight=0.5, random_state=0).fit(grey)
    X = grey.reshape(60, -1)
    typical = np.sqrt(np.mean(np.sum(X**2, axis=1)))
    V, U = model.coefficients_, model.components_.reshape(3, -1)
    residuals = np.linalg.norm(X - V @ U, axis=1).sum() / typical
    W = literal.binary_graph(X, 5)
    expected = residuals + 0.5 * literal.smoothness(V, W)
    assert np.isclose(model.objective_, expected)


@pytest.mark.parametrize("graph", problems.GRAPHS)
def test_the_graph_of_gnmf_draws_neighbours_together(grey, graph):
    W = literal.binary_graph(grey.reshape(60, -1), 5)

    def roughness(weight):
        V = GNMF(3, graph=graph, graph_weight=weight, random_state=0).fit(grey)
        V = V.coefficients_ / np.linalg.norm(V.coefficients_)
        return literal.smoothness(V, W)

    assert roughness(100.0) < 0.5 * roughness(0.0)


def test_rmnmf_is_orthonormal_and_nonnegative(grey):
    model = RMNMF(3, random_state=0).fit(grey)
    V = model.coefficients_
    assert (V >= 0).all()
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    assert ((V > 0).sum(axis=1) == 1).all()


def test_outliers_weigh_less_in_rmnmf_than_in_semi_nmf(images):
    spoiled = images.copy()
    spoiled[:3] += 40 * np.random.default_rng(0).normal(size=(3, 7, 6))

    def clean_error(model):
        model.fit(spoiled)
        return np.median(model.reconstruction_error_[3:])

    ours = clean_error(RMNMF(3, init=problems.positive((60, 3)), graph_weight=0.0))
    squares = clean_error(SemiNMF(3, init=problems.positive((60, 3))))
    assert ours < squares


def test_new_samples_get_nonnegative_least_squares_coefficients(images):
    model = SemiNMF(3, random_state=0).fit(images[:50])
    flat = model.components_.reshape(3, -1)
    coefficients = model.transform(images[50:])
    for image, code in zip(images[50:], coefficients, strict=True):
        np.testing.assert_allclose(code, nnls(flat.T, image.ravel())[0], atol=1e-8)


def test_new_samples_of_gnmf_minimise_their_part_of_the_objective(grey):
    weight = 0.3
    model = GNMF(3, graph_weight=weight, n_neighbors=4, random_state=0).fit(grey[:50])
    new = grey[50:].reshape(10, -1)
    typical = np.sqrt(np.mean(np.sum(grey[:50] ** 2, axis=(1, 2))))
    X, U = new / typical, model.components_.reshape(3, -1) / typical
    train = grey[:50].reshape(50, -1) / typical
    near = np.argsort(((X[:, None] - train) ** 2).sum(-1), axis=1)[:, :4]
    # The graph term is that of the fit, before components are scaled.
    fitted = model._fitted.coefficients[near]
    lengths = model._lengths

    def cost(V):
        drawn = np.sum((V[:, None] / lengths - fitted) ** 2, axis=(1, 2))
        return np.sum((X - V @ U) ** 2, axis=1) + weight * drawn

    coefficients = model.transform(grey[50:])
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(100):
            other = np.maximum(
                coefficients + size * rng.normal(size=coefficients.shape), 0
            )
            assert (cost(other) >= cost(coefficients) - 1e-10).all()


def test_negative_samples_are_refused_by_gnmf(images):
    with pytest.raises(ValueError, match=r"X must be nonnegative.*SemiNMF"):
        GNMF(3).fit(images)
    model = GNMF(3, random_state=0).fit(np.abs(images))
    with pytest.raises(ValueError, match="X must be nonnegative"):
        model.transform(images)


@pytest.mark.parametrize("cls", [GNMF, RMNMF])
def test_too_large_a_weight(cls, grey):
    with pytest.raises(ValueError, match=r"graph_weight must be at most 1e\+154"):
        cls(3, graph_weight=1e160).fit(grey)
    with pytest.raises(ValueError, match="n_neighbors must be a positive integer"):
        cls(3, n_neighbors=True).fit(grey)


@pytest.mark.parametrize(
    ("name", "value"),
    [("graph_weight", -1.0), ("n_neighbors", 0), ("graph", "round"), ("scale", "auto")],
)
@pytest.mark.parametrize("cls", [GNMF, RMNMF])
def test_bad_parameters(cls, name, value, grey):
    with pytest.raises(ValueError, match=name):
        cls(3, **{name: value}).fit(grey)


def test_semi_nmf_is_ts_nmf_without_projections_and_graph(images):
    start = problems.positive((60, 3))
    ours = SemiNMF(3, init=start, tol=0, max_iter=8)
    two = TSNMF(3, init=start, n_directions=(7, 6), graph_weight=0.0, tol=0, max_iter=8)
    for model in (ours, two.set_params(energy_weight=0.0, scale="global")):
        with pytest.warns(UserWarning, match="stopped at max_iter"):
            model.fit(images)
    np.testing.assert_allclose(ours.coefficients_, two.coefficients_, rtol=1e-8)
    np.testing.assert_allclose(ours.components_, two.components_, atol=1e-8)


@pytest.mark.parametrize("cls", [SemiNMF, GNMF, RMNMF])
def test_no_array_is_as_large_as_samples_times_samples(cls):
    vectors = np.random.default_rng(0).uniform(size=(6000, 8))
    model = cls(2, init="random", max_iter=3, tol=0.0, random_state=0)
    tracemalloc.start()
    with pytest.warns(ConvergenceWarning):
        model.fit(vectors)
    model.transform(vectors)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000**2


@pytest.mark.parametrize("cls", [SemiNMF, GNMF])
def test_the_factorisations_reconstruct_digits(cls):
    images = load_digits().images
    model = cls(20, random_state=0).fit(images)
    error = np.linalg.norm(model.reconstruction_error_) / np.linalg.norm(images)
    assert error < 0.45
