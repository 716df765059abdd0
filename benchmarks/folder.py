"""``twofold cluster`` and ``predict`` on 2,000 image files, and a few broken ones."""

import csv
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import pages

from twofold import TSNMF, AutoTSNMF
from twofold.app import workflow
from twofold.app.report.map import layout
from twofold.app.results import projected
from twofold.app.threads import suitable_threads

MARKER = "<!-- measured by benchmarks/folder.py -->"
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "digit_files.py"
COUNT = 2000
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(*command: str, folder: Path) -> tuple[str, float]:
    """What a Python program prints, and the seconds that it takes."""
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip(), time.perf_counter() - begin


def cpu_seconds(command: tuple[str, ...], folder: Path, env: dict[str, str]) -> float:
    """The seconds that all cores together spend on a Python program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        check=True,
        capture_output=True,
        env={**free_threads(), **env},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def free_threads() -> dict[str, str]:
    """The environment, without limits on threads."""
    return {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}


def fit_and_map(folder: Path) -> tuple[float, float, float]:
    """The CPU seconds of the search, of one fit at the defaults, and of its map."""
    images = workflow.read(folder / "digits").images
    times = [time.process_time()]
    with suitable_threads(len(images)):
        AutoTSNMF(10, random_state=0).fit(images)
        times.append(time.process_time())
        model = TSNMF(10, random_state=0).fit(images)
        times.append(time.process_time())
        layout(projected(model, images))
        times.append(time.process_time())
    search, fit, plane = (b - a for a, b in pairwise(times))
    return search, fit, plane


def report() -> str:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run(str(EXAMPLE), "digits", str(COUNT), folder=folder)
        options = ("-k", "10", "--labels", "folders", "--sort", "copy")
        printed, seconds = run(
            *("-m", "twofold", "cluster", "digits", *options), folder=folder
        )
        results = folder / "digits-clusters"
        sizes = [
            f"| `{path.name}` | {path.stat().st_size / 1e6:.2f} |"
            for path in sorted(results.iterdir())
            if path.is_file()
        ]
        table, again = run(
            *("-m", "twofold", "predict", "digits-clusters", "digits"), folder=folder
        )
        agreement = agreeing(table, (results / "assignments.csv").read_text())
        search, fit, plane = fit_and_map(folder)
        command = ("-m", "twofold", "cluster", "digits", *options, "--force")
        default, single = (
            cpu_seconds(command, folder, env) for env in ({}, ONE_THREAD)
        )
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    call = f"$ twofold cluster digits {' '.join(options)}"
    return "\n".join(
        [
            f"`make folder` on {machine}, with {COUNT:,} digits and six broken files "
            "made by `examples/digit_files.py`:",
            "",
            "```console",
            call,
            printed,
            "```",
            "",
            f"took {seconds:.1f} s. `twofold predict` on the same folder took "
            f"{again:.1f} s and gave {agreement:,} of the {COUNT:,} images the cluster "
            "that they have in `assignments.csv`.",
            "",
            f"All cores together spend {default:.1f} s on `twofold cluster`, and "
            f"{single:.1f} s where the environment allows one thread alone: "
            f"{default / single:.2f} times as much. The search takes {search:.1f} s of "
            f"it, and the map {plane:.1f} s; a single fit, at the defaults, would take "
            f"{fit:.1f} s.",
            "",
            "| file | MB |",
            "| --- | --- |",
            *sizes,
        ]
    )


def agreeing(first: str, second: str) -> int:
    """How many rows of two tables name the same cluster."""
    tables = [list(csv.DictReader(text.splitlines(True))) for text in (first, second)]
    pairs = list(zip(*tables, strict=True))
    assert all(a["path"] == b["path"] for a, b in pairs)
    return sum(a["cluster"] == b["cluster"] for a, b in pairs)


if __name__ == "__main__":
    options = pages.parser(__doc__).parse_args()
    pages.publish(report(), MARKER, options.into)
