"""Damage files by a seed and read them, in processes that may die of it."""

import os
import pkgutil
import shutil
import subprocess
import sys
import time
from pathlib import Path

from fuzz.worker import keep

TESTS = Path(__file__).parents[1]


def campaign(crashes, *arguments, registry="fuzz.targets:TARGETS", seconds=1e9):
    """Run the worker with these arguments; return how many files failed and were read.

    A worker that dies is started again behind the file that it died of, which is kept
    as the others are: in the folder ``crashes``, with the reason beside it.
    """
    crashes = Path(crashes)
    begin, n_failed, n_read = 0, 0, 0
    end = time.monotonic() + seconds
    while True:
        left = max(end - time.monotonic(), 0)
        command = [sys.executable, "-m", "fuzz.worker", registry, str(crashes)]
        command += [*map(str, arguments), f"--seconds={left}", f"--begin={begin}"]
        path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
        ran = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        lines = ran.stdout.splitlines()
        done = [int(line.split()[1]) for line in lines if line.startswith("case")]
        n_failed += sum(line.startswith("failed") for line in lines)
        n_read += len(done)
        if ran.returncode == 0:
            shutil.rmtree(crashes / "current", ignore_errors=True)
            return n_failed, n_read
        if not done:  # it did not come to its first file
            raise RuntimeError(ran.stderr)
        n_failed += 1
        begin = done[-1] + 1
        name = (crashes / "current" / "target").read_text()
        target = pkgutil.resolve_name(registry)[name]
        content = (crashes / "current" / "content").read_bytes()
        reason = f"exit code {ran.returncode}\n{ran.stderr[-5000:]}"
        keep(crashes, name, target, content, reason)
