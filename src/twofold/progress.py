"""Progress of long computations: events, and the listener of a context.

Fits, searches, readers and the protocol report events to the listener of their context,
so that the code in between has no arguments for progress.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """One step of a long computation."""

    stage: str  # name of the computation, such as "fitting"
    done: int  # number of finished steps
    total: int  # number of steps or an upper bound; 0, as done, while it is not known
    facts: dict[str, Any] = field(default_factory=dict)  # such as the objective


Listener = Callable[[Event], None]

_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` with the events that are reported in this context.

    Events of other threads do not reach it. An exception of the listener ends the
    computation.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(stage: str, done: int, total: int, **facts: Any) -> None:
    """Report an event to the listener of this context, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(Event(stage, done, total, facts))
