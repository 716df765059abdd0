"""From a collection to a folder of results."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from twofold.app.collection import (
    Collection,
    Reading,
    Source,
    check_entries,
    kind_of,
    read_collection,
)
from twofold.app.origin import Origin
from twofold.app.outputs import (
    COLUMNS,
    SORTED,
    assignment_rows,
    check_apart,
    check_folder,
    save_csv,
    save_json,
    save_samples,
    search_table,
    sort_files,
)
from twofold.app.report import near_duplicates, render, summarize
from twofold.app.results import (
    Assignments,
    assign_new,
    assign_trained,
    filled_in,
    typical_orders,
    typicality,
)
from twofold.estimators import load_model, save_model
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.tsnmf import TSNMF
from twofold.io.arrays import unflatten
from twofold.io.safe_json import read_json
from twofold.io.staging import staged_file, staged_folder
from twofold.progress import Event, listening


@dataclass(frozen=True)
class Step:
    """What is being done.

    Attributes
    ----------
    stage : {"reading", "searching", "fitting", "writing"}
    done, total : int
        Files read, settings looked at, iterations run (both of at most ``total``) or
        files written. 0 in all where it is not known yet.
    facts : dict
        What else is known: the ``objective``, or the ``file`` that is being written.
    """

    stage: str
    done: int
    total: int
    facts: dict[str, Any] = field(default_factory=dict)


Tell = Callable[[Step], None]

_LARGEST_REPORT = 256 * 2**20
"""Bytes of a report.json, which is parsed as a whole."""


def nobody(step: Step) -> None:
    """For whom the steps do not matter."""


def read(
    source: Source,
    reading: Reading | None = None,
    *,
    labels: str | None = None,
    tell: Tell = nobody,
) -> Collection:
    """``read_collection`` with thumbnails, telling of each file."""

    def told(done: int, total: int) -> None:
        tell(Step("reading", done, total))

    return read_collection(
        source, reading, labels=labels, thumbnails=True, progress=told
    )


def cluster(
    collection: Collection,
    model: TSNMF | AutoTSNMF,
    folder: str | Path,
    *,
    sort: str | None = None,
    force: bool = False,
    tell: Tell = nobody,
) -> Path:
    """Fit a model to a collection and write all that there is to know of it.

    Parameters
    ----------
    collection : Collection
    model : TSNMF or AutoTSNMF
        Is fitted. What is written is of the best of a search, with a table of it.
    folder : str or Path
        Where to: it appears when everything in it is written.
    sort : {"copy", "link"} or None, default=None
        Whether the image files are copied, or linked to, in a folder per cluster.
    force : bool, default=False
        Whether a folder of an earlier run is replaced.
    tell : callable
        Called with each ``Step``.

    Returns
    -------
    Path
        Of the report.
    """
    folder = Path(folder)
    check_apart(collection.paths, folder)
    check_folder(folder, force=force)
    if sort not in (None, "copy", "link"):
        raise ValueError(f"sort must be 'copy', 'link' or None, got {sort!r}")
    if sort and not collection.paths:
        raise ValueError(f"sort={sort!r} needs image files, and there are none")
    missing_values = _given_model(model).missing_values
    check_entries(collection, missing_values)
    _fit(model, collection, tell)
    extras = (sort, missing_values is not None, isinstance(model, AutoTSNMF))
    total = 5 + sum(map(bool, extras))
    with _writing_to(folder), staged_folder(folder, replace=force) as new:
        files = _written(collection, model, folder, new, sort)
        for done, file in enumerate(files):
            tell(Step("writing", done, total, {"file": file}))
        check_folder(folder, force=force)
        tell(Step("writing", total, total))
    return folder / "report.html"


def fitted_model(model: TSNMF | AutoTSNMF) -> TSNMF:
    """The model itself, or the best of a search."""
    return model.best_estimator_ if isinstance(model, AutoTSNMF) else model


def _given_model(model: TSNMF | AutoTSNMF) -> TSNMF:
    """The model itself, or what a search starts from."""
    if isinstance(model, AutoTSNMF):
        return model.base_estimator()
    return model


def _fit(model: TSNMF | AutoTSNMF, collection: Collection, tell: Tell) -> None:
    """Fit a model, telling of its looks at settings and of its iterations."""
    most = _given_model(model).max_iter

    def listener(event: Event) -> None:
        tell(Step(event.stage, event.done, event.total, event.facts))

    if isinstance(model, AutoTSNMF):
        tell(Step("searching", 0, 0))
    else:
        tell(Step("fitting", 0, most))
    with listening(listener):
        model.fit(collection.images)


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """Let the system's errors say what could not be written."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # one of ours, which says it
            raise
        what = f" ({error.filename})" if error.filename else ""
        raise OSError(
            f"{folder} could not be written: {error.strerror}{what}; nothing was kept"
        ) from error


def _written(
    collection: Collection,
    given: TSNMF | AutoTSNMF,
    folder: Path,
    new: Path,
    sort: str | None,
) -> Iterator[str]:
    """Write the files into ``new``, naming each before it is begun."""
    model = fitted_model(given)
    search = given if isinstance(given, AutoTSNMF) else None
    yield "assignments.csv"
    images, missing = filled_in(model, collection.images)
    collection = replace(collection, images=images, missing=missing)
    found = assign_trained(model, images, missing)
    typical = typicality(collection.images, found.clusters)
    origin = Origin.of(collection, typical_orders(found.clusters, typical))
    rows = assignment_rows(collection.names, found, origin.nearest(model, found))
    save_csv(new / "assignments.csv", COLUMNS, rows)
    save_csv(new / "skipped.csv", ("path", "reason"), collection.skipped)
    yield "duplicates.csv"
    groups = near_duplicates(collection.images)
    lines = [(g, collection.names[i]) for g, group in enumerate(groups) for i in group]
    save_csv(new / "duplicates.csv", ("group", "path"), lines)
    yield "model.safetensors"
    save_model(model, new, about=origin.as_dict())
    if model.missing_values is not None:
        yield "completed.npy"
        save_samples(new / "completed.npy", collection.images)
    if search is not None:
        yield "search.csv"
        save_csv(new / "search.csv", *search_table(search.search_results_))
    if sort:
        yield SORTED
        placed = sort_files(new / SORTED, collection.paths, found.clusters, sort)
        save_csv(new / "sorted.csv", ("path", "file"), placed)
    yield "report.json"
    summary = summarize(collection, model, found, typical, groups, folder, search)
    save_json(new / "report.json", summary)
    yield "report.html"
    (new / "report.html").write_text(render(summary), encoding="utf-8")


def predict(
    path: Path, source: Source, *, key: str | None = None
) -> tuple[Collection, Assignments, list[str]]:
    """Place new samples among the clusters of a saved model.

    Parameters
    ----------
    path : Path
        A folder of results, or the model file in it.
    source : str, Path or sequence of them
        As for ``read_collection``; read as the samples of the model were.
    key : str or None, default=None
        The array in an array file, where it has another name there.

    Returns
    -------
    collection : Collection
    found : Assignments
    nearest : list of str
        The name of the representative that is nearest to each sample.
    """
    model, about = load_model(path)
    origin = Origin.from_dict(about, model)
    wanted = model.sample_shape_
    if len(wanted) == 1 and kind_of(source) == "images":
        raise ValueError(
            f"the model in {path} takes vectors of {wanted[0]} entries, not images; "
            "name an array file"
        )
    collection = read_collection(source, origin.reading(model, key))
    images = collection.images
    if images.ndim == 2 and images.shape[1] == math.prod(wanted):
        images = unflatten(images, wanted, origin.order)
    if images.shape[1:] != wanted:
        needed, came = (" x ".join(map(str, s)) for s in (wanted, images.shape[1:]))
        raise ValueError(
            f"samples of {source} must be {needed} for the model in {path}, got {came}"
        )
    collection = replace(collection, images=images)
    check_entries(collection, model.missing_values)
    found = assign_new(model, images)
    return collection, found, origin.nearest(model, found)


def rewrite_report(folder: Path) -> Path:
    """Make the page of a folder of results anew, from its ``report.json``."""
    source, page = folder / "report.json", folder / "report.html"
    if not source.is_file():
        raise FileNotFoundError(
            f"{folder} has no report.json; name a folder that twofold cluster wrote"
        )
    try:
        with source.open("rb") as file:
            text = render(read_json(file, _LARGEST_REPORT))
    except ValueError as error:
        raise ValueError(
            f"{source}: {error}; make it again with twofold cluster"
        ) from error
    with _writing_to(page), staged_file(page) as partial:
        partial.write_text(text, encoding="utf-8")
    return page
