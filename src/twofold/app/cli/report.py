"""``twofold report``."""

from pathlib import Path
from typing import Annotated

import typer

from twofold.app.cli import options
from twofold.app.cli.console import one_line_errors, tell


@one_line_errors
def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            parser=options.read_path,
            help="What twofold cluster has written.",
        ),
    ],
    open_report: options.Open = False,
) -> None:
    """Write the report of earlier results anew.

    It is made from report.json alone: nothing is fitted again and no image is read. An
    older report.html is replaced.
    """
    from twofold.app.workflow import rewrite_report

    page = rewrite_report(folder)
    tell(f"Report: {page}")
    if open_report:
        typer.launch(str(page))
