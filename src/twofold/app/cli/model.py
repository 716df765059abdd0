"""Make the model that the options of ``twofold cluster`` describe."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from twofold import TSNMF, AutoTSNMF

PARAMETERS = {
    "--graph": "graph",
    "--energy-weight": "energy_weight",
    "--graph-weight": "graph_weight",
    "--directions": "n_directions",
    "--neighbors": "n_neighbors",
    "--starts": "n_init",
    "--max-iter": "max_iter",
    "--tol": "tol",
}
"""Options that set a parameter of TSNMF. With any of them there is no search."""

_NAMES = PARAMETERS | {
    "--align": "align",
    "--channels": "channels",
    "--device": "device",
    "--features": "features",
    "--key": "key",
    "--labels": "labels",
    "--network": "network",
    "--sample-shape": "sample_shape",
}
"""Options by what the library calls them."""

NETWORK = "network"
"""Name of the channels that are the features of a network."""

_NUMBERS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
"""A number of clusters, or a range of numbers."""


@dataclass(frozen=True)
class ModelRequest:
    """Description of a model by command-line options."""

    clusters: str  # text of the option for the number of clusters
    numbers: int | range | None  # the same as ``n_clusters`` of AutoTSNMF
    channels: str  # name of the channels; "auto" leaves the choice to the model
    network: str | None  # name of the network of the channels "network"; None: default
    parameters: dict[str, Any]  # other parameters of TSNMF that were given
    max_time: float | None  # time limit of a search in seconds
    cache: Path | None  # folder in which a search stores its previews
    missing: float | None  # value of missing entries
    align: bool | str  # as the parameter of TSNMF
    seed: int
    outliers: bool = False  # as the parameters of TSNMF
    device: str | None = None


def read_request(
    clusters: str,
    options: dict[str, Any],
    *,
    channels: str | None = None,
    network: str | None = None,
    max_time: float | None,
    cache: Path | None,
    missing: float | None,
    align: str | None = None,
    outliers: bool = False,
    device: str | None = None,
    seed: int,
) -> ModelRequest:
    """Read the options; raise a BadParameter if they exclude each other.

    ``options`` has the values of the options in ``PARAMETERS``, or None for those that
    were not given. The other arguments are as in ``ModelRequest``; ``channels`` and
    ``align``, "shifts" or "all", are None if they were not given. A network stands for
    its channels.
    """
    if network is not None:
        if channels not in (None, NETWORK):
            raise typer.BadParameter(
                f"is for --channels {NETWORK}, got --channels {channels}; give one of "
                "them",
                param_hint="--network",
            )
        channels = NETWORK
    numbers = _read_numbers(clusters)
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if not isinstance(numbers, int):
            raise typer.BadParameter(
                f"expected one number, such as 12, with {option}, which leaves the "
                f"search out, got {clusters}; name one, or leave {option} out",
                param_hint="--clusters",
            )
        for search_option, value in (("--max-time", max_time), ("--cache", cache)):
            if value is not None:
                raise typer.BadParameter(
                    f"is for the search, which {option} leaves out; give one of them",
                    param_hint=search_option,
                )
    return ModelRequest(
        clusters=clusters,
        numbers=numbers,
        channels="auto" if channels is None else channels,
        network=network,
        parameters={PARAMETERS[option]: value for option, value in given.items()},
        max_time=max_time,
        cache=cache,
        missing=missing,
        align=align if align == "shifts" else align is not None,
        seed=seed,
        outliers=outliers,
        device=device,
    )


def _read_numbers(text: str) -> int | range | None:
    """Read '12' as 12, '8-16' as a range with both ends, and 'auto' as None."""
    if text == "auto":
        return None
    match = _NUMBERS.fullmatch(text)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= low <= high:
        raise typer.BadParameter(
            "expected a number from 1, such as 12, a range, such as 8-16, or auto, "
            f"got {text or 'nothing'}",
            param_hint="--clusters",
        )
    return low if low == high else range(low, high + 1)


def check_pixels(request: ModelRequest, instead: str) -> None:
    """Raise a BadParameter for an option that only pixels have.

    ``instead`` is the option by which samples are compared by something else.
    """
    given = {
        "--align": request.align is not False,
        "--missing": request.missing is not None,
    }
    if instead == "--features":
        given["--network"] = request.network is not None
        given["--channels"] = request.channels not in ("auto", "pixels")
    for option in (option for option, is_given in given.items() if is_given):
        raise typer.BadParameter(
            f"is for images, and {instead} leaves their pixels out; give one of them",
            param_hint=option,
        )


def check_count(request: ModelRequest, count: int) -> None:
    """Raise a ValueError if there are more clusters than samples."""
    numbers = request.numbers
    if numbers is None:
        return
    if (numbers if isinstance(numbers, int) else numbers[-1]) > count:
        raise ValueError(
            f"-k {request.clusters} must be at most {count}, the number of samples; "
            "take fewer clusters, or -k auto"
        )


def check_shape(request: ModelRequest, shape: tuple[int, ...]) -> None:
    """Raise a ValueError if samples of a shape lack the channels, or are no images."""
    from twofold.channels import BANKS
    from twofold.channels.gradients import MIN_SIDE

    if len(shape) > 1 and min(shape[:2]) >= MIN_SIDE:
        return
    bank, needed = BANKS.get(request.channels), ""
    if bank is not None and bank.transformer is not None:
        needed, way_out = f"--channels {request.channels}", "take pixels or auto"
    elif request.align:
        needed, way_out = "--align", "leave it out"
    if needed:
        raise ValueError(
            f"{needed} needs images of at least {MIN_SIDE} x {MIN_SIDE} pixels, got "
            f"samples of {' x '.join(map(str, shape))}; {way_out}"
        )


def make_model(request: ModelRequest) -> "TSNMF | AutoTSNMF":
    """Return a TSNMF if a parameter of it was given, else a search.

    Channels alone do not leave the search out, but are the only ones that it tries.
    """
    from twofold import TSNMF, AutoTSNMF
    from twofold.channels import PIXELS
    from twofold.core.devices import check_device
    from twofold.estimators.search.cache import cache_defect

    _check_channels(request.channels)
    check_device(request.device)
    base = TSNMF(
        missing_values=request.missing,
        align=request.align,
        outliers=request.outliers,
        device=request.device,
    )
    # The features of a network are made before, and compared as they are.
    channels = PIXELS if request.channels == NETWORK else request.channels
    if request.parameters:
        base.set_params(n_clusters=request.numbers, random_state=request.seed)
        base.set_params(channels=channels, **request.parameters)
        _check_parameters(base)
        return base
    defect = "" if request.cache is None else cache_defect(request.cache)
    if defect:
        raise typer.BadParameter(defect, param_hint="--cache")
    return AutoTSNMF(
        request.numbers,
        channels=channels if channels == "auto" else [channels],
        estimator=base,
        max_time=request.max_time,
        cache=request.cache,
        random_state=request.seed,
    )


def _check_channels(channels: str) -> None:
    """Raise a BadParameter if there are no channels of this name."""
    from twofold.channels import BANKS

    if channels not in ("auto", *BANKS):
        raise typer.BadParameter(
            f"expected one of auto, {', '.join(BANKS)}, got {channels or 'nothing'}",
            param_hint="--channels",
        )


def _check_parameters(model: "TSNMF") -> None:
    """Raise a BadParameter if the estimator refuses one of its parameters.

    The parser leaves the kinds of graphs to the estimator: importing it to list them
    would make every command slow.
    """
    from twofold.core.graphs import KINDS
    from twofold.estimators.parameters import check_parameters

    kinds = ("auto", *KINDS)
    if model.graph not in kinds:
        raise typer.BadParameter(
            f"expected one of {', '.join(kinds)}, got {model.graph or 'nothing'}",
            param_hint="--graph",
        )
    try:
        check_parameters(model)
    except ValueError as error:
        text = with_options(str(error))
        named = (
            o for o, name in PARAMETERS.items() if f"'{name}'" in text or o in text
        )
        raise typer.BadParameter(text, param_hint=next(named, None)) from error


def with_options(message: str) -> str:
    """Return a message of the library that begins with an option, not a parameter."""
    for option, name in _NAMES.items():
        message = re.sub(rf"^{name}\b", option, message)
    return message
