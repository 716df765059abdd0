"""Progress of long computations: events, and the listener of a context.

Fits, searches, readers and the protocol report events. Whoever wants to show progress
listens within a context; the code in between passes nothing on.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """One step of a long computation.

    Attributes
    ----------
    stage : str
        Name of the computation, such as "fitting".
    done, total : int
        Number of finished steps, and their total number or an upper bound of it; both
        are 0 as long as the total is not known.
    facts : dict
        Further values, such as the ``objective``.
    """

    stage: str
    done: int
    total: int
    facts: dict[str, Any] = field(default_factory=dict)


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
