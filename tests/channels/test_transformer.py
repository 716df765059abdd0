"""OrientedGradients among scikit-learn's transformers, and what it refuses."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from twofold import TSNMF
from twofold.channels import BANKS, PIXELS, OrientedGradients


def pictures(n=20, shape=(9, 8)):
    return np.random.default_rng(0).uniform(size=(n, *shape))


def spoiled(value):
    images = pictures()
    images[3, 2, 1] = value
    return images


BAD_IMAGES = {
    "NaN": (spoiled(np.nan), "NaN"),
    "infinity": (spoiled(np.inf), "infinity"),
    "flat": (pictures().reshape(20, -1), r"\(20, 72\)"),
    "one image": (pictures()[0, 0], r"\(8,\)"),
    "five axes": (pictures()[..., None, None], r"\(20, 9, 8, 1, 1\)"),
    "7 x 7": (pictures(shape=(7, 7)), r"at least 8 x 8 pixels, got \(20, 7, 7\)"),
    "7 rows": (pictures(shape=(7, 30)), r"\(20, 7, 30\)"),
    "7 columns": (pictures(shape=(30, 7)), r"\(20, 30, 7\)"),
    "no samples": (pictures(0), "0 sample"),
    "no channels": (np.ones((3, 9, 9, 0)), r"\(3, 9, 9, 0\)"),
}


@pytest.mark.parametrize("method", ["fit", "transform", "fit_transform"])
@pytest.mark.parametrize(("X", "message"), BAD_IMAGES.values(), ids=BAD_IMAGES)
def test_images_that_cannot_be_mapped_are_refused_in_a_line(X, message, method):
    with pytest.raises(ValueError, match=message) as refusal:
        getattr(OrientedGradients(), method)(X)
    text = str(refusal.value)
    assert "X" in text or "array" in text
    assert "\n" not in text.strip()


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_orientations": 1},
        {"n_orientations": 65},
        {"n_orientations": 8.0},
        {"pooling": 0},
        {"pooling": 21.0},
        {"pooling": np.nan},
        {"pooling": "2"},
        {"signed": "yes"},
        {"normalize": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["fit", "transform"])
def test_wrong_parameters_are_refused(parameters, method):
    [name] = parameters
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter"):
        getattr(OrientedGradients(**parameters), method)(pictures())


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_orientations": 2},
        {"n_orientations": 64},
        {"pooling": 0.1},
        {"pooling": 20},
        {"n_orientations": np.int64(5), "pooling": np.float32(1)},
    ],
    ids=str,
)
def test_extreme_parameters_give_finite_maps(parameters):
    bank = OrientedGradients(**parameters)
    maps = bank.fit_transform(pictures())
    assert maps.shape == (20, 9, 8, bank.n_orientations)
    assert np.isfinite(maps).all()
    assert maps.max() > 0


def test_parameters_are_kept_and_cloned():
    bank = OrientedGradients(6, signed=False, pooling=1.5, normalize=False)
    known = {"n_orientations": 6, "signed": False, "pooling": 1.5, "normalize": False}
    assert bank.get_params() == known
    assert clone(bank.fit(pictures())).get_params() == known
    assert repr(OrientedGradients(pooling=1.0)) == "OrientedGradients(pooling=1.0)"


def test_nothing_is_learned():
    images, bank = pictures(), OrientedGradients()
    before = bank.transform(images)  # no error: it needs no fit
    try:
        check_is_fitted(bank)
    except NotFittedError:
        pytest.fail("it says that it must be fitted")
    assert bank.fit(images[:3] + 7) is bank
    np.testing.assert_array_equal(bank.transform(images), before)


def test_the_images_stay_as_they_are():
    images = pictures()
    images.flags.writeable = False
    kept = images.copy()
    OrientedGradients().fit_transform(images)
    np.testing.assert_array_equal(images, kept)


@pytest.mark.parametrize("layout", ["transposed", "strided", "reversed"])
def test_views_have_the_maps_of_their_copies(layout):
    wide = pictures(shape=(18, 16))
    views = {
        "transposed": wide.transpose(0, 2, 1),
        "strided": wide[::2, ::2, 1::2],
        "reversed": wide[::-1, ::-1],
    }
    view, bank = views[layout], OrientedGradients()
    found, expected = bank.transform(view), bank.transform(view.copy(order="C"))
    np.testing.assert_allclose(found**2, expected**2, 1e-11, 1e-14)


def test_a_pipeline_with_pixels_clusters_the_maps():
    rng = np.random.default_rng(0)
    means = rng.uniform(size=(3, 12, 12))
    images = means[np.arange(30) % 3] + 0.05 * rng.uniform(size=(30, 12, 12))
    model = TSNMF(3, channels="pixels", random_state=0)
    pipeline = make_pipeline(OrientedGradients(), model)
    labels = pipeline.fit_predict(images)
    maps = OrientedGradients().transform(images)
    np.testing.assert_array_equal(labels, clone(model).fit_predict(maps))
    assert len({(i % 3, label) for i, label in enumerate(labels)}) == 3
    np.testing.assert_array_equal(pipeline.predict(images), labels)


def test_the_banks_are_what_they_are_called():
    assert BANKS[PIXELS].transformer is None
    for name, bank in BANKS.items():
        if name != PIXELS:
            values = bank.transformer.get_params().values()
            assert all(isinstance(v, int | float | str | bool | None) for v in values)
    assert BANKS["gradients"].transformer.pooling == 2.0
    fine = BANKS["fine_gradients"]
    assert (fine.transformer.pooling, fine.energy_weight) == (1.0, 0.1)
    assert fine.n_directions == 9
