"""The command as a user runs it, in a process of its own or in that of the tests."""

import io
import os
import signal
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from twofold.app.cli import main

TESTS = Path(__file__).parent


def environment(**variables):
    """That of the tests, with wide lines and the modules in tests/paper."""
    path = [str(TESTS / "paper"), os.environ.get("PYTHONPATH", "")]
    own = {"PYTHONPATH": os.pathsep.join(filter(None, path)), "COLUMNS": "200"}
    return {**os.environ, **own, **variables}


def twofold(*arguments, folder, **variables):
    """Run it to its end."""
    return subprocess.run(
        [sys.executable, "-m", "twofold", *map(str, arguments)],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
    )


def begin(*arguments, folder, **variables):
    """Start it, its output being pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "twofold", *map(str, arguments)],
        cwd=folder,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )


def hear_interrupts():
    """Ctrl-C is ignored in what a shell runs in the background, such as these tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def inside(*arguments, folder, encoding=None, **variables):
    """Run it to its end in this process, where it need not be imported again.

    Its output is text, of an ``encoding`` if one is given.
    """
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding) if encoding else io.StringIO()
        for _ in range(2)
    )
    before = signal.getsignal(signal.SIGTERM)
    try:
        with (
            mock.patch.object(sys, "argv", ["twofold", *map(str, arguments)]),
            mock.patch.object(sys, "path", [str(TESTS / "paper"), *sys.path]),
            mock.patch.dict(os.environ, variables),
            chdir(folder),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            main()
            raise AssertionError("it has not exited")
    except SystemExit as end:
        code = end.code or 0
    finally:
        signal.signal(signal.SIGTERM, before)
    for stream in (out, err):
        stream.seek(0)
    return subprocess.CompletedProcess(arguments, code, out.read(), err.read())
