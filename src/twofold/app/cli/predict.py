"""``twofold predict``."""

import io
import sys
from collections.abc import Iterable
from itertools import chain, starmap
from pathlib import Path
from typing import Annotated, Any

import typer

from twofold.app.cli import options
from twofold.app.cli.console import one_line_errors, say
from twofold.app.cli.model import with_options


@one_line_errors
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            parser=options.read_path,
            help="The folder that twofold cluster wrote.",
        ),
    ],
    sources: options.Inputs,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=options.read_path,
            help="A CSV file to write. Default: print it.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is there.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write an object on a line for each image.")
    ] = False,
    features: options.FeaturesFile = None,
    network: options.NetworkName = None,
    key: options.Key = None,
    max_memory: options.MaxMemory = None,
) -> None:
    """Assign new images to the clusters of a model.

    The columns are those of assignments.csv. Images are read as those of the model
    were; files that cannot be read are named on stderr. A model of features takes those
    of the new images, by --features. The default network of a model is found by itself,
    any other one is named by --network.
    """
    from twofold.app.outputs import assignment_rows
    from twofold.app.predictions import predicting

    if out is None and sys.stdout is None:
        raise ValueError("the standard output is closed; name a file with --out")
    if out is not None:
        read = [model, *map(Path, sources)]
        _check_file(out, read if features is None else [*read, features], force)
    source = sources[0] if len(sources) == 1 else sources
    if features is None:
        options.check_kind(source, {"key": key}, "array")
    try:
        with predicting(
            model,
            source,
            features=features,
            network=network,
            key=key,
            max_memory=max_memory,
        ) as (collection, blocks):
            for name, reason in collection.skipped:
                say("Skipped", f"{name}: {reason}")
            rows = chain.from_iterable(starmap(assignment_rows, blocks))
            _write(rows, out, as_json)
    except ValueError as error:
        raise ValueError(with_options(str(error))) from error


def _write(rows: Iterable[Any], out: Path | None, as_json: bool) -> None:
    """Write the table to a file or to stdout."""
    from twofold.app.outputs import COLUMNS, open_table, write_csv, write_json_lines
    from twofold.io.staging import staged_file

    write = write_json_lines if as_json else write_csv
    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):  # the same bytes as in a file
            sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
        write(sys.stdout, COLUMNS, rows)
        return
    with staged_file(out) as partial, open_table(partial) as file:
        write(file, COLUMNS, rows)


def _check_file(out: Path, sources: list[Path], force: bool) -> None:
    """Raise an error if the table cannot be written or would replace an input."""
    from twofold.io.staging import check_room

    if out.is_dir():
        raise IsADirectoryError(f"--out {out} is a folder; name a file")
    if out.exists() and not force:
        raise FileExistsError(f"{out} is there already; name another, or use --force")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"--out {out}: there is no folder {out.parent}")
    try:
        check_room(out)
    except OSError as error:
        raise OSError(
            f"--out {out} cannot be written: {error.strerror}; name another file"
        ) from error
    targets = out.resolve(), out.resolve().parent
    if any(source.resolve() in targets for source in sources):
        raise ValueError(f"--out {out} must not be in what is read; name another file")
