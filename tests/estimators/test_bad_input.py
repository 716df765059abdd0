"""Every bad input gets one line that says what was expected and what came."""

import numpy as np
import pandas as pd
import problems
import pytest
import scipy.sparse

from twofold import TSNMF

IMAGES = problems.images(n=12)


def spoiled(value):
    images = IMAGES.copy()
    images[4, 2, 1] = value
    return images


def ragged():
    return [np.zeros((3, 4)), np.zeros((4, 3)), np.zeros((3, 4))]


BAD_SAMPLES = {
    "NaN": (spoiled(np.nan), "X must be finite, got 1 NaN .* first in sample 4"),
    "infinity": (spoiled(-np.inf), "X must be finite, got 0 NaN and 1 infinity"),
    "complex": (IMAGES.astype(complex), "X must be real, got complex128"),
    "sparse": (
        scipy.sparse.csr_array(IMAGES.reshape(12, -1)),
        "X must be dense, got a sparse csr_array",
    ),
    "no samples": (np.zeros((0, 4, 5)), r"X must not be empty, got 0 sample\(s\)"),
    "no pixels": (np.zeros((12, 4, 0)), r"X must not be empty, got 0 feature\(s\)"),
    "empty list": ([], r"X must be of shape .* got shape \(0,\)"),
    "None": (None, "X must hold numbers, got dtype object"),
    "one axis": (np.zeros(12), r"X must be of shape .* got shape \(12,\)"),
    "five axes": (np.zeros((2, 2, 2, 2, 2)), r"got shape \(2, 2, 2, 2, 2\)"),
    "objects": (IMAGES.astype(object), "X must hold numbers, got dtype object"),
    "text": (np.full((12, 4), "a"), "X must hold numbers, got dtype <U1"),
    "objects in rows": (np.full((12, 4), {}), "X must hold numbers, got dtype object"),
    "dates": (
        np.zeros((12, 4), "datetime64[s]"),
        "X must hold numbers, got dtype date",
    ),
    "too large": (
        np.full((12, 4), 1.7e308),
        r"X must have entries of magnitudes up to 4e\+152, .* divide X by 1e156",
    ),
    "samples of different shapes": (ragged(), "samples differ in shape"),
    "fewer samples than clusters": (IMAGES[:2], "n_clusters=3 .* n_samples=2"),
}


@pytest.mark.parametrize(("X", "message"), BAD_SAMPLES.values(), ids=BAD_SAMPLES)
def test_bad_samples(X, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        TSNMF(3, random_state=0).fit(X)
    assert "\n" not in str(caught.value)


BAD_PARAMETERS = [
    ({"n_clusters": 0}, "'n_clusters' .* Got 0"),
    ({"n_clusters": 2.5}, "'n_clusters' .* Got 2.5"),
    ({"n_directions": 0}, "'n_directions' .* Got 0"),
    ({"n_directions": 8}, "n_directions=8 must be at most the larger side .* 7 x 6"),
    ({"n_directions": (2, 9)}, r"n_directions=\(2, 9\) must be at most"),
    ({"n_directions": (2, 0)}, r"n_directions must be .* got \(2, 0\)"),
    ({"n_directions": (2, 2, 2)}, r"n_directions must be .* got \(2, 2, 2\)"),
    ({"energy_weight": -1.0}, "'energy_weight' .* Got -1.0"),
    ({"graph_weight": -0.1}, "'graph_weight' .* Got -0.1"),
    ({"graph_weight": np.inf}, "'graph_weight' .* Got inf"),
    ({"graph_weight": 1e200}, r"graph_weight must be at most .* got 1e\+200"),
    ({"energy_weight": np.nan}, "'energy_weight' .* Got nan"),
    ({"n_neighbors": 0}, "'n_neighbors' .* Got 0"),
    ({"graph": "dense"}, "'graph' .* Got 'dense'"),
    ({"init": "zeros"}, "'init' .* Got 'zeros'"),
    ({"init": np.ones((3, 3))}, r"init must be of shape .*\(12, 3\), got \(3, 3\)"),
    ({"init": -np.ones((12, 3))}, "init must hold nonnegative .* -1.0 to -1.0"),
    ({"init": np.zeros((12, 3))}, "init must hold .* from 0.0 to 0.0"),
    ({"init": np.full((12, 3), 1e300)}, r"init must hold .* to 1e\+300"),
    ({"init": np.full((12, 3), np.nan)}, "init must be finite, got 36 NaN"),
    ({"init": [[1.0], [1.0, 2.0]]}, "init must be a stack .* differ in shape"),
    ({"init": np.full((12, 3), "a")}, "init must hold numbers, got dtype <U1"),
    ({"init": np.ones((12, 3), complex)}, "init must be real, got complex128"),
    ({"n_clusters": True}, "n_clusters must be a positive integer, got True"),
    ({"max_iter": True}, "max_iter must be a positive integer, got True"),
    ({"energy_weight": 10**400}, "energy_weight must be at most"),
    ({"tol": 10**400}, r"tol must be at most 1.8e\+308, got 1000"),
    ({"eigen_tol": 10**400}, "eigen_tol must be at most"),
    ({"missing_values": 10**400}, "missing_values must be a"),
    ({"n_init": 10**30}, "n_init must be at most 1,000,000,000, got 10000"),
    ({"n_init": 0}, "'n_init' .* Got 0"),
    ({"max_iter": 0}, "'max_iter' .* Got 0"),
    ({"tol": -1e-3}, "'tol' .* Got -0.001"),
    (
        {"sample_shape": (5, 5)},
        r"sample_shape=\(5, 5\), or flat ones of 25 .* \(7, 6\)",
    ),
    (
        {"sample_shape": (6, 7)},
        r"sample_shape=\(6, 7\),.* got samples of shape \(7, 6\)",
    ),
    ({"sample_shape": (7, -6)}, r"sample_shape must be .* got \(7, -6\)"),
    ({"sample_shape": (True, 42)}, r"sample_shape must be .* got \(True, 42\)"),
    ({"scale": "none"}, "'scale' .* Got 'none'"),
    ({"random_state": "seed"}, "'random_state'"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message) as caught:
        TSNMF(**{"n_clusters": 3, "random_state": 0, **parameters}).fit(IMAGES)
    assert "\n" not in str(caught.value)


def test_a_sweep_refuses_the_same_weights_as_a_fit():
    with pytest.raises(ValueError, match="'graph_weight'"):
        TSNMF(3).fit_sweep(IMAGES, [(1.0, 1.0), (1.0, -1.0)])
    with pytest.raises(ValueError, match="graph_weight must be at most"):
        TSNMF(3).fit_sweep(IMAGES, [(1.0, 1.0), (1.0, 1e300)])


@pytest.mark.parametrize("weights", [[], None, [1, 2], [(1,)], [(1, 2, 3)], 5])
def test_a_sweep_needs_pairs(weights):
    with pytest.raises(ValueError, match=r"weights must be a list of .* pairs, got"):
        TSNMF(3).fit_sweep(IMAGES, weights)


def test_a_sparse_start_is_refused():
    start = scipy.sparse.csr_array(np.ones((12, 3)))
    with pytest.raises(TypeError, match="init must be dense, got a sparse csr_array"):
        TSNMF(3, init=start).fit(IMAGES)


@pytest.mark.filterwarnings("ignore:TSNMF stopped at max_iter")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_starts_may_be_as_large_and_small_as_the_dtype_allows(dtype):
    limit = float(np.finfo(dtype).max) ** 0.25
    images = IMAGES.astype(dtype)
    for scale in (0.4 * limit, 2.5 / limit):
        start = scale * (1 + problems.positive((12, 3)))
        model = TSNMF(3, init=start, graph="heat", random_state=0).fit(images)
        assert np.isfinite(model.coefficients_).all()
    for scale in (10 * limit, 0.1 / limit):
        with pytest.raises(ValueError, match="init must hold nonnegative"):
            TSNMF(3, init=np.full((12, 3), scale)).fit(images)


FRAMES = {
    "complex": ({"a": [1j, 2, 3]}, "X must be real, got complex128"),
    "text": ({"a": ["x", "y", "z"]}, "X must hold numbers"),
    "dates": ({"a": ["2020-01-01"] * 3}, "X must hold numbers, got dtype datetime"),
    "images": ({"a": [np.ones((2, 2))] * 3}, "X must hold numbers, got dtype object"),
    "missing": ({"a": [1.0, None, 2.0]}, "X must be finite, got 1 NaN"),
    "no columns": ({}, "X must not be empty"),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_bad_data_frames(kind):
    columns, message = FRAMES[kind]
    frame = pd.DataFrame(columns, index=range(3))
    if kind == "dates":
        frame = frame.astype("datetime64[ns]")
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        TSNMF(2, random_state=0).fit(frame)
    assert "\n" not in str(caught.value)


def test_new_samples_must_have_the_fitted_shape():
    model = TSNMF(3, random_state=0).fit(IMAGES)
    with pytest.raises(ValueError, match=r"sample_shape=\(7, 6\), .* got .* \(6, 7\)"):
        model.predict(IMAGES.transpose(0, 2, 1))
    with pytest.raises(ValueError, match="20 features, but TSNMF is expecting 42"):
        model.predict(IMAGES[:, :5, :4])
    with pytest.raises(ValueError, match="X must be finite"):
        model.transform(spoiled(np.nan))
    with pytest.raises(ValueError, match=r"n_clusters=3\), got \(2, 4\)"):
        model.inverse_transform(np.ones((2, 4)))
    with pytest.raises(
        ValueError, match=r"a single one of shape \(7, 6\); give X\[None"
    ):
        model.predict(IMAGES[0])


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [
        (np.full((2, 3), np.nan), "X must be finite, got 6 NaN"),
        (np.ones((2, 3), complex), "X must be real"),
        (np.full((2, 3), "a"), "X must hold numbers"),
        ([[1.0], [1.0, 2.0]], "X must be a stack"),
        (scipy.sparse.csr_array(np.ones((2, 3))), "X must be dense"),
    ],
)
def test_bad_coefficients(coefficients, message):
    model = TSNMF(3, random_state=0).fit(IMAGES)
    with pytest.raises((ValueError, TypeError), match=message):
        model.inverse_transform(coefficients)


class Foreign:
    """A container of its own kind of trouble."""

    def __array__(self, *_, **__):
        raise RuntimeError("no way\nat all")


@pytest.mark.parametrize("mask", [[[1], [1, 2]], Foreign(), "x", np.full((12, 7), 2)])
def test_bad_masks(mask):
    with pytest.raises(ValueError, match=r"^mask must ") as caught:
        TSNMF(3).fit(IMAGES, mask=mask)
    assert "\n" not in str(caught.value)


def test_numbers_kept_as_objects_in_a_flat_array_are_read_as_numbers():
    """As scikit-learn's own estimators do."""
    flat = IMAGES.reshape(12, -1)
    plain = TSNMF(3, random_state=0).fit(flat)
    objects = TSNMF(3, random_state=0).fit(flat.astype(object))
    np.testing.assert_array_equal(plain.coefficients_, objects.coefficients_)
