"""Model files of right layouts and digests, whose numbers a stranger has chosen."""

import shutil

import numpy as np
import problems
import pytest
from model_forging import NAME, edit_arrays, edit_record, refused
from safetensors.numpy import load_file

from twofold import TSNMF
from twofold.app.results import assign_new
from twofold.estimators import load_model, save_model

IMAGES = problems.images(n=12)
HOLED = problems.pierced(IMAGES, problems.holes(IMAGES.shape))

MODELS = {
    "double": (TSNMF(3, missing_values=np.nan, random_state=0), np.float64),
    "single": (
        TSNMF(
            3,
            missing_values=np.nan,
            graph="heat",
            assign_labels="k-means",
            scale="global",
            energy_weight=0.3,
            random_state=0,
        ),
        np.float32,
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def saved(request, tmp_path_factory):
    """A folder with a model file, and the samples of the model."""
    model, dtype = MODELS[request.param]
    X = HOLED.astype(dtype)
    folder = tmp_path_factory.mktemp("saved")
    save_model(model.fit(X), folder)
    return folder, X


def numbers(dtype):
    """Finite and other numbers that an array of ``dtype`` can hold."""
    found = np.finfo(dtype)
    root = float(found.max) ** 0.5 / 100
    return found.max, root, found.smallest_subnormal, -1, np.nan


def assert_finite_or_refused(folder, X):
    """Load a model and use it; return whether it was refused. Warnings are errors."""
    try:
        model = load_model(folder)[0]
        new = assign_new(model, X)
    except ValueError as error:
        reason = str(error)
    else:
        reason = ""
    if reason:
        assert "\n" not in reason
        assert reason.startswith((str(folder), "the model must", "X must"))
        return True
    images = model.inverse_transform(new.coefficients)
    results = (new.coefficients, new.confidence, new.reconstruction_error)
    for array in (*results, images, model.impute(X[:2])):
        assert np.isfinite(array).all()
    assert set(new.clusters) <= {0, 1, 2}
    return False


def test_any_array(saved, tmp_path):
    folder, X = saved
    outcomes = []
    for name, array in load_file(folder / NAME).items():
        for number in numbers(array.dtype) if array.dtype.kind == "f" else ():
            shutil.copy(folder / NAME, tmp_path)
            edit_arrays(tmp_path, **{name: np.full_like(array, number)})
            outcomes.append(assert_finite_or_refused(tmp_path, X))
    assert {True, False} == set(outcomes)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("typical_norm", [5e-324, 1e-100, 1e30, 1e100, 1.7e308]),
        ("weights", [{"graph_weight": w} for w in (5e-324, 1e19, 1e154, 1.7e308)]),
        ("weights", [{"energy_weight": w} for w in (5e-324, 1e19, 1e154, 1.7e308)]),
        ("n_neighbors", [10**9, 2**62]),
    ],
)
def test_any_fact(saved, tmp_path, name, values):
    folder, X = saved
    for value in values:
        shutil.copy(folder / NAME, tmp_path)
        edit_record(tmp_path, lambda record, v=value: record["fit"].update({name: v}))
        assert_finite_or_refused(tmp_path, X)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("components_", r"components_ must hold finite numbers from -.* to .*"),
        ("left.features", "left.features must hold finite numbers from -"),
        ("left.directions", "left.directions must hold finite numbers from -"),
    ],
)
def test_numbers_whose_squares_overflow(saved, tmp_path, name, reason):
    folder, X = saved
    shutil.copy(folder / NAME, tmp_path)
    array = load_file(folder / NAME)[name]
    edit_arrays(tmp_path, **{name: np.full_like(array, 0.9 * np.finfo(X.dtype).max)})
    refused(tmp_path, reason)


def test_directions_that_are_not_orthonormal(saved, tmp_path):
    """A completion by such directions would grow in each of its rounds."""
    folder, _ = saved
    for name in ("right_projection_", "left.directions", "completion.right"):
        shutil.copy(folder / NAME, tmp_path)
        edit_arrays(tmp_path, **{name: -np.ones_like(load_file(folder / NAME)[name])})
        refused(tmp_path, f"{name} must have orthonormal columns, got products off by")


def test_a_norm_that_does_not_go_with_the_components(saved, tmp_path):
    shutil.copy(saved[0] / NAME, tmp_path)
    edit_record(tmp_path, lambda record: record["fit"].update(typical_norm=1e-300))
    refused(tmp_path, "typical_norm must be the norm of typical samples, got 1e-300")
