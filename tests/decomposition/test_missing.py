"""SemiNMF and GNMF of samples with missing entries."""

import baselines_reference as literal
import numpy as np
import pandas as pd
import problems
import pytest
import reference
from problems import holes, pierced
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from twofold.decomposition import GNMF, RMNMF, SemiNMF

MODELS = {"SemiNMF": SemiNMF(3, random_state=0), "GNMF": GNMF(3, random_state=0)}
FITTED = ("coefficients_", "components_", "objective_history_", "reconstruction_error_")
TAKING_NAN = {
    name: clone(model).set_params(missing_values=np.nan)
    for name, model in MODELS.items()
}

each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
each_taking_nan = pytest.mark.parametrize("model", TAKING_NAN.values(), ids=TAKING_NAN)


# The iteration


def literal_filling(X, missing, V, U, step_v, step_u, n_iter):
    """Update V, then each missing entry, then U.

    Also the sum of squares after each iteration, and that of the observed entries
    before each step of U.
    """
    X, squares, observed = X.copy(), [], []
    for _ in range(n_iter):
        V = step_v(X, V, U)
        for i, j in np.argwhere(missing):
            X[i, j] = V[i] @ U[:, j]
        observed.append(np.sum((X - V @ U)[~missing] ** 2))
        U = step_u(X, V, U)
        squares.append(np.sum((X - V @ U) ** 2))
    return V, U, np.array(squares), np.array(observed)


def interleaved(observed, squares):
    return np.column_stack([observed, squares]).ravel()


def fit_few(model, X):
    with pytest.warns(ConvergenceWarning):
        return model.set_params(max_iter=6, tol=0.0).fit(X)


def test_semi_nmf_is_the_literal_one(images):
    mask, V = holes(images.shape), problems.positive((60, 3))
    model = fit_few(SemiNMF(3, init=V, missing_values=np.nan), pierced(images, mask))
    X = model.impute(pierced(images, mask)).reshape(60, -1)
    typical = np.sqrt(np.mean(np.sum(X**2, axis=1)))
    V, U, squares, observed = literal_filling(
        X / typical,
        mask.reshape(60, -1),
        V,
        np.linalg.lstsq(V, X / typical)[0],
        # U is computed from X and V of the iteration before.
        lambda X, V, U: literal.semi_nmf(X, V, 1)[0],
        lambda X, V, U: np.linalg.lstsq(V, X)[0],
        6,
    )
    lengths = np.linalg.norm(V, axis=0)
    np.testing.assert_allclose(model.objective_history_, squares, rtol=1e-9)
    np.testing.assert_allclose(model.coefficients_, V / lengths, rtol=1e-8)
    components = (typical * U * lengths[:, None]).reshape(3, 7, 6)
    np.testing.assert_allclose(model.components_, components, rtol=1e-8, atol=1e-8)
    assert (np.diff(interleaved(observed, squares)) <= 1e-12).all()


@pytest.mark.parametrize("graph", ["binary", "heat"])
@pytest.mark.parametrize("scale", ["global", "sample"])
def test_gnmf_is_the_literal_one(grey, graph, scale):
    mask, V = holes(grey.shape), problems.positive((60, 3))
    model = GNMF(3, init=V, graph_weight=0.7, graph=graph, scale=scale)
    fit_few(model.set_params(missing_values=np.nan), pierced(grey, mask))
    X = model.impute(pierced(grey, mask)).reshape(60, -1)
    norms = np.linalg.norm(X, axis=1)
    typical = np.sqrt(np.mean(norms**2))
    divisor = norms[:, None] if scale == "sample" else typical
    W, rough = reference.build_w((X / divisor).T, 5, graph), []

    def step_v(X, V, U):
        rough.append(literal.smoothness(V, W))
        return literal.gnmf(X, V, U, W, 0.7, 1)[0]

    V, U, squares, _ = literal_filling(
        X / divisor,
        mask.reshape(60, -1),
        V,
        np.maximum(np.linalg.lstsq(V, X / divisor)[0], 0.2 * np.mean(X / divisor)),
        step_v,
        lambda X, V, U: U * (V.T @ X) / (V.T @ V @ U),
        6,
    )
    rough = np.array([*rough[1:], literal.smoothness(V, W)])
    lengths = np.linalg.norm(U, axis=1)
    objectives = squares + 0.7 * rough
    np.testing.assert_allclose(model.objective_history_, objectives, rtol=1e-9)
    np.testing.assert_allclose(model.coefficients_, V * lengths, rtol=1e-8)
    rest = np.where(mask.reshape(60, -1), 0, X - divisor * (V @ U))
    errors = np.linalg.norm(rest, axis=1)
    np.testing.assert_allclose(model.reconstruction_error_, errors, rtol=1e-8)


@each
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.05, 0.4, 0.8])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_rises_and_ends_at_the_observed_error(
    model, grey, seed, share
):
    mask = holes(grey.shape, share, seed)
    model = clone(model).set_params(init="random", random_state=seed, tol=0.0)
    model.set_params(max_iter=300).fit(grey, mask=mask)
    assert (np.diff(model.objective_history_) <= 1e-12).all()
    rest = np.where(mask, 0, grey - model.inverse_transform(model.coefficients_))
    errors = np.linalg.norm(rest, axis=(1, 2))
    np.testing.assert_allclose(model.reconstruction_error_, errors, rtol=1e-9)
    filled = model.impute(grey, mask=mask)
    observed = np.sum(errors**2) / np.mean(np.sum(filled**2, axis=(1, 2)))
    if isinstance(model, GNMF):
        W = literal.binary_graph(filled.reshape(60, -1), 5)
        V = model.coefficients_ / model._lengths
        observed += model.graph_weight * literal.smoothness(V, W)
    last = model.objective_history_[-1]
    assert observed <= last * (1 + 1e-12)
    assert np.isclose(observed, last, rtol=1e-2)


# Marks of missing entries


@each
def test_complete_samples_are_fitted_as_without_missing_values(model, grey):
    plain = clone(model).fit(grey)
    aware = clone(model).set_params(missing_values=np.nan).fit(grey)
    masked = clone(model).fit(grey, mask=np.zeros(grey.shape, dtype=bool))
    for other in (aware, masked):
        for name in FITTED:
            np.testing.assert_array_equal(getattr(other, name), getattr(plain, name))
        np.testing.assert_array_equal(other.transform(grey), plain.transform(grey))
        np.testing.assert_array_equal(other.impute(grey), grey)


@each
def test_all_marks_are_equivalent(model, grey):
    mask = holes(grey.shape)
    X = pierced(grey, mask)
    expected = clone(model).set_params(missing_values=np.nan)
    codes = expected.fit_transform(X)
    frame = pd.DataFrame(X.reshape(60, -1)).add_prefix("pixel")
    shaped = {"sample_shape": (7, 6)}
    for options, given, keywords in [
        ({}, np.where(mask, 1e6, grey), {"mask": mask}),
        ({}, np.where(mask, -5.0, grey), {"mask": mask.astype(int).tolist()}),
        ({}, X, {"mask": mask.reshape(60, -1)}),
        ({}, np.ma.masked_array(grey, mask), {}),
        ({"missing_values": -1}, np.where(mask, -1, grey), {}),
        ({"missing_values": np.nan, **shaped}, frame, {}),
    ]:
        other = clone(model).set_params(**options)
        found = other.fit_transform(given, **keywords)
        np.testing.assert_array_equal(found, codes)
        for name in FITTED:
            np.testing.assert_array_equal(getattr(other, name), getattr(expected, name))
        filled = other.impute(given, **keywords)
        np.testing.assert_array_equal(filled, expected.impute(X))


@each_taking_nan
@pytest.mark.torch
def test_tensors_are_read(model, grey):
    torch = pytest.importorskip("torch")
    X = pierced(grey, holes(grey.shape))
    codes = clone(model).fit(X).transform(X)
    model = clone(model).fit(torch.asarray(X))
    np.testing.assert_array_equal(model.transform(torch.asarray(X)), codes)
    filled = model.impute(torch.asarray(X))
    assert isinstance(filled, np.ndarray)
    np.testing.assert_array_equal(filled, model.impute(X))


@each
def test_a_mask_of_one_channel_applies_to_all_channels(model, grey):
    colour = np.stack([grey, 2 * grey, grey], axis=-1)
    mask = holes(grey.shape)
    one = clone(model).fit(colour, mask=mask)
    all_ = clone(model).fit(colour, mask=np.stack(3 * [mask], axis=-1))
    np.testing.assert_array_equal(one.coefficients_, all_.coefficients_)
    rebuilt = one.inverse_transform(one.coefficients_)
    assert rebuilt.shape == colour.shape
    assert problems.relative(rebuilt[mask], colour[mask]) < 0.3


@each
def test_scikit_learns_own_checks_pass(model):
    taking_nan = type(model)(2, tol=1e-3, missing_values=np.nan)
    results = check_estimator(taking_nan, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 40
    assert get_tags(taking_nan).input_tags.allow_nan
    for value in (None, -1.0):
        assert not get_tags(type(model)(missing_values=value)).input_tags.allow_nan


# Patterns of missing entries


def rows(mask):
    mask[::2, 3] = True


def columns(mask):
    mask[1::3, :, 1:3] = True


def blocks(mask):
    for i in range(len(mask)):
        mask[i, i % 4 : i % 4 + 4, i % 3 : i % 3 + 4] = True


def never_observed(mask):
    mask[:, 2:4, 2:4] = True


def one_pixel_left(mask):
    mask[5] = True
    mask[5, 1, 1] = False


def nearly_all(mask):
    mask |= holes(mask.shape, 0.9)


PATTERNS = [rows, columns, blocks, never_observed, one_pixel_left, nearly_all]


@each_taking_nan
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.__name__)
@pytest.mark.parametrize("scale", ["global", "sample"])
def test_any_pattern_of_missing_entries_is_fitted(model, grey, pattern, scale):
    mask = np.zeros(grey.shape, dtype=bool)
    pattern(mask)
    X = pierced(grey, mask)
    model = clone(model).set_params(scale=scale).fit(X)
    assert (np.diff(model.objective_history_) <= 1e-12).all()
    assert (model.coefficients_ >= 0).all()
    flat = np.where(mask, 0, grey - np.nanmean(X))
    assert np.sum(model.reconstruction_error_**2) < 0.7 * np.sum(flat**2)
    for filled in (model.impute(X), model.inverse_transform(model.transform(X))):
        assert np.isfinite(filled).all()
        assert filled.max() < 1.5 * grey.max()
        assert filled.min() > -0.5 * grey.max()


@each_taking_nan
def test_a_sample_with_nothing_observed_is_refused(model, grey):
    X = pierced(grey, holes(grey.shape))
    empty = X.copy()
    empty[[7, 9]] = np.nan
    message = r"2 of 60 samples with none, the first is sample 7; leave them out"
    with pytest.raises(ValueError, match=message):
        clone(model).fit(empty)
    model = clone(model).fit(X)
    for ask in (model.transform, model.impute):
        with pytest.raises(ValueError, match="the first is sample 2"):
            ask(empty[5:])


@each_taking_nan
def test_observed_entries_must_be_finite(model, grey):
    X = pierced(grey, holes(grey.shape))
    X[3, 2, 1] = np.inf
    with pytest.raises(ValueError, match=r"got 0 NaN and 1 infinity .*sample 3"):
        clone(model).fit(X)
    with pytest.raises(ValueError, match=r"mask must be of the shape of X"):
        clone(model).fit(grey, mask=np.zeros((60, 5), dtype=bool))
    with pytest.raises(ValueError, match=r"missing_values must be a .* got True"):
        clone(model).set_params(missing_values=True).fit(grey)
    with pytest.raises(ValueError, match="missing_values"):
        clone(model).set_params(missing_values="NaN").fit(grey)


@each
def test_a_model_of_complete_samples_rejects_missing_entries(model, grey):
    model = clone(model).fit(grey)
    mask = holes(grey.shape)
    with pytest.raises(ValueError, match=r"fit it with missing_values=np\.nan"):
        model.transform(grey, mask=mask)
    with pytest.raises(ValueError, match=r"fit it with missing_values=np\.nan"):
        model.impute(np.ma.masked_array(grey, mask))
    with pytest.raises(ValueError, match=r"set missing_values=np\.nan"):
        model.transform(pierced(grey, mask))


def test_observed_entries_of_gnmf_must_be_nonnegative(images):
    negative = images < 0
    model = GNMF(3, random_state=0).fit(images, mask=negative)
    assert (model.components_ >= 0).all()
    assert (model.impute(images, mask=negative) >= 0).all()
    negative[np.unravel_index(np.argmin(images), images.shape)] = False
    for ask in (GNMF(3).fit, model.transform, model.impute):
        with pytest.raises(ValueError, match=rf"nonnegative.* {images.min():.3g};"):
            ask(images, mask=negative)


def test_rmnmf_rejects_missing_entries(grey):
    mask = holes(grey.shape)
    assert "missing_values" not in RMNMF().get_params()
    assert not hasattr(RMNMF, "impute")
    model = RMNMF(3, random_state=0)
    for ask in (clone(model).fit, clone(model).fit(grey).transform):
        with pytest.raises(ValueError, match=r"X must be finite.*NaN.*; fill them"):
            ask(pierced(grey, mask))
        with pytest.raises(ValueError, match="X must be complete, got a masked array"):
            ask(np.ma.masked_array(grey, mask))
