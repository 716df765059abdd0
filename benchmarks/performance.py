"""Time and memory of TSNMF beside its peers, and which goals they meet."""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pages
from perf_command import predict_many, run_commands
from perf_parts import (
    Bench,
    Results,
    compare,
    hold,
    keep_lists,
    read_machine,
    scale_up,
    search_all,
    sweep_weights,
)
from perf_tables import page

MARKER = "<!-- measured by benchmarks/performance.py -->"

PARTS: dict[str, tuple[str, Callable[[Bench], list[Any]]]] = {
    "orl": ("compared", lambda bench: compare(bench, "orl")),
    "eyaleb": ("compared", lambda bench: compare(bench, "eyaleb")),
    "lists": ("kept", keep_lists),
    "mnist": ("scaled", scale_up),
    "memory": ("held", hold),
    "sweep": ("swept", sweep_weights),
    "search": ("searched", search_all),
    "command": ("ran", run_commands),
    "predict": ("foretold", predict_many),
}
"""The parts by name: to which list of ``Results`` each one adds, and how."""


def run_parts(names: list[str], limit: float, sizes: list[int]) -> Results:
    """Measure the named parts, one after the other."""
    results = Results(read_machine())
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), limit, sizes)
        for name in names:
            kind, part = PARTS[name]
            getattr(results, kind).extend(part(bench))
    results.skipped.extend(bench.skipped)
    return results


def read_options() -> argparse.Namespace:
    """What the command line says."""
    parser = pages.parser(__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=900,
        help="seconds after which a single measurement is given up (default: 900)",
    )
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[10_000, 30_000, 70_000],
        help="how many MNIST digits (default: 10000 30000 70000)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    options = read_options()
    measured = run_parts(options.only, options.limit, options.sizes)
    pages.publish(page(measured), MARKER, options.into)
