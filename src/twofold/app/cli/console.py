"""Printing and error handling of all commands."""

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

import typer
from rich.console import Console

output = Console()
errors = Console(stderr=True)

debugging = ContextVar("debugging", default=False)
"""Whether errors show a traceback."""

UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""Base class of the parser's errors: click's, or that of the copy inside typer."""

P = ParamSpec("P")
T = TypeVar("T")


def one_line_errors(command: Callable[P, T]) -> Callable[P, T]:
    """Decorate a command so that a failure prints one line and sets an exit code.

    A traceback is shown only with ``--debug``. Warnings are lines on stderr too.
    """

    @functools.wraps(command)
    def shown(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with _plain_warnings():
                return command(*args, **kwargs)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except (typer.Exit, UsageError, BrokenPipeError):
            raise
        except Exception as failure:
            if debugging.get():
                raise
            say("Error", reason_of(failure))
            raise typer.Exit(1) from None

    return shown


def reason_of(failure: Exception) -> str:
    """Return the text of a failure for a user."""
    if isinstance(failure, MemoryError):
        about = f" ({failure})" if str(failure) else ""
        return f"out of memory{about}; give fewer or smaller samples"
    if isinstance(failure, OSError) and failure.strerror:  # of the operating system
        where = failure.filename or "the output could not be written"
        return f"{where}: {failure.strerror}"
    expected = isinstance(failure, ValueError | OSError | RuntimeError | ImportError)
    return str(failure) if expected else f"{type(failure).__name__}: {failure}"


def say(kind: str, text: str) -> None:
    """Print a line to stderr that begins with its kind, such as "Error"."""
    _print_line(errors, f"{kind}: {text}")


def tell(text: str) -> None:
    """Print a line to stdout."""
    _print_line(output, text)


def _print_line(console: Console, text: str) -> None:
    """Print one line; line breaks and other control characters are escaped."""
    # A file name may contain escape sequences that would control the terminal.
    safe = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )
    console.print(safe, markup=False, highlight=False, emoji=False, soft_wrap=True)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings as lines on stderr."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say("Warning", str(message))
        yield
