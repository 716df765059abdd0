"""The command line: it parses, calls the library and prints."""

from twofold.cli._app import main

__all__ = ["main"]
