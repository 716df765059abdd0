"""The network of ``twofold cluster``: the one that was asked for, or is tried."""

from typing import TYPE_CHECKING

import typer

from twofold.app.cli.model import NETWORK, ModelRequest

if TYPE_CHECKING:
    from twofold.app.collection import Collection
    from twofold.channels import NetworkFeatures

INSTALL = "pip install 'twofold[photos]'"
"""Command that installs the default network."""


def asked_network(request: ModelRequest) -> "NetworkFeatures | None":
    """Return the network of --channels network, if asked for; it must be installed."""
    if request.channels != NETWORK:
        return None
    from twofold.channels.network import NetworkError
    from twofold.channels.network.sources import DEFAULT, check_installed, check_name

    name = DEFAULT if request.network is None else request.network
    try:
        check_name(name)
    except NetworkError as error:
        raise typer.BadParameter(str(error), param_hint="--network") from error
    check_installed(name)
    return _network(name)


def may_try_network(request: ModelRequest, collection: "Collection") -> bool:
    """Return whether a network is worth a try beside the images of a collection.

    A search must choose the channels.
    """
    chooses = request.channels == "auto" and not request.parameters
    return chooses and _suits_network(request, collection)


def _suits_network(request: ModelRequest, collection: "Collection") -> bool:
    """Return whether images are files, of which larger pictures can be read.

    Pixels that are missing or aligned are lost on a network.
    """
    from twofold.app.network import has_colors

    for_pixels = request.align is not False or request.missing is not None
    files = collection.paths and collection.features is None and has_colors(collection)
    return bool(files) and not for_pixels


def hint_of(request: ModelRequest, collection: "Collection") -> str | None:
    """Return what to try for a network where none was tried, None if nothing helps."""
    from twofold.channels.network import sources

    if not _suits_network(request, collection):
        return None
    if may_try_network(request, collection):
        return None if sources.is_installed() else INSTALL
    return f"--channels {NETWORK}" if sources.is_installed() else None


def network_to_try() -> "NetworkFeatures | None":
    """Return the default network, or None if it is not installed."""
    from twofold.channels.network import sources

    return _network(sources.DEFAULT) if sources.is_installed() else None


def _network(name: str) -> "NetworkFeatures":
    """Return a network whose features are kept for the next time."""
    from twofold.channels import NetworkFeatures

    return NetworkFeatures(name, cache="auto")
