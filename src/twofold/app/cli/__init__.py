"""The command line: it parses, calls the library and prints."""

from twofold.app.cli.app import main

__all__ = ["main"]
