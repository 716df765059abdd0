"""Files of models that align images: saved and loaded again, old ones, and forged."""

import shutil

import numpy as np
import problems
import pytest
from model_forging import (
    assert_same_model,
    edit_arrays,
    edit_record,
    read_record,
    refused,
    same,
)
from safetensors.numpy import load_file

from twofold import TSNMF
from twofold.estimators import load_model, save_model


def smooth_images(n=40, h=26, w=12, channels=0):
    """Images of three groups, rolled along both axes."""
    shape = (n, max(channels, 1), h, w)
    stack = np.cumsum(np.cumsum(problems.stack(shape), axis=2), axis=3)
    shifts = np.random.default_rng(1).integers(-2, 3, size=(n, 2))
    pairs = zip(stack, shifts, strict=True)
    stack = np.array([np.roll(image, shift, axis=(1, 2)) for image, shift in pairs])
    return np.moveaxis(stack, 1, -1) if channels else stack[:, 0]


def fitted(X=None, align=True, **options):
    X = smooth_images() if X is None else X
    return TSNMF(3, align=align, random_state=0, **options).fit(X)


def there_and_back(model, folder):
    save_model(model, folder)
    return load_model(folder)[0]


# There and back


@pytest.mark.parametrize("align", ["shifts", True])
@pytest.mark.parametrize(
    ("X", "options"),
    [
        (smooth_images(), {"channels": "pixels"}),
        (smooth_images(), {"channels": "gradients"}),
        (smooth_images().astype(np.float32), {"scale": "global"}),
        (smooth_images(channels=3), {"assign_labels": "k-means"}),
        (smooth_images(h=60, w=50), {"channels": "pixels"}),
        (smooth_images().reshape(40, -1), {"sample_shape": (26, 12)}),
    ],
)
def test_all_comes_back_as_it_was(tmp_path, align, X, options):
    model = fitted(X, align, **options)
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, X[::-1] + np.asarray(0.3 * X.std(), X.dtype))
    assert loaded.get_params() == model.get_params()
    for name, value in vars(model.state_.alignment).items():
        same(getattr(loaded.state_.alignment, name), value)


def test_what_the_file_says_of_the_alignment(tmp_path):
    model = fitted(smooth_images(h=60, w=50, channels=2), "shifts")
    arrays = load_file(save_model(model, tmp_path))
    record, alignment = read_record(tmp_path), model.state_.alignment
    assert record["parameters"]["align"] == "shifts"
    assert record["fit"]["alignment"] == {
        "max_shift": 15,
        "max_turn": 0.0,
        "before": alignment.before,
        "after": alignment.after,
    }
    assert arrays["alignment.maps"].shape == (3, 48, 40)  # the size of comparison
    assert arrays["alignment.mean"].shape == (2, 60, 50)
    assert arrays["alignment.darkest"].shape == (2,)
    save_model(fitted(align=False), tmp_path)
    assert read_record(tmp_path)["fit"]["alignment"] is None


def test_missing_pixels(tmp_path):
    X = problems.pierced(smooth_images(), problems.holes((40, 26, 12)))
    model = fitted(X, missing_values=np.nan)
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, X[::-1])
    same(loaded.impute(X), model.impute(X))


def test_constant_images(tmp_path):
    """Their maps are 0, and have no norm of 1."""
    X = np.ones((6, 9, 9))
    model = TSNMF(1, align=True, random_state=0).fit(X)
    assert not model.state_.alignment.maps.any()
    assert_same_model(there_and_back(model, tmp_path), model, X + 1)


@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_any_unit(tmp_path, unit):
    X = unit * smooth_images()
    model = fitted(X)
    assert_same_model(there_and_back(model, tmp_path), model, X[::-1])


def test_a_file_of_a_version_that_aligned_nothing(tmp_path):
    model = fitted(align=False)
    save_model(model, tmp_path)

    def older(record):
        del record["fit"]["alignment"], record["parameters"]["align"]

    edit_record(tmp_path, older)
    loaded = load_model(tmp_path)[0]
    assert_same_model(loaded, model, smooth_images()[::-1])
    assert loaded.align is False


# Forged files


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with the file of a model that aligns, which no test may write to."""
    return save_model(fitted(), tmp_path_factory.mktemp("saved")).parent


@pytest.fixture
def copy(saved, tmp_path):
    """The like to be spoiled."""
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("max_shift", -1, "Expected `int` >= 0"),
        ("max_shift", 27, r"max_shift must be at most 26 for .*\(26, 12\), got 27"),
        ("max_shift", 10**30, "max_shift must be at most 26|out of range"),
        ("max_shift", 2.5, "Expected `int`, got `float`"),
        ("max_turn", -1, "Expected `float` >= 0"),
        ("max_turn", 180.5, "Expected `float` <= 180"),
        ("max_turn", None, "Expected `float`, got `null`"),
        ("max_turn", 10**400, "out of range"),
        ("before", -0.1, "Expected `float` >= 0"),
        ("after", 1.1, "Expected `float` <= 1"),
        ("after", "1", "Expected `float`, got `str`"),
        ("more", 1, r"unknown field `more` - at `\$.fit.alignment`"),
    ],
)
def test_facts_with_a_right_digest(copy, name, value, reason):
    edit_record(copy, lambda r: r["fit"]["alignment"].update({name: value}))
    refused(copy, reason)


def test_the_largest_facts(copy):
    largest = {"max_shift": 26, "max_turn": 180}
    edit_record(copy, lambda r: r["fit"]["alignment"].update(largest))
    model = load_model(copy)[0]
    assert np.isfinite(model.transform(smooth_images())).all()


@pytest.mark.parametrize("name", ["max_shift", "max_turn", "before", "after"])
def test_facts_that_lack_a_field(copy, name):
    edit_record(copy, lambda record: record["fit"]["alignment"].pop(name))
    refused(copy, f"missing required field `{name}`")


def test_facts_without_arrays_and_arrays_without_facts(copy, tmp_path_factory):
    gone = dict.fromkeys(("alignment.maps", "alignment.mean", "alignment.darkest"))
    for name in gone:
        other = tmp_path_factory.mktemp("other")
        shutil.copytree(copy, other, dirs_exist_ok=True)
        edit_arrays(other, **{name: None})
        refused(other, f"nothing else, got .*{name}.* missing or in surplus")
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(copy, other, dirs_exist_ok=True)
    edit_arrays(other, **gone)
    refused(other, r"got .*alignment.darkest.* missing or in surplus")
    edit_record(copy, lambda record: record["fit"].update(alignment=None))
    refused(copy, r"got .*alignment.darkest.* missing or in surplus")


def unit_maps(shape):
    return np.full(shape, 1 / np.sqrt(np.prod(shape)), np.float32)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        (
            "maps",
            unit_maps((3, 12, 26)),
            r"must be float32 of shape \(3, 26, 12\), got",
        ),
        (
            "maps",
            unit_maps((1, 26, 12)),
            r"must be float32 of shape \(3, 26, 12\), got",
        ),
        ("maps", unit_maps((3, 26, 12)).astype(float), "must be float32 of shape"),
        ("maps", 2 * unit_maps((3, 26, 12)), "maps must have norm 1 or 0, got 2"),
        ("maps", np.full((3, 26, 12), np.nan, np.float32), "must hold finite numbers"),
        ("maps", np.full((3, 26, 12), 2, np.float32), "must hold finite numbers from"),
        ("mean", np.ones((2, 26, 12)), r"must be float64 of shape \(1, 26, 12\), got"),
        ("mean", np.ones((1, 26, 12), np.float32), "must be float64 of shape"),
        ("mean", np.full((1, 26, 12), np.inf), "must hold finite numbers from"),
        ("mean", np.full((1, 26, 12), 1e200), "must hold finite numbers from"),
        ("darkest", np.ones(2), r"must be float64 of shape \(1,\), got"),
        ("darkest", np.array([np.nan]), "must hold finite numbers from"),
        ("darkest", np.array([-1e200]), "must hold finite numbers from"),
    ],
)
def test_arrays_with_a_right_digest(copy, name, array, reason):
    edit_arrays(copy, **{f"alignment.{name}": array})
    refused(copy, f"alignment.{name}.*{reason}" if "norm" not in reason else reason)


@pytest.mark.parametrize("value", [-1e100, 0, 50, 1e100, 1e152])
def test_odd_numbers_of_a_file_predict_finite_ones(copy, value):
    """The darkest value may exceed the mean image, and fillings have any size."""
    edit_arrays(copy, **{"alignment.darkest": np.array([float(value)])})
    assert np.isfinite(load_model(copy)[0].transform(smooth_images())).all()


def test_samples_that_cannot_be_aligned(copy, tmp_path):
    save_model(fitted(smooth_images(h=9, w=6), False), tmp_path)
    maps, mean = unit_maps((3, 9, 6)), np.ones((1, 9, 6))
    facts = {"max_shift": 1, "max_turn": 0, "before": 0, "after": 0}
    arrays = {"maps": maps, "mean": mean, "darkest": np.zeros(1)}
    edit_arrays(tmp_path, **{f"alignment.{n}": array for n, array in arrays.items()})
    edit_record(tmp_path, lambda record: record["fit"].update(alignment=facts))
    refused(tmp_path, "align must be False unless samples are images of at least 8 x 8")


@pytest.mark.parametrize("value", ["all", 1, None, "x" * 10**6])
def test_values_of_the_parameter(copy, value):
    edit_record(copy, lambda record: record["parameters"].update(align=value))
    refused(copy, "'align' parameter of TSNMF must be")
