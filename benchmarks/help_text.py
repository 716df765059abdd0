"""The help of every command and the kinds of graphs, for docs/command-line.md."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pages
import typer

from twofold.app.cli.app import app
from twofold.core.graphs import KINDS

MARKER = "<!-- measured by benchmarks/help_text.py -->"


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of a command, then of those below it, in the order of its help."""
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


def help_of(command: tuple[str, ...]) -> str:
    """What ``--help`` prints to a file, eighty characters wide."""
    done = subprocess.run(
        [sys.executable, "-m", "twofold", *command, "--help"],
        env={**os.environ, "COLUMNS": "80", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def report() -> str:
    sections = []
    for command in commands(typer.main.get_command(app)):
        name = " ".join(("twofold", *command))
        call = f"$ {name} --help"
        sections.append(f"### {name}\n\n```console\n{call}\n{help_of(command)}\n```")
    kinds = [f"| `{kind.name}` | {kind.description} |" for kind in KINDS.values()]
    head = ["### Kinds of graphs", "", "| `--graph` | edges |", "| --- | --- |"]
    return "\n\n".join([*sections, "\n".join([*head, *kinds])])


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)
