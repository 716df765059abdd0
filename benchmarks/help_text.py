"""The help of every command, for docs/command-line.md."""

import os
import subprocess
import sys

import pages

MARKER = "<!-- measured by benchmarks/help_text.py -->"

COMMANDS = (
    (),
    ("cluster",),
    ("predict",),
    ("report",),
    ("datasets",),
    ("demo",),
    ("reproduce",),
    ("reproduce", "merge"),
)


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
    for command in COMMANDS:
        name = " ".join(("twofold", *command))
        call = f"$ {name} --help"
        sections.append(f"### {name}\n\n```console\n{call}\n{help_of(command)}\n```")
    return "\n\n".join(sections)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)
