"""Networks of torchvision and timm by their names, with the packages' own weights."""

import hashlib
from types import ModuleType
from typing import Any

from twofold.channels.network.errors import NetworkError
from twofold.channels.network.sources import IMAGENET, SIDE, Network, torch_runner
from twofold.io.errors import reason_of


def open_listed(package: ModuleType, name: str, torch: ModuleType) -> Network:
    """Open a network of a catalogue; the package may download its weights."""
    whole = f"{package.__name__}:{name}"
    listed = _timm if package.__name__ == "timm" else _torchvision
    try:
        network, forward, side, mean, std = listed(package, name)
    except NetworkError:
        raise
    except Exception as error:  # of any type, also those of a failed download
        raise NetworkError(
            f"network={whole!r} cannot be opened: {reason_of(error)}"
        ) from error
    run = torch_runner(torch, network, forward)
    return Network(_digest(network), side, mean, std, run)


def _timm(timm: Any, name: str) -> tuple[Any, ...]:
    network = timm.create_model(name, pretrained=True, num_classes=0)
    about = timm.data.resolve_model_data_config(network)
    forward = network.forward_features
    return (network, forward, about["input_size"][-1], about["mean"], about["std"])


def _torchvision(torchvision: Any, name: str) -> tuple[Any, ...]:
    weights = torchvision.models.get_model_weights(name).DEFAULT
    network = torchvision.models.get_model(name, weights=weights)
    given = weights.transforms()  # what the weights were trained on
    side = getattr(given, "crop_size", [SIDE])[0]
    mean, std = IMAGENET
    scale = getattr(given, "mean", mean), getattr(given, "std", std)
    return network, _features(network, name), side, *map(tuple, scale)


def _features(network: Any, name: str) -> Any:
    """Return the part of a network of torchvision that gives its last maps."""
    if hasattr(network, "features"):  # most convolutional ones
        return network.features
    steps = ["conv1", "bn1", "relu", "maxpool", *(f"layer{i}" for i in range(1, 5))]
    if all(hasattr(network, step) for step in steps):  # the residual ones

        def forward(x: Any) -> Any:
            for step in steps:
                x = getattr(network, step)(x)
            return x

        return forward
    raise NetworkError(
        f"network='torchvision:{name}' has no map of features that is known; take "
        "'timm:NAME', or export its last map to an ONNX file"
    )


def _digest(network: Any) -> str:
    """Return the SHA-256 of all weights, by name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()
