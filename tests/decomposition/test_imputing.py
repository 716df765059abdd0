"""Missing entries of training and new samples in SemiNMF and GNMF."""

from dataclasses import replace

import numpy as np
import problems
import pytest
from problems import holes, pierced
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.datasets import load_digits

from twofold.decomposition import GNMF, SemiNMF

MODELS = {
    "SemiNMF": SemiNMF(3, missing_values=np.nan, random_state=0),
    "GNMF": GNMF(3, missing_values=np.nan, random_state=0),
}

each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def error_at(mask, found, known):
    return problems.relative(found[mask], known[mask])


def mean_filled(X, mask):
    return np.where(mask, np.nanmean(pierced(X, mask), axis=0), X)


def low_rank(n=80, d=40, k=3, seed=0):
    """Return a nonnegative matrix of rank k, and a mask of 30% of its entries."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, k)) @ rng.uniform(size=(k, d))
    return X, holes((n, d), seed=seed)


@pytest.mark.parametrize("seed", range(3))
@each
def test_an_exact_product_is_recovered(model, seed):
    X, mask = low_rank(seed=seed)
    model = clone(model).set_params(tol=1e-8, max_iter=10_000)
    if isinstance(model, GNMF):
        model.set_params(graph_weight=0.0)
    model.fit(pierced(X, mask))
    rebuilt = model.inverse_transform(model.coefficients_)
    assert error_at(mask, rebuilt, X) < 0.02
    assert error_at(mask, mean_filled(X, mask), X) > 0.3


# New samples


def test_new_samples_of_semi_nmf_are_solved_twice(images):
    mask = holes(images.shape, 0.4)
    X = pierced(images, mask)
    model = SemiNMF(3, missing_values=np.nan, random_state=0).fit(X[:50])
    basis = model.components_.reshape(3, -1)
    filled = model.impute(X[50:]).reshape(10, -1)
    coefficients = model.transform(X[50:])
    for row, missing, code in zip(filled, mask[50:], coefficients, strict=True):
        first = nnls(basis.T, row)[0] @ basis
        again = np.where(missing.ravel(), first, row)
        np.testing.assert_allclose(code, nnls(basis.T, again)[0], atol=1e-8)


@each
def test_new_samples_get_the_coefficients_of_refilled_samples(model, grey):
    mask = holes(grey.shape, 0.4)
    X = pierced(grey, mask)
    model = clone(model).fit(X[:50])
    first = model.inverse_transform(model.transform(model.impute(X[50:])))
    again = np.where(mask[50:], first, grey[50:])
    coefficients = model.transform(X[50:])
    np.testing.assert_allclose(
        coefficients, model.transform(again), rtol=1e-8, atol=1e-10
    )
    assert np.abs(coefficients - model.transform(model.impute(X[50:]))).max() > 1e-4


def test_the_neighbours_of_new_samples_are_completed_samples(grey):
    X = pierced(grey, holes(grey.shape, 0.8))
    model = GNMF(3, missing_values=np.nan, n_neighbors=1, random_state=0).fit(X)
    # The weight is so large that only the single neighbour, the sample itself, counts.
    model._fitted = replace(model._fitted, weights={"graph_weight": 1e9})
    coefficients = model.transform(model.impute(X))
    np.testing.assert_allclose(coefficients, model.coefficients_, atol=1e-6)


@pytest.mark.parametrize("scale", ["global", "sample"])
@each
def test_new_samples_get_nearly_the_codes_of_complete_samples(model, scale):
    X, mask = low_rank(n=120)
    model = clone(model).set_params(scale=scale, n_components=6)
    model.fit(pierced(X, mask)[:80])
    hidden = model.transform(pierced(X, mask)[80:])
    expected = model.inverse_transform(model.transform(X[80:]))
    assert problems.relative(model.inverse_transform(hidden), expected) < 0.02
    as_zeros = model.inverse_transform(model.transform(np.where(mask, 0, X)[80:]))
    assert problems.relative(as_zeros, expected) > 0.1


@each
def test_imputed_entries_are_close_and_observed_entries_unchanged(model):
    images = load_digits().images[:400]
    mask = holes(images.shape)
    X = pierced(images, mask)
    model = clone(model).fit(X[:300])
    for part in (slice(300), slice(300, 400)):
        filled = model.impute(X[part])
        np.testing.assert_array_equal(filled[~mask[part]], images[part][~mask[part]])
        error = error_at(mask[part], filled, images[part])
        by_mean = error_at(mask, mean_filled(images, mask), images)
        assert error < 0.75 * by_mean
    flat = model.impute(X[300:].reshape(100, -1))
    np.testing.assert_array_equal(flat, filled)


def test_imputed_entries_of_gnmf_are_nonnegative():
    images = load_digits().images[:200]  # mostly zero: a completion may be negative
    mask = holes(images.shape)
    signed = SemiNMF(3, random_state=0).fit(images, mask=mask)
    model = GNMF(3, random_state=0).fit(images, mask=mask)
    guess = signed.impute(images, mask=mask)
    assert guess.min() < -0.5
    np.testing.assert_array_equal(
        model.impute(images, mask=mask), np.maximum(guess, 0.0)
    )


# Numbers


@each
def test_single_precision_stays_and_agrees(model, grey):
    X = pierced(grey, holes(grey.shape)).astype(np.float32)
    single, double = clone(model).fit(X), clone(model).fit(X.astype(float))
    for name, value in vars(single).items():
        if name.endswith("_") and isinstance(value, np.ndarray):
            assert value.dtype == np.float32 or name == "objective_history_", name
    for name in ("transform", "impute"):
        assert getattr(single, name)(X).dtype == np.float32
    np.testing.assert_allclose(single.impute(X), double.impute(X), atol=0.01)
    rebuilt = double.inverse_transform(double.transform(X))
    ours = single.inverse_transform(single.transform(X))
    np.testing.assert_allclose(ours, rebuilt, atol=0.05)


@each
@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_samples_of_any_unit_are_fitted(model, grey, unit):
    X = pierced(grey, holes(grey.shape))
    plain, model = clone(model).fit(X), clone(model).fit(unit * X)
    np.testing.assert_allclose(model.impute(unit * X) / unit, plain.impute(X))
    rebuilt = model.inverse_transform(model.transform(unit * X)) / unit
    expected = plain.inverse_transform(plain.transform(X))
    np.testing.assert_allclose(rebuilt, expected, rtol=1e-6)


@each
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_identical_samples_complete_each_other(model, value):
    images = np.full((12, 5, 4), value)
    X = pierced(images, holes(images.shape))
    model = clone(model).fit(X)
    np.testing.assert_allclose(model.impute(X), images, atol=1e-9)
    rebuilt = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(rebuilt, images, atol=1e-4)
