"""Cluster a collection and write a folder of results; predict; write reports."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from twofold.app.collection import (
    Collection,
    Reading,
    Source,
    check_collection,
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
    save_samples,
    search_table,
    sort_files,
)
from twofold.app.report import (
    LARGEST_REPORT,
    near_duplicates,
    read_report,
    render,
    summarize,
)
from twofold.app.results import (
    Assignments,
    aligned,
    assign_new,
    assign_trained,
    filled_in,
    typical_orders,
    typicality,
)
from twofold.app.threads import suitable_threads
from twofold.estimators import load_model, save_model
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.tsnmf import TSNMF
from twofold.io.arrays import unflatten
from twofold.io.staging import bring_back, staged_file, staged_folder
from twofold.progress import report


def read(
    source: Source, reading: Reading | None = None, *, labels: str | None = None
) -> Collection:
    """Read a collection with thumbnails, and report each file that is read."""
    return read_collection(source, reading, labels=labels, thumbnails=True)


def cluster(
    collection: Collection,
    model: TSNMF | AutoTSNMF,
    folder: str | Path,
    *,
    sort: str | None = None,
    force: bool = False,
) -> Path:
    """Fit a model to a collection and write a folder of results.

    The stages "searching", "fitting" and "writing" are reported, see
    ``twofold.progress``.

    Parameters
    ----------
    collection : Collection
        Samples.
    model : TSNMF or AutoTSNMF
        Model to fit. For a search, the results describe its best model, and include a
        table of the search.
    folder : str or Path
        Folder of results, which appears when all of its files are written.
    sort : {"copy", "link"} or None, default=None
        Whether the image files are copied, or linked to, in a folder per cluster.
    force : bool, default=False
        Whether a folder of an earlier run is replaced.

    Returns
    -------
    Path
        Path of the page.
    """
    folder = Path(folder)
    check_apart(collection.paths, folder)
    check_folder(folder, force=force)
    if sort not in (None, "copy", "link"):
        raise ValueError(f"sort must be 'copy', 'link' or None, got {sort!r}")
    if sort and not collection.paths:
        raise ValueError(f"sort={sort!r} needs image files, and there are none")
    missing_values = _base_model(model).missing_values
    check_collection(collection, missing_values, fitted=True)
    with suitable_threads(len(collection.images)):
        _fit(model, collection)
        _write(collection, model, folder, sort, force=force)
    return folder / "report.html"


def fitted_model(model: TSNMF | AutoTSNMF) -> TSNMF:
    """Return the model itself, or the best model of a search."""
    return model.best_estimator_ if isinstance(model, AutoTSNMF) else model


def _base_model(model: TSNMF | AutoTSNMF) -> TSNMF:
    """Return the model itself, or the base model of a search."""
    if isinstance(model, AutoTSNMF):
        return model.base_estimator()
    return model


def _fit(model: TSNMF | AutoTSNMF, collection: Collection) -> None:
    """Fit a model; report its stage before the first candidate or iteration."""
    if isinstance(model, AutoTSNMF):
        report("searching", 0, 0)
    else:
        report("fitting", 0, model.max_iter)
    model.fit(collection.images)


def _write(
    collection: Collection,
    model: TSNMF | AutoTSNMF,
    folder: Path,
    sort: str | None,
    *,
    force: bool,
) -> None:
    """Write the folder of results of a fitted model; parameters as for ``cluster``."""
    is_search = isinstance(model, AutoTSNMF)
    fills_in = _base_model(model).missing_values is not None
    # Optional files, and the five that are always reported by ``_write_files``.
    total = 5 + sum(map(bool, (sort, fills_in, is_search)))
    with _writing_to(folder), staged_folder(folder, replace=force) as new:
        files = _write_files(collection, model, folder, new, sort)
        for done, file in enumerate(files):
            report("writing", done, total, file=file)
        # The folder may have been filled by another program since the first check.
        check_folder(folder, force=force)
        report("writing", total, total)


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """Name ``folder`` in the errors of the operating system."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # raised by twofold, with a complete message
            raise
        what = f" ({error.filename})" if error.filename else ""
        raise OSError(
            f"{folder} could not be written: {error.strerror}{what}; nothing was kept"
        ) from error


def _write_files(
    collection: Collection,
    given: TSNMF | AutoTSNMF,
    folder: Path,
    new: Path,
    sort: str | None,
) -> Iterator[str]:
    """Write the files to ``new``, and yield the name of each before it is written."""
    model = fitted_model(given)
    search = given if isinstance(given, AutoTSNMF) else None
    yield "assignments.csv"
    images, missing = filled_in(model, collection.images)
    collection = replace(collection, images=images, missing=missing)
    assignments = assign_trained(model, images, missing)
    typical = typicality(aligned(model, images), assignments.clusters)
    origin = Origin.of(collection, typical_orders(assignments.clusters, typical))
    nearest = origin.nearest(model, assignments)
    rows = assignment_rows(collection.names, assignments, nearest)
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
        files, clusters = collection.paths, assignments.clusters
        paths = sort_files(new / SORTED, files, clusters, sort, collection.names)
        save_csv(new / "sorted.csv", ("path", "file"), paths)
    yield "report.json"
    parts = collection, model, assignments, typical, groups
    summary = summarize(*parts, folder, search)
    text = msgspec.json.encode(summary)
    (new / "report.json").write_bytes(text)
    yield "report.html"
    # Made from the file's text, so that ``rewrite_report`` gives the same page.
    page = render(read_report(text))
    (new / "report.html").write_text(page, encoding="utf-8")


def predict(
    path: Path,
    source: Source,
    *,
    key: str | None = None,
    max_memory: int | None = None,
) -> tuple[Collection, Assignments, list[str]]:
    """Assign new samples to the clusters of a saved model.

    Parameters
    ----------
    path : Path
        Folder of results, or the model file in it.
    source : str, Path or sequence of them
        Source as for ``read_collection``. It is read with the options with which the
        training samples were read.
    key : str or None, default=None
        Name of the array in an array file, if it differs from that of the training
        samples.
    max_memory : int or None, default=None
        Bytes that what is read may take; None chooses.

    Returns
    -------
    collection : Collection
        New samples.
    assignments : Assignments
        Assignments of the new samples.
    nearest : list of str
        Name of the nearest representative of each sample.
    """
    bring_back(path)
    bring_back(path.parent)  # the folder, if ``path`` is the file
    model, about = load_model(path)
    origin = Origin.from_dict(about, model)
    shape = model.sample_shape_
    if len(shape) == 1 and kind_of(source) == "images":
        raise ValueError(
            f"the model in {path} takes vectors of {shape[0]} entries, not images; "
            "name an array file"
        )
    reading = replace(origin.reading(model, key), max_memory=max_memory)
    collection = read_collection(source, reading)
    images = collection.images
    # Flat rows do not need --sample-shape again: the model has the shape.
    if images.ndim == 2 and images.shape[1] == math.prod(shape):
        images = unflatten(images, shape, origin.order)
    if images.shape[1:] != shape:
        needed, came = (" x ".join(map(str, s)) for s in (shape, images.shape[1:]))
        raise ValueError(
            f"samples of {source} must be {needed} for the model in {path}, got {came}"
        )
    collection = replace(collection, images=images)
    check_collection(collection, model.missing_values, fitted=False)
    with suitable_threads(len(images)):
        assignments = assign_new(model, images)
        return collection, assignments, origin.nearest(model, assignments)


def rewrite_report(folder: Path) -> Path:
    """Write the page of a folder of results again, from its ``report.json``."""
    bring_back(folder)
    source, page = folder / "report.json", folder / "report.html"
    if not source.is_file():
        raise FileNotFoundError(
            f"{folder} has no report.json; name a folder that twofold cluster wrote"
        )
    try:
        with source.open("rb") as file:
            text = render(read_report(file.read(LARGEST_REPORT + 1)))
    except ValueError as error:
        raise ValueError(
            f"{source}: {error}; make it again with twofold cluster"
        ) from error
    with _writing_to(page), staged_file(page) as partial:
        partial.write_text(text, encoding="utf-8")
    return page
