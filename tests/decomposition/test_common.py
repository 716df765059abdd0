"""Tests of all decompositions."""

import pickle

import numpy as np
import pandas as pd
import problems
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from twofold.decomposition import GNMF, PCA2D, RMNMF, Flatten, RobustPCA, SemiNMF

FACTORISATIONS = {
    "SemiNMF": SemiNMF(3, random_state=0),
    "GNMF": GNMF(3, random_state=0),
    "RMNMF": RMNMF(3, random_state=0),
}
ITERATIVE = {"RobustPCA": RobustPCA(), **FACTORISATIONS}
ALL = {
    "right": PCA2D(2),
    "left": PCA2D(2, side="left"),
    "both": PCA2D((2, 3), side="both"),
    **ITERATIVE,
}


def each(models):
    return pytest.mark.parametrize("model", models.values(), ids=models)


CHECKED = {
    "Flatten": Flatten(),
    **{side: PCA2D(side=side) for side in ("right", "left", "both")},
    "RobustPCA": RobustPCA(),
    "SemiNMF": SemiNMF(2),
    "GNMF": GNMF(tol=1e-3),
    "RMNMF": RMNMF(),
}
"""At their defaults, but for what takes long."""


@each(CHECKED)
def test_scikit_learns_own_checks_pass(model):
    results = check_estimator(model, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 40


@each(ALL)
def test_flat_samples_with_a_shape_are_images(model, grey):
    of_images = clone(model).fit(grey)
    flat = clone(model).set_params(sample_shape=(7, 6)).fit(grey.reshape(60, -1))
    codes = of_images.transform(grey)
    np.testing.assert_array_equal(flat.transform(grey.reshape(60, -1)), codes)
    np.testing.assert_array_equal(flat.transform(grey), codes)
    assert flat.inverse_transform(codes).shape == (60, 7, 6)
    assert of_images.sample_shape_ == (7, 6)
    assert of_images.n_features_in_ == 42


@each(ALL)
def test_colour_images_are_fitted(model, grey):
    colour = np.stack([grey, 2 * grey, grey], axis=-1)
    model = clone(model).fit(colour)
    codes = model.transform(colour)
    rebuilt = model.inverse_transform(codes)
    assert rebuilt.shape == (60, 7, 6, 3)
    error = np.linalg.norm(rebuilt - colour) / np.linalg.norm(colour)
    assert error < 0.3
    flat = clone(model).set_params(sample_shape=(7, 6, 3)).fit(colour.reshape(60, -1))
    np.testing.assert_array_equal(flat.transform(colour), codes)


@each(ALL)
def test_vectors_are_fitted(model, grey):
    vectors = grey.reshape(60, -1)
    model = clone(model).fit(vectors)
    codes = model.transform(vectors)
    assert model.inverse_transform(codes).shape == (60, 42)
    assert codes.shape == (60, len(model.get_feature_names_out()))


@each(ALL)
def test_single_precision_stays_and_agrees(model, grey):
    images = grey.astype(np.float32)
    single, double = clone(model).fit(images), clone(model).fit(images.astype(float))
    codes = single.transform(images)
    assert codes.dtype == np.float32
    assert single.inverse_transform(codes).dtype == np.float32
    for name, value in vars(single).items():
        if name.endswith("_") and isinstance(value, np.ndarray):
            assert value.dtype == np.float32 or name == "objective_history_", name
    rebuilt = double.inverse_transform(double.transform(images))
    np.testing.assert_allclose(single.inverse_transform(codes), rebuilt, atol=0.05)


@each(ALL)
def test_the_same_seed_gives_the_same_bits(model, grey):
    first, second = clone(model).fit(grey), clone(model).fit(grey)
    np.testing.assert_array_equal(first.transform(grey), second.transform(grey))
    np.testing.assert_array_equal(first.objective_history_, second.objective_history_)
    assert len(first.objective_history_) == first.n_iter_


@each(FACTORISATIONS)
def test_seeds_matter_and_the_global_state_does_not(model, grey):
    model = clone(model).set_params(init="random")
    np.random.seed(0)
    state = np.random.get_state()[1].copy()
    first = clone(model).fit(grey).coefficients_
    np.random.seed(1)
    np.testing.assert_array_equal(clone(model).fit(grey).coefficients_, first)
    other = clone(model).set_params(random_state=1).fit(grey).coefficients_
    assert np.abs(other - first).max() > 1e-6
    np.random.seed(0)
    fresh = clone(model).set_params(random_state=None).fit(grey).coefficients_
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    assert np.abs(fresh - first).max() > 1e-6


@each(ALL)
def test_the_unit_of_the_pixels_only_scales_the_samples(model, grey):
    small, large = clone(model).fit(grey), clone(model).fit(255 * grey)
    rebuilt = small.inverse_transform(small.transform(grey))
    scaled = large.inverse_transform(large.transform(255 * grey))
    np.testing.assert_allclose(scaled, 255 * rebuilt, rtol=1e-3, atol=0.1)


@each(ALL)
def test_a_pickled_model_transforms_alike(model, grey):
    fitted = clone(model).fit(grey)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(grey), fitted.transform(grey))


@each(ALL)
def test_the_codes_of_a_new_sample_do_not_depend_on_the_others(model, grey):
    model = clone(model).fit(grey[:40])
    together = model.transform(grey[40:])
    alone = np.concatenate([model.transform(image[None]) for image in grey[40:]])
    np.testing.assert_allclose(alone, together, rtol=1e-6, atol=1e-8)


@each(ALL)
def test_data_frames_come_out(model, grey):
    frame = pd.DataFrame(grey.reshape(60, -1)).add_prefix("pixel")
    model = clone(model).set_params(sample_shape=(7, 6)).set_output(transform="pandas")
    codes = model.fit_transform(frame)
    assert list(codes.columns) == list(model.get_feature_names_out())
    assert list(model.feature_names_in_) == list(frame.columns)


@each(ALL)
@pytest.mark.torch
def test_tensors_are_read(model, grey):
    torch = pytest.importorskip("torch")
    ours = clone(model).fit(torch.asarray(grey)).transform(torch.asarray(grey))
    np.testing.assert_array_equal(ours, clone(model).fit(grey).transform(grey))


@each(FACTORISATIONS)
def test_reconstruction_errors_are_those_of_the_images(model, grey):
    model = clone(model).fit(grey)
    rebuilt = model.inverse_transform(model.coefficients_)
    errors = np.linalg.norm(grey - rebuilt, axis=(1, 2))
    np.testing.assert_allclose(model.reconstruction_error_, errors, rtol=1e-9)


@each(FACTORISATIONS)
def test_a_given_start_is_used(model, grey):
    start = problems.positive((60, 3))
    model = clone(model).set_params(init=start)
    first = clone(model).fit(grey).coefficients_
    second = clone(model).set_params(random_state=5).fit(grey).coefficients_
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match=r"init must be .*n_components\)=\(60, 3\)"):
        model.set_params(init=start[:50]).fit(grey)


@each(FACTORISATIONS)
def test_scaling_each_sample_ignores_brightness(model, grey):
    bright = grey * np.linspace(1, 5, 60)[:, None, None]
    model = clone(model).set_params(scale="sample")
    plain, lit = clone(model).fit(grey), clone(model).fit(bright)
    # The small first penalty of RMNMF amplifies rounding errors.
    atol = 1e-3 if isinstance(model, RMNMF) else 1e-6
    np.testing.assert_allclose(lit.coefficients_, plain.coefficients_, atol=atol)
    # Reconstructions have the typical norm instead of the norm of the sample.
    norms = np.linalg.norm(bright, axis=(1, 2))
    own = norms / np.sqrt(np.mean(norms**2))
    rebuilt = lit.inverse_transform(lit.coefficients_) * own[:, None, None]
    errors = np.linalg.norm(bright - rebuilt, axis=(1, 2))
    np.testing.assert_allclose(lit.reconstruction_error_, errors, rtol=1e-9)


@each(ITERATIVE)
def test_a_fit_that_does_not_converge_warns(model, grey):
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter=2 .*raise max_i"):
        clone(model).set_params(max_iter=2, tol=0.0).fit(grey)


@each(ITERATIVE)
def test_it_prints_its_progress(model, grey, capsys):
    model = clone(model).set_params(verbose=1).fit(grey)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith(f"[{type(model).__name__}] iteration 1:")
    last = float(lines[-1].split("objective ")[1].split()[0])
    assert np.isclose(last, model.objective_history_[-1], rtol=1e-5)


# Bad input


@each(ALL)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda x: np.where(x == x[3, 2, 1], np.nan, x), "X must be finite, got 1 NaN"),
        (lambda x: x.astype(complex), "X must be real"),
        (lambda x: x[0, 0], "X must be of shape"),
        (lambda x: x[:0], "X must not be empty"),
        (lambda x: x.astype(str), "X must hold numbers"),
    ],
    ids=["NaN", "complex", "one axis", "empty", "text"],
)
def test_bad_samples_get_one_line(model, spoil, message, grey):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        clone(model).fit(spoil(grey))
    assert "\n" not in str(caught.value)


@each(ALL)
def test_bad_codes_and_shapes_get_one_line(model, grey):
    with pytest.raises(NotFittedError):
        clone(model).inverse_transform(np.zeros((1, 3)))
    with pytest.raises(NotFittedError):
        clone(model).transform(grey)
    model = clone(model).fit(grey)
    k = len(model.get_feature_names_out())
    with pytest.raises(ValueError, match=rf"X must be of shape \(m, n_\w+={k}\)"):
        model.inverse_transform(np.zeros((2, k + 1)))
    with pytest.raises(ValueError, match="X must be finite"):
        model.inverse_transform(np.full((2, k), np.nan))
    with pytest.raises(ValueError, match=r"features|sample_shape"):
        model.transform(grey[:, :5])
    with pytest.raises(ValueError, match="give X"):
        model.transform(grey[0])
    with pytest.raises(ValueError, match="sample_shape"):
        clone(model).set_params(sample_shape=(5, 5)).fit(grey)


@each(FACTORISATIONS)
def test_bad_counts_get_one_line(model, grey):
    with pytest.raises(ValueError, match=r"n_components=3 .* n_samples=2"):
        clone(model).fit(grey[:2])
    for name in ("n_components", "max_iter"):
        with pytest.raises(ValueError, match=f"{name}.* must be"):
            clone(model).set_params(**{name: 0}).fit(grey)
        with pytest.raises(ValueError, match=f"{name} must be a positive integer"):
            clone(model).set_params(**{name: True}).fit(grey)
    with pytest.raises(ValueError, match="max_iter must be a positive integer"):
        RobustPCA(max_iter=True).fit(grey)


# Hard but valid


@each(ALL)
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_identical_samples_are_no_error(model, value):
    images = np.full((12, 5, 4), value)
    model = clone(model).fit(images)
    rebuilt = model.inverse_transform(model.transform(images))
    np.testing.assert_allclose(rebuilt, images, atol=1e-4)


@each(ALL)
@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_samples_of_any_unit_are_fitted(model, grey, unit):
    model = clone(model).fit(unit * grey)
    rebuilt = model.inverse_transform(model.transform(unit * grey)) / unit
    assert np.linalg.norm(rebuilt - grey) < 0.25 * np.linalg.norm(grey)


@each(ALL)
def test_samples_too_large_for_their_dtype_are_refused(model, grey):
    with pytest.raises(
        ValueError, match=r"X must have .* float32 can hold, got .*e\+37"
    ):
        clone(model).fit((grey * 1e37).astype(np.float32))
