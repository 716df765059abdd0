"""``twofold cluster`` and ``predict`` on 2,000 image files, and a few broken ones."""

import csv
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pages

MARKER = "<!-- measured by benchmarks/folder.py -->"
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "digit_files.py"
COUNT = 2000


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
