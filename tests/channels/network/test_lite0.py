"""EfficientNet-lite0: its weights name known pictures, and its maps are sane."""

import subprocess
import sys

import numpy as np
import pytest
from network_problems import need_lite0, photos
from scipy.signal import correlate2d
from sklearn.datasets import load_sample_images

from twofold.channels import NetworkFeatures
from twofold.channels.network import sources
from twofold.channels.network.pictures import pictures
from twofold.progress import listening

# Classes of ImageNet, by number
CLASSES = {
    "china.jpg": {698, 442, 663, 483},  # palace, bell cote, monastery, castle
    "flower.jpg": {985},  # daisy
    "chelsea": {281, 282, 285},  # tabby, tiger cat, Egyptian cat
    "coffee": {967, 968, 504},  # espresso, cup, coffee mug
    "rocket": {657, 744, 812},  # missile, projectile, space shuttle
}


def known_picture(name):
    """One of scikit-learn's two pictures, or one of those in scikit-image's wheel."""
    samples = load_sample_images()
    names = [path.rpartition("/")[2].rpartition("\\")[2] for path in samples.filenames]
    if name in names:
        return samples.images[names.index(name)]
    data = pytest.importorskip("skimage.data", reason="needs scikit-image's pictures")
    return getattr(data, name)()


@pytest.fixture(scope="module")
def network():
    need_lite0()
    from twofold.channels.network.efficientnet import EfficientNetLite0

    torch, path = sources.needed("torch", "", ""), sources._lite0_file()
    network = EfficientNetLite0().eval()
    found = torch.load(path, map_location="cpu", weights_only=True)
    network.load_state_dict(found, strict=True)
    return network


def seen(images):
    """What the network is given: (255 x - 127) / 128 of pixels in [0, 1]."""
    import torch

    stack = np.moveaxis(np.asarray(images), -1, 1)
    return torch.as_tensor((255 * pictures(stack, 224, "crop") - 127) / 128)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "classes"), CLASSES.items(), ids=CLASSES)
def test_known_pictures_are_named(network, name, classes):
    import torch

    with torch.inference_mode():
        scores = network(seen(known_picture(name)[None]))[0]
    assert int(scores.argmax()) in classes


@pytest.mark.torch
def test_its_maps_are_what_its_classes_are_computed_from(network):
    """The mean over positions, times the weights of the classes, is the scores."""
    import torch

    images = load_sample_images().images
    maps = NetworkFeatures(maps=None).transform(np.stack(images))
    assert maps.shape == (2, 7, 7, 1280)
    assert maps.min() >= 0
    state = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    with torch.inference_mode():
        scores = network(seen(images)).numpy()
    found = maps.mean(axis=(1, 2)) @ state["_fc.weight"].T + state["_fc.bias"]
    np.testing.assert_allclose(found, scores, atol=1e-3)
    pooled = NetworkFeatures(maps=None, pooled=True).transform(np.stack(images))
    np.testing.assert_allclose(pooled[:, 0, 0], maps.mean(axis=(1, 2)), atol=1e-5)


@pytest.mark.torch
@pytest.mark.parametrize("side", [6, 7, 12])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (5, 1), (5, 2), (1, 1)])
def test_convolutions_are_padded_as_those_of_tensorflow(side, kernel, stride):
    """Half of what is missing before the image, and the odd entry after it."""
    need_lite0()
    import torch

    from twofold.channels.network.efficientnet import SamePadded

    rng = np.random.default_rng(0)
    image, weights = rng.normal(size=(side, side)), rng.normal(size=(kernel, kernel))
    layer = SamePadded(1, 1, kernel, stride=stride, bias=False).double()
    layer.weight.data[0, 0] = torch.as_tensor(weights)
    count = -(-side // stride)
    missing = max((count - 1) * stride + kernel - side, 0)
    wide = np.pad(image, (missing // 2, missing - missing // 2))
    expected = correlate2d(wide, weights, mode="valid")[::stride, ::stride]
    found = layer(torch.as_tensor(image)[None, None]).detach().numpy()[0, 0]
    assert found.shape == (count, count)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("frame", ["crop", "pad"])
def test_maps_of_an_image_do_not_depend_on_the_batch(monkeypatch, frame):
    """But for rounding errors: alone, in order, in other batches."""
    need_lite0()
    images, bank = photos(), NetworkFeatures(frame=frame)
    together = bank.fit_transform(images)
    close = {"rtol": 0, "atol": 1e-4 * np.abs(together).max()}
    for i, maps in enumerate(together):
        np.testing.assert_allclose(bank.transform(images[i : i + 1])[0], maps, **close)
    monkeypatch.setattr("twofold.channels.network.features.BATCH", 4)
    np.testing.assert_allclose(bank.transform(images[::-1])[::-1], together, **close)


@pytest.mark.torch
def test_units_grey_images_and_tensors():
    need_lite0()
    import torch

    colours = np.rint(255 * photos(3))
    bank = NetworkFeatures()
    maps = bank.transform(colours.astype(np.uint8))
    assert maps.shape == (3, 7, 7, bank.maps)
    assert maps.dtype == np.float32
    for same in (colours, colours / 255, (colours * 257).astype(np.uint16)):
        np.testing.assert_allclose(bank.transform(same), maps, atol=1e-3)
    grey = colours[..., 0]
    thrice = np.repeat(grey[..., None], 3, axis=-1)
    np.testing.assert_array_equal(bank.transform(grey), bank.transform(thrice))
    tensor = torch.as_tensor(colours, dtype=torch.float64)
    found = bank.transform(tensor)
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found.numpy(), maps, atol=1e-3)


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(8, 8), (8, 5000), (300, 9, 3), (224, 224, 3)])
def test_images_of_any_size(shape):
    need_lite0()
    maps = NetworkFeatures(maps=5).transform(photos(1, shape))
    assert maps.shape == (1, 7, 7, 5)
    assert np.isfinite(maps).all()


@pytest.mark.torch
def test_what_is_reported():
    need_lite0()
    events = []
    with listening(events.append):
        NetworkFeatures(maps=2).transform(photos(40, (8, 8)))
    told = [(event.stage, event.done, event.total) for event in events]
    assert told == [("features", done, 40) for done in (0, 32, 40)]


def test_pytorch_is_imported_with_a_network_only():
    code = (
        "import sys, twofold, twofold.channels, twofold.app.cli, numpy\n"
        "from twofold import TSNMF\n"
        "TSNMF(2).fit(numpy.random.default_rng(0).uniform(size=(9, 9, 9)))\n"
        "names = ('torch', 'onnxruntime', 'torchvision', 'timm')\n"
        "print([name for name in names if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
