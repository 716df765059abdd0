"""The ``twofold`` command."""

import io
import signal
import sys
from typing import Annotated, Any

import typer

import twofold
from twofold.app.cli import cluster, datasets, predict, report, reproduce
from twofold.app.cli.console import UsageError, debugging, reason_of, say

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


def _print_version(requested: bool) -> None:
    if requested:
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
    """Run the command line; exit codes: 0, 1 failure, 2 usage, 130 interrupted."""
    signal.signal(signal.SIGTERM, _stop)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # its encoding may lack characters
            stream.reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:] or ["--help"]
    if "--debug" in arguments:  # also accepted after the command
        arguments.remove("--debug")
        arguments.insert(0, "--debug")
    try:
        code = app(arguments, prog_name="twofold", standalone_mode=False)
    except UsageError as error:
        say("Error", _usage_text(error))
        code = 2
    except OSError as error:  # the help or the version could not be printed
        if isinstance(error, BrokenPipeError) or "--debug" in arguments:
            raise
        say("Error", reason_of(error))
        code = 1
    sys.exit(code)


def _usage_text(error: Any) -> str:
    """Return the message of a usage error, with a pointer to the help, on one line."""
    command = error.ctx.command_path if error.ctx else "twofold"
    text = " ".join(error.format_message().split())
    return f"{text.rstrip('.')}; see {command} --help"


def _stop(*_: object) -> None:
    """Handle SIGTERM like Ctrl-C, because batch systems end jobs with it."""
    raise KeyboardInterrupt
