"""The ``twofold`` command."""

import signal
from typing import Annotated

import typer

import twofold
from twofold.cli import _reproduce
from twofold.cli._console import debugging

app = typer.Typer(
    name="twofold",
    help="Clusters collections of matrices, such as images, without flattening them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(_reproduce.app, name="reproduce")


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
    app()


def _stop(*_: object) -> None:
    """Do as on Ctrl-C, since batch systems ask a job to end in this way."""
    raise KeyboardInterrupt
