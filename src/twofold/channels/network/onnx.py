"""Networks in ONNX files, run by ONNX Runtime."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from twofold.channels.network.errors import NetworkError
from twofold.channels.network.sources import IMAGENET, SIDE, Network
from twofold.core.arrays import slices
from twofold.io.errors import reason_of

_FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
_BYTES = "tensor(uint8)"

_ELSEWHERE = re.compile(rb"(?:\x08|\x88\x80*\x00)location")
"""The key of a tensor in another file, behind its length in any way to write it."""


def open_onnx(path: Path, runtime: ModuleType) -> Network:
    """Open a file with one input, of pictures (n, 3, s, s) or (n, s, s, 3).

    Of several outputs the first map (n, c, h, w) is taken, or else the first one. An
    input of bytes gets the pixels, from 0 to 255, any other one those of ``IMAGENET``.
    """
    content = path.read_bytes()  # what is run is what the digest is of
    if _ELSEWHERE.search(content):
        raise NetworkError(
            f"network must be one ONNX file, but {path} keeps weights in other files, "
            "which are not read, or has a name, 'location', that says so; save it as a "
            "single file without that name"
        )
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # an error is raised, and need not be printed
    try:
        session = runtime.InferenceSession(
            content, options, providers=_providers(runtime)
        )
        inputs = session.get_inputs()
    except Exception as error:  # the runtime has exceptions of its own
        raise NetworkError(
            f"network must be an ONNX file, but {path} cannot be opened "
            f"({reason_of(error)})"
        ) from error
    side, last = _layout(path, inputs)

    def run(batch: np.ndarray, device: str) -> np.ndarray:
        given = _converted(batch, inputs[0].type)
        given = np.ascontiguousarray(np.moveaxis(given, 1, -1) if last else given)
        try:
            return _features(session, given)
        except Exception as error:
            raise NetworkError(
                f"network: {path} cannot be run on {given.shape} ({reason_of(error)})"
            ) from error

    return Network(hashlib.sha256(content).hexdigest(), side, *IMAGENET, run)


def _features(session: Any, given: np.ndarray) -> np.ndarray:
    """Return what a file makes of pictures."""
    [taken], outputs = session.get_inputs(), session.get_outputs()
    # (n, c, h, w) has four axes; their lengths may be named rather than numbers.
    maps = [output for output in outputs if len(output.shape or ()) == 4]
    name = (maps or outputs)[0].name
    found = [
        session.run([name], {taken.name: part})[0]
        for part in _parts(given, taken.shape[0])
    ]
    # What is no array of pictures is refused by its shape later.
    whole = np.asarray(found[0]) if len(found) == 1 else np.concatenate(found)
    return whole[: len(given)] if whole.ndim else whole


def _providers(runtime: ModuleType) -> list[str]:
    known = ("CUDAExecutionProvider", "CPUExecutionProvider")
    return [name for name in known if name in runtime.get_available_providers()]


def _layout(path: Path, inputs: Any) -> tuple[int, bool]:
    """Return the side of the pictures, and whether the colours are the last axis."""
    shape = list(inputs[0].shape or ()) if len(inputs) == 1 else []
    right = len(shape) == 4 and inputs[0].type in (*_FLOATS, _BYTES)
    last = right and shape[3] == 3 and shape[1] != 3
    sides = shape[1:3] if last else shape[2:4]
    fixed = {d for d in sides if isinstance(d, int)}
    if not right or (not last and shape[1] != 3) or len(fixed) > 1:
        found = ", ".join(f"{i.type} of {i.shape}" for i in inputs)
        raise NetworkError(
            "network must be an ONNX file with one input, floats or bytes of "
            f"(n, 3, side, side) or (n, side, side, 3), but {path} takes {found}"
        )
    return fixed.pop() if fixed else SIDE, last


def _parts(given: np.ndarray, count: Any) -> Iterator[np.ndarray]:
    """Yield pictures, so many at once as a file takes; the last ones are filled up."""
    if not isinstance(count, int):
        yield given
        return
    for part in slices(len(given), count):
        missing = count - len(given[part])
        yield np.pad(given[part], [(0, missing), (0, 0), (0, 0), (0, 0)])


def _converted(batch: np.ndarray, kind: str) -> np.ndarray:
    """Return centred and scaled pictures in the type that a file takes."""
    if kind != _BYTES:
        return batch.astype(_FLOATS[kind], copy=False)
    mean, std = (np.array(values).reshape(3, 1, 1) for values in IMAGENET)
    return np.clip(np.rint(255 * (batch * std + mean)), 0, 255).astype(np.uint8)
