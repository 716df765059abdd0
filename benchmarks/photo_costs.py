"""What ``twofold cluster`` of photos takes, in time and in memory."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from photo_folders import PICTURES, crops, data_folder

COUNTS = (512, 1024, 2048)
"""Numbers of made photos, of sixteen kinds."""

FEATURES = 7 * 7 * 512 * 4 / 1e6
"""MB of the features of a photo, in single precision."""


class Cost(NamedTuple):
    """What a process took."""

    seconds: float
    megabytes: float  # the most that it held at any time


def cost_of(folder: Path, k: int, out: Path, cache: Path) -> Cost:
    """What the command takes, with a cache folder of its own."""
    command = [sys.executable, "-m", "twofold", "cluster", str(folder), "-k", str(k)]
    options = ["--out", str(out), "--force", "--quiet"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    begin = time.perf_counter()
    process = subprocess.Popen([*command, *options], env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Cost(time.perf_counter() - begin, usage.ru_maxrss / 1024)


def twice(folder: Path, k: int, place: Path) -> tuple[Cost, Cost]:
    """What the command takes at first, and when all features are kept."""
    cache = place / f"{folder.name}-cache"
    first, second = (
        cost_of(folder, k, place / f"{folder.name}-clusters", cache) for _ in range(2)
    )
    return first, second


def row(name: str, n: int, found: tuple[Cost, Cost]) -> str:
    cells = [f"{each.seconds:.1f}" for each in found]
    cells += [f"{each.megabytes:,.0f}" for each in found]
    print(name, n, *cells, flush=True)
    return f"| {name}, {n:,} | {' | '.join(cells)} | {FEATURES * n:,.0f} |"


def costs(place: Path, cache: str, n_jobs: int, only: list[str] | None) -> str:
    """Time and memory of the command, by the number of photos."""
    clothing = data_folder() / "photos" / "clothing"
    rows = [row("clothing", 700, twice(clothing, 10, place))]
    peaks = []
    for n in COUNTS:
        folder = place / f"photos-{n}"
        crops(PICTURES, n // len(PICTURES), 0.2, 0.5, 5)(folder)
        found = twice(folder, len(PICTURES), place)
        peaks.append(found[1].megabytes)
        rows.append(row("made", n, found))
    each = (peaks[-1] - peaks[0]) / (COUNTS[-1] - COUNTS[0])
    return "\n".join(
        [
            "| photos | seconds | the second time | peak MB | the second time "
            "| MB of features |",
            "| --- " * 6 + "|",
            *rows,
            "",
            f"From {COUNTS[0]:,} to {COUNTS[-1]:,} photos each one more takes "
            f"{1000 * each:,.0f} kB, {each / FEATURES:.1f} times its features.",
        ]
    )
