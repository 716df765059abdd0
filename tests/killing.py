"""Processes that are killed at any of the things that they do to the file system."""

import itertools
import os
import signal
import sys
import traceback
import warnings
from pathlib import Path

import pytest

EVENTS = ("open", "os.", "shutil.", "tempfile.", "ctypes.")
"""Beginnings of the names of the audit events that are counted.

An event comes before what it tells of. Writing and flushing have none; what is written
is hidden until it is renamed, which has. An exchange is between two events of ctypes
and the next one of the file system.
"""

needs_kills = pytest.mark.skipif(
    not (hasattr(os, "fork") and hasattr(signal, "SIGKILL")),
    reason="needs fork and SIGKILL",
)


def killed(action, due):
    """Do something in a process that is killed at an event, before what it tells of.

    ``due(event, arguments)`` says at which. Return whether it was killed: False means
    that no event was due.
    """
    with warnings.catch_warnings():
        # The threads of the test runner, of which the new process needs none.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        _die(action, due)
    _, status = os.waitpid(process, 0)
    was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert was_killed or status == 0, "it failed by itself"
    return was_killed


def second_rename(event, arguments):
    """Whether a replacement in two steps is between them."""
    return event == "os.rename" and Path(arguments[0]).name == "new"


def _die(action, due):
    """Kill this process at an event, or end it after the action."""

    def hook(event, arguments):
        if due(event, arguments):
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(hook)
        action()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def kills(prepare, action):
    """Yield, for each event of an action, what was prepared once it was killed there.

    ``prepare(number)`` makes a fresh place, on which the action is done. The last one
    that is yielded is that of an action which was not killed.
    """
    was_killed, number = True, 0
    while was_killed:
        number += 1
        place, left = prepare(number), itertools.count(number - 1, -1)
        was_killed = killed(
            lambda place=place: action(place),
            lambda event, _, left=left: event.startswith(EVENTS) and next(left) == 0,
        )
        yield place
