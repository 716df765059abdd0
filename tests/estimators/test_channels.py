"""Samples that are factorised as maps; all that a fit returns is in pixels."""

import numpy as np
import pytest
from mapped import Half, K, colours, pictures
from problems import holes, pierced, relative
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils._param_validation import InvalidParameterError

from twofold import TSNMF
from twofold.channels import BANKS, OrientedGradients


class Deviation(TransformerMixin, BaseEstimator):
    """What is learned in the fit, the mean image, is taken off."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return np.stack([X, X - self.mean_], axis=-1)


def doubled(X):
    return X[..., None] * [1, 2]


class Answer(TransformerMixin, BaseEstimator):
    """Returns what it is told to."""

    def __init__(self, answer=None):
        self.answer = answer

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.answer(X)


CHANNELS = {
    "gradients": "gradients",
    "fine_gradients": "fine_gradients",
    "OrientedGradients": OrientedGradients(5, signed=False),
    "Half": Half(),
    "Deviation": Deviation(),
}

every_bank = pytest.mark.parametrize("channels", CHANNELS.values(), ids=CHANNELS)


def fitted(X, channels="gradients", **parameters):
    return TSNMF(K, channels=channels, random_state=0, **parameters).fit(X)


def transformer_of(channels):
    if isinstance(channels, str):
        channels = BANKS[channels].transformer
    return clone(channels)


@every_bank
@pytest.mark.parametrize("scale", ["sample", "global"])
def test_a_fit_is_that_of_the_maps_given_as_samples(channels, scale):
    """From the same start to rounding: samples are sorted by pixels, or by maps.

    Sums over samples are then taken in another order.
    """
    images = pictures()
    start = np.random.default_rng(3).uniform(0.2, 1, size=(len(images), K))
    bank = BANKS.get(str(channels), BANKS["pixels"])
    same = {"init": start, "scale": scale, "n_directions": 4, "tol": 1e-4}
    ours = fitted(images, channels, energy_weight=bank.energy_weight, **same)
    maps = transformer_of(channels).fit_transform(images)
    theirs = fitted(maps, "pixels", energy_weight=bank.energy_weight, **same)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.n_iter_ == theirs.n_iter_
    np.testing.assert_allclose(
        ours.objective_history_, theirs.objective_history_, rtol=1e-9
    )
    assert relative(ours.coefficients_, theirs.coefficients_) < 1e-8
    assert relative(ours.left_projection_, theirs.left_projection_) < 1e-7
    new = pictures(9, seed=5)
    new_maps = transformer_of(channels).fit(images).transform(new)
    assert relative(ours.transform(new), theirs.transform(new_maps)) < 1e-8
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new_maps))


@every_bank
def test_with_the_defaults_the_clusters_are_those_of_the_maps(channels):
    """Starts are drawn in the order of the samples: clusters agree, not their names."""
    images = pictures()
    bank = BANKS.get(str(channels), BANKS["pixels"])
    maps = transformer_of(channels).fit_transform(images)
    settings = {"energy_weight": bank.energy_weight, "n_directions": bank.n_directions}
    longest = max(maps.shape[1:3])
    settings["n_directions"] = min(settings["n_directions"], longest)
    theirs = fitted(maps, "pixels", **settings)
    ours = fitted(images, channels)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1
    assert adjusted_rand_score(ours.labels_, np.arange(45) % K) == 1


def scaled_pixels(X, scale):
    """Flat samples divided as the fit does, the divisors, and the unit of centroids."""
    flat = X.reshape(len(X), -1)
    norms = np.linalg.norm(flat, axis=1)
    typical = np.sqrt(np.mean(norms**2))
    divisor = norms if scale == "sample" else np.full(len(X), typical)
    return flat / divisor[:, None], divisor, typical


@every_bank
@pytest.mark.parametrize("scale", ["sample", "global"])
@pytest.mark.parametrize("duplicates", ["merge", "keep"])
def test_centroids_and_errors_are_those_of_least_squares(channels, scale, duplicates):
    distinct = pictures()
    images = np.concatenate([distinct, distinct[:10], distinct[:5], distinct[:5]])
    model = fitted(images, channels, scale=scale, duplicates=duplicates)
    flat, divisor, typical = scaled_pixels(images, scale)
    centroids = np.linalg.lstsq(model.coefficients_, flat)[0]
    assert model.components_.shape == (K, *images.shape[1:])
    found = model.components_.reshape(K, -1)
    assert relative(found, typical * centroids) < 1e-9
    residual = flat - model.coefficients_ @ centroids
    errors = np.linalg.norm(residual, axis=1) * divisor
    assert relative(model.reconstruction_error_, errors) < 1e-9


def test_centroids_of_colours_are_colours():
    images = colours()
    model = fitted(images)
    flat, _, typical = scaled_pixels(images, "sample")
    centroids = np.linalg.lstsq(model.coefficients_, flat)[0]
    assert model.components_.shape == (K, 14, 12, 3)
    assert relative(model.components_.reshape(K, -1), typical * centroids) < 1e-9


def test_directions_are_those_of_the_maps():
    images = pictures(30, (30, 9))
    model = fitted(images, "gradients", n_directions=(3, 2))
    assert model.left_projection_.shape == (15, 3)
    assert model.right_projection_.shape == (9, 2)
    assert model.components_.shape == (K, 30, 9)
    assert model.sample_shape_ == (30, 9)


@every_bank
def test_training_samples_are_predicted_as_they_were_labelled(channels):
    images = pictures()
    model = fitted(images, channels)
    np.testing.assert_array_equal(model.predict(images), model.labels_)
    np.testing.assert_array_equal(model.fit_predict(images), model.labels_)


@every_bank
def test_a_new_sample_alone_is_predicted_as_in_a_batch(channels):
    model, new = fitted(pictures(), channels), pictures(8, seed=4)
    codes, labels = model.transform(new), model.predict(new)
    for i in range(len(new)):
        assert model.predict(new[i : i + 1])[0] == labels[i]
        assert relative(model.transform(new[i : i + 1])[0], codes[i]) < 1e-9
    rebuilt = model.inverse_transform(codes)
    expected = codes @ model.components_.reshape(K, -1)
    assert relative(rebuilt.reshape(len(new), -1), expected) < 1e-12


@every_bank
@pytest.mark.parametrize("unit", [255, 1e-6])
def test_the_unit_of_the_pixels_does_not_matter(channels, unit):
    images = pictures()
    one, other = fitted(images, channels), fitted(unit * images, channels)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert relative(other.components_, unit * one.components_) < 1e-6
    new = pictures(9, seed=2)
    np.testing.assert_array_equal(one.predict(new), other.predict(unit * new))


@every_bank
def test_permuted_samples_have_permuted_labels(channels):
    images = pictures()
    order = np.random.default_rng(1).permutation(len(images))
    one, other = fitted(images, channels), fitted(images[order], channels)
    np.testing.assert_array_equal(other.labels_, one.labels_[order])
    np.testing.assert_array_equal(other.coefficients_, one.coefficients_[order])


@pytest.mark.parametrize("duplicates", ["merge", "keep"])
def test_identical_samples_share_a_label(duplicates):
    """Noise, where labels are arbitrary."""
    noise = np.random.default_rng(0).uniform(size=(30, 10, 9))
    images = np.concatenate([noise, noise[::-1], noise])
    labels = fitted(images, "gradients", duplicates=duplicates).labels_
    np.testing.assert_array_equal(labels[:30], labels[30:60][::-1])
    np.testing.assert_array_equal(labels[:30], labels[60:])


def test_single_precision_stays():
    images = pictures().astype(np.float32)
    model = fitted(images)
    for name in ("components_", "coefficients_", "reconstruction_error_"):
        assert getattr(model, name).dtype == np.float32
    double = fitted(images.astype(float))  # whose clusters may have other names
    assert adjusted_rand_score(model.labels_, double.labels_) == 1


def test_a_flat_stack_of_known_shape_is_one_of_images():
    images = pictures()
    flat = images.reshape(len(images), -1)
    model, same = fitted(images), fitted(flat, sample_shape=(14, 12))
    np.testing.assert_array_equal(same.coefficients_, model.coefficients_)
    np.testing.assert_array_equal(same.predict(flat), model.predict(images))


@pytest.mark.parametrize("channels", ["gradients", "fine_gradients", Half()], ids=str)
def test_missing_pixels_are_filled_before_they_are_mapped(channels):
    images = pictures()
    mask = holes(images.shape, 0.2)
    model = fitted(pierced(images, mask), channels, missing_values=np.nan)
    assert adjusted_rand_score(model.labels_, np.arange(45) % K) == 1
    assert np.isfinite(model.components_).all()
    new, new_mask = pictures(12, seed=3), holes((12, 14, 12), 0.2, seed=1)
    labels = model.predict(pierced(new, new_mask))
    assert adjusted_rand_score(labels, np.arange(12) % K) == 1
    np.testing.assert_array_equal(model.predict(new, mask=new_mask), labels)
    imputed = model.impute(pierced(new, new_mask))
    assert np.isfinite(imputed).all()
    np.testing.assert_array_equal(imputed[~new_mask], new[~new_mask])
    error = np.linalg.norm((imputed - new)[new_mask])
    assert error < 0.5 * np.linalg.norm((new.mean() - new)[new_mask])


def test_errors_with_missing_pixels_are_those_of_the_observed_ones():
    """With one divisor for all samples, V U has the unit of the pixels."""
    images = pictures()
    mask = holes(images.shape, 0.2)
    model = TSNMF(K, channels="gradients", scale="global", random_state=0)
    model.fit(images, mask=mask)
    rebuilt = np.einsum("ik,khw->ihw", model.coefficients_, model.components_)
    errors = np.linalg.norm(np.where(mask, 0, images - rebuilt), axis=(1, 2))
    assert relative(model.reconstruction_error_, errors) < 1e-9


@pytest.mark.parametrize(
    ("channels", "expected"),
    [
        ("pixels", 1.0),
        ("gradients", 1.0),
        ("fine_gradients", 0.1),
        (OrientedGradients(), 1.0),
        (Half(), 1.0),
    ],
    ids=str,
)
def test_the_energy_weight_is_that_of_the_bank(channels, expected):
    images = pictures()
    model = fitted(images, channels)
    assert model.state_.predictor.weights["energy_weight"] == expected
    assert model.energy_weight is None
    given = fitted(images, channels, energy_weight=0.5)
    assert given.state_.predictor.weights["energy_weight"] == 0.5
    same = fitted(images, channels, energy_weight=expected)
    np.testing.assert_array_equal(same.coefficients_, model.coefficients_)


@pytest.mark.parametrize(
    ("channels", "r"), [("pixels", 4), ("gradients", 4), ("fine_gradients", 9)]
)
def test_the_number_of_directions_is_that_of_the_bank(channels, r):
    images = pictures()
    assert fitted(images, channels).left_projection_.shape[1] == r
    chosen = fitted(images, channels, n_directions=3)
    assert chosen.right_projection_.shape[1] == 3


@pytest.mark.parametrize("channels", ["pixels", "fine_gradients"])
def test_a_sweep_has_the_fits_of_each_pair(channels):
    """Also of a weight that is left to the channels."""
    images = pictures()
    pairs = [(0.5, 1.0), (None, 0.1), (1.0, 1.0)]
    models = TSNMF(K, channels=channels, random_state=0).fit_sweep(images, pairs)
    for (energy, graph), model in zip(pairs, models, strict=True):
        alone = fitted(images, channels, energy_weight=energy, graph_weight=graph)
        np.testing.assert_array_equal(model.labels_, alone.labels_)
        assert relative(model.coefficients_, alone.coefficients_) < 1e-9
        weights = model.state_.predictor.weights
        assert weights == alone.state_.predictor.weights


BAD_ANSWERS = {
    "NaN": lambda X: X * np.nan,
    "infinity": lambda X: X + np.inf,
    "too few": lambda X: X[1:],
    "too many": lambda X: np.concatenate([X, X]),
    "flat": lambda X: X.reshape(len(X), -1),
    "one number": lambda X: np.float64(3),
    "five axes": lambda X: X[..., None, None],
    "empty": lambda X: X[:, :0],
    "nothing": lambda X: None,
}


@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_maps_that_are_none_are_refused_in_a_line(answer):
    with pytest.raises(ValueError, match="channels") as refusal:
        fitted(pictures(), Answer(answer))
    assert "\n" not in str(refusal.value)


def test_maps_of_another_shape_than_in_the_fit_are_refused():
    model = fitted(pictures(), Answer(lambda X: X if len(X) > 9 else X[:, 1:]))
    with pytest.raises(ValueError, match=r"channels must map new samples to .*14, 12"):
        model.predict(pictures(5))


@pytest.mark.parametrize("channels", ["gradients", "fine_gradients", Half()], ids=str)
def test_flat_samples_have_no_maps(channels):
    with pytest.raises(ValueError, match="channels must be 'pixels' for flat") as error:
        fitted(pictures().reshape(45, -1), channels)
    assert "\n" not in str(error.value)


def test_samples_too_small_for_gradients_are_refused():
    small = pictures(shape=(5, 5))
    with pytest.raises(ValueError, match=r"at least 8 x 8 pixels, got .*5, 5") as error:
        fitted(small)
    assert "\n" not in str(error.value)
    assert "X" in str(error.value)
    assert fitted(small, "auto").state_.mapping is None


@pytest.mark.parametrize("channels", ["grey", "", None, 3, ["gradients"], object()])
def test_unknown_channels_are_refused_as_scikit_learn_does(channels):
    with pytest.raises(InvalidParameterError, match="'channels' parameter"):
        fitted(pictures(), channels)


def test_the_transformer_that_was_given_stays_unfitted():
    given = Deviation()
    model = fitted(pictures(), given)
    assert not hasattr(given, "mean_")
    expected = pictures().mean(axis=0)
    learned = model.state_.mapping.transformer.mean_
    np.testing.assert_allclose(learned, expected, rtol=1e-12)


def test_a_function_will_do():
    model = fitted(pictures(), FunctionTransformer(doubled))
    assert model.state_.mapping.map_shape == (2, 14, 12)
    assert adjusted_rand_score(model.labels_, np.arange(45) % K) == 1


@pytest.mark.parametrize("channels", [OrientedGradients, Half])
def test_a_class_in_the_place_of_a_transformer_is_refused(channels):
    with pytest.raises(TypeError, match="instance of scikit-learn estimator instead"):
        fitted(pictures(), channels)


@pytest.mark.parametrize("axis", [1, 2])
def test_mirrored_images_have_the_same_coefficients(axis):
    """Also where every second row of maps is left out, of an even and an odd side."""
    images = pictures(shape=(24, 25))
    one, other = (
        TSNMF(K, channels="gradients", random_state=0).fit(each).coefficients_
        for each in (images, np.flip(images, axis))
    )
    np.testing.assert_allclose(one, other, 0, 1e-9)


def test_auto_takes_gradients_of_images_and_pixels_of_others():
    images = pictures()
    automatic, chosen = fitted(images, "auto"), fitted(images, "gradients")
    assert automatic.state_.mapping.transformer.pooling == 2.0
    np.testing.assert_array_equal(automatic.coefficients_, chosen.coefficients_)
    noise = np.random.default_rng(0).normal(size=(45, 12, 12))
    for samples in (noise, images.reshape(45, -1), images[:, :7]):
        assert fitted(samples, "auto").state_.mapping is None


@pytest.mark.torch
@every_bank
def test_tensors_are_mapped_where_they_lie(channels):
    torch = pytest.importorskip("torch", reason="the optional extra 'torch'")
    images, new = pictures(), pictures(9, seed=5)
    ours, theirs = fitted(images, channels), fitted(torch.asarray(images), channels)
    assert isinstance(theirs.components_, torch.Tensor)
    np.testing.assert_array_equal(theirs.labels_.numpy(), ours.labels_)
    assert relative(theirs.components_.numpy(), ours.components_) < 1e-6
    predicted = theirs.predict(torch.asarray(new)).numpy()
    np.testing.assert_array_equal(predicted, ours.predict(new))


@pytest.mark.parametrize("maps", [np.fft.fft2, lambda X: X.astype(str)])
def test_maps_that_are_no_real_numbers_are_refused(maps):
    with pytest.raises(ValueError, match="channels must map 45 samples to real"):
        fitted(pictures(), FunctionTransformer(maps))
