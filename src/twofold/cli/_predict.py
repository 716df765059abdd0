"""``twofold predict``."""

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from twofold.cli import _options as options
from twofold.cli._console import one_line_errors, say

_NAMED = 5
"""Skipped files that are named one by one."""


@one_line_errors
def predict(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="The folder that twofold cluster wrote."),
    ],
    source: options.Input,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV file to write. Default: print it."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is there.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write an object on a line for each image.")
    ] = False,
    key: options.Key = None,
) -> None:
    """Place new images among the clusters of a model.

    The columns are those of assignments.csv. Images are read as those of the model
    were; files that cannot be read are named on stderr.
    """
    from twofold import workflow
    from twofold._files import staged_file
    from twofold.outputs import (
        COLUMNS,
        assignment_rows,
        open_table,
        write_csv,
        write_json_lines,
    )

    if out is not None and out.exists() and not force:
        raise FileExistsError(f"{out} is there already; name another, or use --force")
    collection, found, nearest = workflow.predict(model, source, key=key)
    for name, reason in collection.skipped[:_NAMED]:
        say("Skipped", f"{name}: {reason}")
    if len(collection.skipped) > _NAMED:
        say("Skipped", f"{len(collection.skipped) - _NAMED} more files")
    rows = assignment_rows(collection.names, found, nearest)
    write = write_json_lines if as_json else write_csv
    if out is None:
        if isinstance(sys.stdout, io.TextIOWrapper):  # names that are no UTF-8
            sys.stdout.reconfigure(errors="surrogateescape")
        write(sys.stdout, COLUMNS, rows)
        return
    with staged_file(out) as partial, open_table(partial) as file:
        write(file, COLUMNS, rows)
