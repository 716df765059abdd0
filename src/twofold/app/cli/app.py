"""The ``twofold`` command."""

import io
import signal
import sys
from typing import Annotated, Any

import typer

import twofold
from twofold.app.cli import cluster, datasets, predict, report, reproduce
from twofold.app.cli.console import UsageError, debugging, say

app = typer.Typer(
    name="twofold",
    help="Clusters collections of matrices, such as images, without flattening them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(cluster.cluster)
app.command()(predict.predict)
app.command()(report.report)
app.command()(datasets.datasets)
app.command()(cluster.demo)
app.add_typer(reproduce.app, name="reproduce")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"twofold {twofold.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and stop.",
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error.")
    ] = False,
) -> None:
    debugging.set(debug)


def main() -> None:
    """Run the command line: exit 0, 1 for a failure, 2 for usage, 130 for Ctrl-C."""
    signal.signal(signal.SIGTERM, _stop)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not every one can show every name
            stream.reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:] or ["--help"]
    if "--debug" in arguments:  # where people add it
        arguments.remove("--debug")
        arguments.insert(0, "--debug")
    try:
        code = app(arguments, prog_name="twofold", standalone_mode=False)
    except UsageError as error:
        say("Error", _usage_text(error))
        code = 2
    sys.exit(code)


def _usage_text(error: Any) -> str:
    """What is wrong, and where to look, on one line."""
    command = error.ctx.command_path if error.ctx else "twofold"
    text = " ".join(error.format_message().split())
    return f"{text.rstrip('.')}; see {command} --help"


def _stop(*_: object) -> None:
    """Do as on Ctrl-C, since batch systems ask a job to end in this way."""
    raise KeyboardInterrupt
