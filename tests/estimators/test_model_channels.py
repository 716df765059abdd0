"""Files of models with channels: saved and loaded again, old ones, and hostile ones."""

import shutil

import msgspec
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
from sklearn.base import BaseEstimator, TransformerMixin

from twofold import TSNMF, AutoTSNMF
from twofold.channels import NetworkFeatures, OrientedGradients
from twofold.channels.network import NetworkError
from twofold.estimators import load_model, save_model
from twofold.estimators.model_channels import Transformer, check_channels
from twofold.metrics import ari


def smooth_images(n=40, h=26, w=12, channels=0):
    """Images of three groups whose sides are halved, or not, by the gradients."""
    shape = (n, max(channels, 1), h, w)
    stack = np.cumsum(np.cumsum(problems.stack(shape), axis=2), axis=3)
    return np.moveaxis(stack, 1, -1) if channels else stack[:, 0]


def fitted(channels, X=None, **options):
    X = smooth_images() if X is None else X
    return TSNMF(3, channels=channels, random_state=0, **options).fit(X)


def there_and_back(model, folder):
    save_model(model, folder)
    return load_model(folder)[0]


# There and back


@pytest.mark.parametrize("channels", ["auto", "gradients", "fine_gradients"])
@pytest.mark.parametrize(
    ("X", "options"),
    [
        (smooth_images(), {}),
        (smooth_images().astype(np.float32), {"scale": "global"}),
        (smooth_images(channels=3), {"n_directions": (2, 3), "energy_weight": 0.3}),
        (smooth_images(h=60, w=50), {"assign_labels": "k-means"}),
        (smooth_images().reshape(40, -1), {"sample_shape": (26, 12)}),
    ],
)
def test_all_comes_back_as_it_was(tmp_path, channels, X, options):
    model = fitted(channels, X, **options)
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, X[::-1] + np.asarray(0.3 * X.std(), X.dtype))
    assert loaded.get_params() == model.get_params()


def test_what_the_file_says_of_channels(tmp_path):
    X = smooth_images()
    model = fitted("gradients", X)
    arrays = load_file(save_model(model, tmp_path))
    record = read_record(tmp_path)
    assert record["parameters"]["channels"] == "gradients"
    assert record["parameters"]["energy_weight"] is None
    assert record["channels"] is None
    mapping = record["fit"]["mapping"]
    assert mapping["transformer"] == {
        "name": "OrientedGradients",
        "parameters": OrientedGradients().get_params(),
    }
    # Of a side of 24 pixels or more every second entry is kept.
    assert mapping["map_shape"] == [8, 13, 12]
    maps = OrientedGradients().transform(X)
    norms = np.linalg.norm(maps.reshape(40, -1), axis=1)
    assert mapping["typical_norm"] == pytest.approx(np.sqrt(np.mean(norms**2)))
    assert arrays["components_"].shape == (3, 26, 12)
    assert arrays["left.directions"].shape == (1, 13, 4)
    assert arrays["left.features"].shape == (40, 8 * 12 * 4)
    assert fitted("pixels", X).state_.mapping is None
    save_model(fitted("pixels", X), tmp_path)
    assert read_record(tmp_path)["fit"]["mapping"] is None


def test_a_transformer_of_gradients(tmp_path):
    bank = OrientedGradients(np.int64(6), signed=np.False_, pooling=1.3)
    model = fitted(bank)
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, smooth_images()[::-1] + 0.3)
    assert isinstance(loaded.channels, OrientedGradients)
    assert loaded.channels.get_params() == bank.get_params()
    assert type(loaded.channels.n_orientations) is int
    assert loaded.state_.mapping.map_shape == (6, 13, 12)
    same(loaded.fit(smooth_images()).labels_, model.labels_)


def test_channels_set_after_the_fit_do_not_change_it(tmp_path):
    model = fitted("gradients").set_params(channels=OrientedGradients(5, pooling=3.0))
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, smooth_images()[::-1])
    assert loaded.channels.n_orientations == 5
    model.set_params(channels="pixels")
    assert_same_model(there_and_back(model, tmp_path), model, smooth_images()[::-1])


def test_missing_pixels(tmp_path):
    X = problems.pierced(smooth_images(), problems.holes((40, 26, 12)))
    model = fitted("gradients", X, missing_values=np.nan)
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, X[::-1])
    same(loaded.impute(X), model.impute(X))
    arrays = load_file(tmp_path / "model.safetensors")
    assert arrays["completion.mean"].shape == (1, 26, 12)
    assert arrays["completion.left"].shape[0] == 26


def test_the_best_of_a_search(tmp_path):
    X = smooth_images()
    search = AutoTSNMF(3, channels=["fine_gradients"], max_fits=2, random_state=0)
    model = search.fit(X).best_estimator_
    loaded = there_and_back(model, tmp_path)
    assert_same_model(loaded, model, X[::-1])
    assert loaded.channels == "fine_gradients"


@pytest.mark.torch
def test_tensors_become_arrays(tmp_path):
    torch = pytest.importorskip("torch")
    X = smooth_images()
    model = fitted("gradients", torch.asarray(X))
    loaded = there_and_back(model, tmp_path)
    same(loaded.predict(X), model.predict(torch.asarray(X)).numpy())


# Files of versions that had no channels


def without_channels(record):
    del record["fit"]["mapping"], record["channels"], record["parameters"]["channels"]


def test_an_old_file_is_one_of_pixels(tmp_path):
    X = smooth_images()
    model = fitted("pixels", X)
    save_model(model, tmp_path)
    edit_record(tmp_path, without_channels)
    loaded = load_model(tmp_path)[0]
    assert_same_model(loaded, model, X[::-1])
    assert loaded.channels == "pixels"


def test_maps_without_a_mapping_are_refused(tmp_path):
    save_model(fitted("gradients"), tmp_path)
    edit_record(tmp_path, without_channels)
    refused(tmp_path, r"left_projection_ must be float64 of shape \(26, 4\), got")


# Channels that cannot be saved


class Halves(TransformerMixin, BaseEstimator):
    """Every second row."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, ::2]


class MyGradients(OrientedGradients):
    """No class that a file may name."""


@pytest.mark.parametrize("channels", [Halves(), MyGradients()])
def test_other_transformers_cannot_be_saved(tmp_path, channels):
    name = type(channels).__name__
    expected = (
        "^model: its channels must be a name or one of OrientedGradients, "
        rf"NetworkFeatures to be saved without pickling, got {name}; transform X "
        r'first, and fit TSNMF\(channels="pixels"\) to the maps$'
    )
    model = fitted(channels)
    for parameter in (channels, "auto"):  # set after the fit, and of no effect on it
        with pytest.raises(ValueError, match=expected):
            save_model(model.set_params(channels=parameter), tmp_path)
    with pytest.raises(ValueError, match=expected):
        save_model(fitted("pixels").set_params(channels=channels), tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_way_out_that_the_error_names(tmp_path):
    X = smooth_images()
    model = fitted(Halves(), X)
    way_out = fitted("pixels", Halves().transform(X))
    # Clusters are named in the order of the samples, which is that of their content.
    assert ari(way_out.labels_, model.labels_) == 1
    there_and_back(way_out, tmp_path)


def test_parameters_of_a_transformer_that_could_not_be_read_are_not_written(tmp_path):
    model = fitted(OrientedGradients())
    model.channels.n_orientations = 1
    with pytest.raises(
        ValueError, match=r"^model: The 'n_orientations' .*fit it again"
    ):
        save_model(model, tmp_path)
    assert not list(tmp_path.iterdir())


# Hostile files


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with the file of a model of gradients, which no test may write to."""
    return save_model(fitted("gradients"), tmp_path_factory.mktemp("saved")).parent


@pytest.fixture
def copy(saved, tmp_path):
    """The like to be spoiled."""
    shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
    return tmp_path


HUGE = 10**4000


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("map_shape", [8, 12, 13], r"left_projection_ must .* \(12, 4\), got .*13, 4"),
        ("map_shape", [8, 13], "Expected `array` of length 3"),
        ("map_shape", [8, 13, 0], "Expected `int` >= 1"),
        ("map_shape", [1, 104, 12], r"left_projection_ must be .* \(104, 4\)"),
        ("typical_norm", 0, "Expected `float` > 0.0"),
        ("typical_norm", "1", "Expected `float`, got `str`"),
        ("typical_norm", 1e300, "typical_norm of the mapping must be from .* 1e[+]300"),
        ("typical_norm", 1e-300, "typical_norm of the mapping must be from .* 1e-300"),
        ("typical_norm", HUGE, "out of range"),
        ("more", 1, r"unknown field `more` - at `\$.fit.mapping`"),
        ("transformer", "OrientedGradients", "Expected `object`, got `str`"),
        ("transformer", None, "Expected `object`, got `null`"),
        ("transformer.name", "os.system", "name must be one of OrientedGradients, Net"),
        ("transformer.name", "x" * 10**6, "name must be one of OrientedGradients, Net"),
        ("transformer.more", 1, "unknown field `more`"),
        ("transformer.parameters", [], "Expected `object`, got `array`"),
        ("transformer.parameters.more", 1, "unexpected keyword argument 'more'"),
        ("transformer.parameters.self", 1, "multiple values for argument 'self'"),
        ("transformer.parameters.pooling", 0, "'pooling' parameter of OrientedGradien"),
        ("transformer.parameters.pooling", [2.0], "Expected .*, got `array`"),
        ("transformer.parameters.signed", "yes", "'signed' parameter of OrientedGradi"),
        ("transformer.parameters.n_orientations", 65, "'n_orientations' parameter of"),
        (
            "transformer.parameters.n_orientations",
            HUGE,
            "'n_orientations' parameter of",
        ),
        ("transformer.parameters.n_orientations", 8.0, "'n_orientations' parameter of"),
        (
            "transformer.parameters.n_orientations",
            7,
            r"map_shape must be \(7, 13, 12\) for samples of \(26, 12\), got \(8, 13, ",
        ),
    ],
)
def test_mappings_with_a_right_digest(copy, place, value, reason):
    def spoil(record):
        facts = record["fit"]["mapping"]
        *outer, name = place.split(".")
        for each in outer:
            facts = facts[each]
        facts[name] = value

    edit_record(copy, spoil)
    refused(copy, reason)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"name": "TSNMF", "parameters": {}}, "name must be one of OrientedGradients"),
        ({"name": "OrientedGradients"}, "missing required field `parameters`"),
        ("gradients", "Expected `object | null`, got `str`"),
    ],
)
def test_channels_with_a_right_digest(copy, value, reason):
    edit_record(copy, lambda record: record.update(channels=value))
    refused(copy, reason)


@pytest.mark.parametrize("value", ["edges", None, 5, "x" * 10**6])
def test_names_of_channels_that_there_are_not(copy, value):
    edit_record(copy, lambda record: record["parameters"].update(channels=value))
    refused(copy, "'channels' parameter of TSNMF must be")


def test_samples_that_have_no_such_maps(copy):
    """Components of other sides, or flat ones."""
    for shape in ((3, 28, 12), (3, 26, 14)):
        edit_arrays(copy, components_=np.ones(shape))
        refused(copy, r"map_shape must be .* got \(8, 13, 12\)")
    edit_arrays(copy, components_=np.ones((3, 4, 4)))
    refused(copy, "X must be images of .* at least 8 x 8 pixels, got")
    edit_arrays(copy, components_=np.ones((3, 312)))
    refused(copy, "channels must be 'pixels' for flat samples|must be images of shape")


def test_directions_of_the_sides_of_the_pixels_are_refused(copy):
    edit_arrays(copy, **{"left.directions": np.eye(26)[None, :, :4]})
    refused(copy, r"left.directions must be float64 of shape \(1, 13, 4\), got")


OTHERS = ["onnx:/dev/zero", "model.onnx", "timm:resnet18", "torchvision:resnet18"]


@pytest.mark.parametrize("network", OTHERS)
def test_no_model_file_names_a_network_to_read_or_to_download(network, monkeypatch):
    def never(*_):
        raise AssertionError("a network was opened")

    for name in ("open_network", "weights_digest"):
        monkeypatch.setattr(f"twofold.channels.network.features.{name}", never)
    facts = {"name": "NetworkFeatures", "parameters": {"network": network}}
    with pytest.raises(msgspec.ValidationError, match="network must be"):
        msgspec.convert(facts, Transformer)
    with pytest.raises(NetworkError, match="transform X first"):
        check_channels(NetworkFeatures(network))
