"""Cluster a collection and write a folder of results; predict; write reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec

from twofold.app.checks import check_collection
from twofold.app.collection import (
    Collection,
    Reading,
    Source,
    read_collection,
)
from twofold.app.network import choose, fit
from twofold.app.origin import Origin
from twofold.app.outputs import (
    COLUMNS,
    SORTED,
    assignment_rows,
    check_apart,
    check_folder,
    labels_of,
    save_csv,
    save_samples,
    search_table,
    sort_files,
)
from twofold.app.predictions import predicting
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
    assign_trained,
    filled_in,
    joined,
    tried_by,
    typical_orders,
    typicality,
)
from twofold.app.threads import suitable_threads
from twofold.channels import PIXELS, NetworkFeatures
from twofold.estimators import save_model
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.tsnmf import TSNMF
from twofold.io.staging import bring_back, staged_file, staged_folder
from twofold.progress import report


def read(
    source: Source,
    reading: Reading | None = None,
    *,
    labels: str | None = None,
    features: str | Path | None = None,
) -> Collection:
    """Read a collection with thumbnails, and report each file that is read."""
    return read_collection(
        source, reading, labels=labels, thumbnails=True, features=features
    )


class Clustered(NamedTuple):
    """What was clustered, and by what."""

    page: Path  # the report
    collection: Collection  # with features, if it was compared by these
    model: TSNMF | AutoTSNMF  # fitted


def cluster(
    collection: Collection,
    model: TSNMF | AutoTSNMF,
    folder: str | Path,
    *,
    network: NetworkFeatures | None = None,
    sort: str | None = None,
    force: bool = False,
) -> Clustered:
    """Fit a model to a collection and write a folder of results.

    The stages "features", "searching", "fitting" and "writing" are reported, see
    ``twofold.progress``.

    Parameters
    ----------
    collection : Collection
        Samples. If it has ``features``, these are what is clustered, and its images
        are what is shown.
    model : TSNMF or AutoTSNMF
        Model to fit. For a search, the results describe its best model, and include a
        table of the search. Of a model for features, which have no gradients, the
        channels become "pixels" if they are "auto".
    folder : str or Path
        Folder of results, which appears when all of its files are written.
    network : NetworkFeatures or None, default=None
        A network whose features are tried beside the images, if the model is a search:
        the clusters of which the graphs of both tell more are taken.
    sort : {"copy", "link"} or None, default=None
        Whether the image files are copied, or linked to, in a folder per cluster.
    force : bool, default=False
        Whether a folder of an earlier run is replaced.

    Returns
    -------
    Clustered
    """
    folder = Path(folder)
    check_apart(collection.paths, folder)
    check_folder(folder, force=force)
    if sort not in (None, "copy", "link"):
        raise ValueError(f"sort must be 'copy', 'link' or None, got {sort!r}")
    if sort and not collection.paths:
        raise ValueError(f"sort={sort!r} needs image files, and there are none")
    missing_values = _base_model(model).missing_values
    if collection.features is not None:
        _prepare_for_features(model)
    check_collection(collection, missing_values, fitted=True)
    if network is not None and isinstance(model, AutoTSNMF):
        collection, model = choose(collection, model, network)
    else:
        fit(model, collection)
    with suitable_threads(len(collection.images)):
        _write(collection, model, folder, sort, force=force)
    return Clustered(folder / "report.html", collection, model)


def fitted_model(model: TSNMF | AutoTSNMF) -> TSNMF:
    """Return the model itself, or the best model of a search."""
    return model.best_estimator_ if isinstance(model, AutoTSNMF) else model


def _base_model(model: TSNMF | AutoTSNMF) -> TSNMF:
    """Return the model itself, or the base model of a search."""
    if isinstance(model, AutoTSNMF):
        return model.base_estimator()
    return model


def _prepare_for_features(model: TSNMF | AutoTSNMF) -> None:
    """Take the features as they are; raise for what only images have."""
    base = _base_model(model)
    wrong = {
        "missing_values": base.missing_values is not None,
        "align": base.align is not False,
        "channels": model.channels not in ("auto", PIXELS, [PIXELS], (PIXELS,)),
    }
    for name in (name for name, is_wrong in wrong.items() if is_wrong):
        raise ValueError(
            f"{name} must be left at its default with features, which are compared as "
            f"they are, got {getattr(base if name != 'channels' else model, name)!r}"
        )
    model.set_params(channels=PIXELS)


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
    samples, missing = filled_in(model, collection.samples)
    if collection.features is None:  # of features, nothing is missing
        collection = replace(collection, images=samples, missing=missing)
    assignments = assign_trained(model, samples, missing)
    typical = typicality(aligned(model, samples), assignments.clusters)
    origin = Origin.of(collection, typical_orders(assignments.clusters, typical))
    nearest = origin.nearest(model, assignments)
    rows = assignment_rows(collection.names, assignments, nearest)
    save_csv(new / "assignments.csv", COLUMNS, rows)
    save_csv(new / "skipped.csv", ("path", "reason"), collection.skipped)
    yield "duplicates.csv"
    groups = near_duplicates(collection.samples)
    lines = [(g, collection.names[i]) for g, group in enumerate(groups) for i in group]
    save_csv(new / "duplicates.csv", ("group", "path"), lines)
    yield "model.safetensors"
    save_model(model, new, about=origin.as_dict())
    if model.missing_values is not None:
        yield "completed.npy"
        save_samples(new / "completed.npy", collection.images)
    if search is not None:
        yield "search.csv"
        columns = tried_by(search, collection)
        save_csv(new / "search.csv", *search_table(columns))
    if sort:
        yield SORTED
        files, clusters = collection.paths, labels_of(assignments)
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
    features: str | Path | None = None,
    network: str | None = None,
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
    features : str, Path or None, default=None
        Array file with the features of the samples, as for ``read_collection``, for a
        model that was fitted to features.
    network : str or None, default=None
        Name of the network, for a model that was fitted to features of another one than
        the default.
    key : str or None, default=None
        Name of the array in an array file, if it differs from that of the training
        samples; or of the features, if ``source`` is no array file.
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
    with predicting(
        path,
        source,
        features=features,
        network=network,
        key=key,
        max_memory=max_memory,
        whole=True,
    ) as (collection, blocks):
        _, parts, nearest = zip(*blocks, strict=True)
        return collection, joined(parts), [*chain.from_iterable(nearest)]


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
