"""``twofold cluster`` and ``twofold demo``."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from twofold.app.cli import options
from twofold.app.cli.console import one_line_errors, say
from twofold.app.cli.display import Silent, display
from twofold.app.cli.facts import facts_of
from twofold.app.cli.model import (
    NETWORK,
    ModelRequest,
    check_count,
    check_pixels,
    check_shape,
    make_model,
    read_request,
    with_options,
)
from twofold.app.cli.network import (
    asked_network,
    hint_of,
    may_try_network,
    network_to_try,
)
from twofold.progress import listening

if TYPE_CHECKING:
    from twofold.app.collection import Collection, Reading, Source
    from twofold.app.workflow import Clustered

_LARGEST = 10_000
"""Maximum height or width of an image or sample."""


@one_line_errors
def cluster(
    sources: options.Inputs,
    clusters: options.Clusters = "auto",
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    out: options.Out = None,
    sort: options.SortFiles = None,
    force: options.Force = False,
    open_report: options.Open = False,
    size: options.Size = None,
    color: options.Color = None,
    fit: options.FitHow = None,
    frames: options.WhichFrames = None,
    labels: options.Labels = None,
    features: options.FeaturesFile = None,
    key: options.Key = None,
    sample_shape: options.SampleShape = None,
    order: options.RowOrder = None,
    max_memory: options.MaxMemory = None,
    missing: options.Missing = None,
    align: options.AlignImages = None,
    outliers: options.Outliers = False,
    seed: options.Seed = 0,
    max_time: options.MaxTime = None,
    cache: options.Cache = None,
    device: options.Device = None,
    channels: options.Channels = None,
    network: options.NetworkName = None,
    graph: options.GraphKind = None,
    energy_weight: options.EnergyWeight = None,
    graph_weight: options.GraphWeight = None,
    directions: options.Directions = None,
    neighbors: options.Neighbors = None,
    starts: options.Starts = None,
    max_iter: options.MaxIter = None,
    tol: options.Tol = None,
) -> None:
    """Cluster images and write a report to look at.

    The folder of results has report.html; assignments.csv, a line for each image;
    skipped.csv, the files that could not be read; and the model, for twofold predict.
    It appears when all of it is written. The input is never changed.

    The settings of the model, from --channels on, are chosen from the images without
    any labels, and search.csv says what was tried. --channels alone narrows what is
    tried. Where one of the others is given nothing is tried, and the rest have their
    defaults.
    """
    if quiet and as_json:
        raise typer.BadParameter("choose one of --quiet and --json")
    given = {
        "--graph": graph,
        "--energy-weight": energy_weight,
        "--graph-weight": graph_weight,
        "--directions": directions,
        "--neighbors": neighbors,
        "--starts": starts,
        "--max-iter": max_iter,
        "--tol": tol,
    }
    request = read_request(
        clusters,
        given,
        channels=channels,
        network=network,
        max_time=max_time,
        cache=cache,
        missing=missing,
        align=align and align.value,
        outliers=outliers,
        device=device,
        seed=seed,
    )
    source = sources[0] if len(sources) == 1 else sources
    if features is not None:
        check_pixels(request, "--features")
    elif request.channels == NETWORK:
        check_pixels(request, f"--channels {NETWORK}")
    reading = _reading(
        source,
        for_images={
            **{"size": size, "color": color, "fit": fit},
            **{"frames": frames, "sort": sort},
        },
        for_arrays={"sample_shape": sample_shape, "order": order},
        key=key,
        features=features,
        missing=missing,
        max_memory=max_memory,
    )
    # Imported here, as in all commands: --help must not wait for NumPy and SciPy.
    from twofold.app.collection import name_of

    out = out or Path(f"{name_of(source)}-clusters")
    with display(quiet=quiet, as_json=as_json) as shown:
        work = _Given(source, reading, labels, features)
        _run(work, request, out, sort, force, shown)
    if open_report:
        typer.launch(str(out / "report.html"))


@one_line_errors
def demo(
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    out: options.Out = None,
    force: options.Force = False,
    open_report: options.Open = False,
) -> None:
    """Cluster handwritten digits, to see how it goes.

    They are the 1,797 that come with scikit-learn.
    """
    cluster(
        ["digits"],
        clusters="10",
        quiet=quiet,
        as_json=as_json,
        out=out,
        force=force,
        open_report=open_report,
    )


class _Given(NamedTuple):
    """The input, and how it is read."""

    source: "Source"
    reading: "Reading"
    labels: str | None
    features: Path | None

    def read(self) -> "Collection":
        """Read the input."""
        from twofold.app import workflow

        options: Any = {"labels": self.labels, "features": self.features}
        return workflow.read(self.source, self.reading, **options)


def _run(
    given: _Given,
    request: ModelRequest,
    out: Path,
    sort: options.Sort | None,
    force: bool,
    shown: Silent,
) -> None:
    """Read the input, fit the model, write the results, and print a summary."""
    begin = time.time()
    try:
        with listening(shown):
            found, hint = _clustered(given, request, out, sort, force)
    except KeyboardInterrupt:
        # The signal may arrive after the folder of results was renamed.
        page = out / "report.html"
        written = page.exists() and page.stat().st_mtime >= begin
        say("Stopped", f"after {page}" if written else "nothing was written")
        raise
    except ValueError as error:
        raise ValueError(with_options(str(error))) from error
    facts = facts_of(found, request.missing)
    if hint is not None:
        facts["hint"] = hint
    shown.end(**facts)


def _clustered(
    given: _Given,
    request: ModelRequest,
    out: Path,
    sort: options.Sort | None,
    force: bool,
) -> tuple["Clustered", str | None]:
    """Return the results, and how a network would be tried where none was."""
    from twofold.app import workflow
    from twofold.app.network import with_network
    from twofold.channels.network import NetworkError

    model, network = make_model(request), asked_network(request)
    _check_output(given, out, force)
    collection = given.read()
    check_count(request, len(collection.images))
    check_shape(request, collection.samples.shape[1:])
    if network is not None:
        collection = with_network(collection, network)
    tried = network_to_try() if may_try_network(request, collection) else None
    written: Any = {"sort": sort and sort.value, "force": force}
    try:
        found = workflow.cluster(collection, model, out, network=tried, **written)
    except NetworkError as error:
        if tried is None:
            raise
        say("Warning", f"no network was tried: {error}")
        found = workflow.cluster(collection, model, out, **written)
    return found, hint_of(request, collection)


def _check_output(given: _Given, out: Path, force: bool) -> None:
    """Check the folder of results, before anything is read."""
    from twofold.app.collection import folder_of, kind_of
    from twofold.app.outputs import check_apart, check_folder

    source = given.source
    if given.features is not None:
        check_apart([given.features], out)
    if not isinstance(source, str | Path):
        check_apart(map(Path, source), out)
    elif Path(source).exists():
        check_apart([Path(source)], out)
    elif kind_of(source) == "images":
        folder = folder_of(source)
        # The working folder, where results go by default, may be in that folder.
        if not Path.cwd().is_relative_to(folder.resolve()):
            check_apart([folder], out)
    check_folder(out, force=force)


def _reading(
    source: "Source",
    *,
    for_images: dict[str, Any],
    for_arrays: dict[str, Any],
    key: str | None,
    features: Path | None,
    missing: float | None,
    max_memory: int | None,
) -> "Reading":
    """Return the reading options; raise for an option of another kind of input."""
    from twofold.app.collection import Reading, kind_of

    kind = kind_of(source)
    options.check_kind(source, for_images, "images")
    options.check_kind(source, for_arrays, "array")
    if features is None:
        options.check_kind(source, {"key": key}, "array")
    if features is None and kind == "data set":
        options.check_kind(source, {"max_memory": max_memory}, "array")
    if kind == "images":
        size, fit, frames = (for_images[name] for name in ("size", "fit", "frames"))
        return Reading(
            size=_sizes(size, "--size", 1, 2),
            color=for_images["color"],
            fit=fit.value if fit else "stretch",
            key=key,
            missing=missing,
            max_memory=max_memory,
            frames=frames.value if frames else "all",
        )
    order = for_arrays["order"]
    return Reading(
        key=key,
        sample_shape=_sizes(for_arrays["sample_shape"], "--sample-shape", 2, 3),
        order=order.value if order else "C",
        max_memory=max_memory,
    )


def _sizes(text: str | None, option: str, least: int, most: int) -> Any:
    """Read '48x64' as (48, 64), and a single number as two equal numbers."""
    if text is None:
        return None
    parts = text.lower().split("x")
    whole = all(part.isdecimal() and 0 < int(part) <= _LARGEST for part in parts)
    if not whole or not least <= len(parts) <= most:
        example = "64 or 48x64" if least == 1 else "32x32"
        raise typer.BadParameter(
            f"expected sizes up to {_LARGEST}, such as {example}, got "
            f"{text or 'nothing'}",
            param_hint=option,
        )
    numbers = tuple(int(part) for part in parts)
    return numbers * 2 if len(numbers) == 1 else numbers
