"""The command line: parse arguments, call the library, print results."""

from twofold.app.cli.app import main

__all__ = ["main"]
