"""The command as a user runs it, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def environment(**variables):
    """That of the tests, with wide lines and the modules in tests/reproduce."""
    path = [str(TESTS / "reproduce"), os.environ.get("PYTHONPATH", "")]
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
    )
