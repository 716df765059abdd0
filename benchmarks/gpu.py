"""Sweeps, large fits and the agreement with the CPU on a GPU."""

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pages
from perf_command import commands_in
from perf_methods import DIRECTIONS, NEIGHBORS, PAIRS
from perf_tables import MET, ran_table, shown, table
from settings import NEAREST

from twofold import TSNMF, AutoTSNMF, datasets
from twofold.estimators.problem import read_problem
from twofold.metrics import clustering_accuracy

MARKER = "<!-- measured by benchmarks/gpu.py -->"

DTYPES, STARTS = ("float64", "float32"), ("spectral", "random")
SWEPT = {"orl": 0.1, "eyaleb": 0.5}
"""Milliseconds per iteration and run that are wanted."""
LARGE, LARGE_SECONDS, LARGE_ITERATIONS = "mnist", 30.0, 100
DEFAULT_SECONDS = 6.0
LONGEST_SEARCH, PREDICTED, TRAINED = 10.0, 5_000, 2_000
"""A search takes ten fits at most, and predictions are no slower than on two cores."""
AGREEING, AGREED = 10_000, 99.5
"""Images on which CPU and GPU are compared at most, and the percentage wanted."""


@dataclass(frozen=True)
class Scope:
    """Where it runs, and how much of everything is taken."""

    device: str
    images: int | None = None
    iterations: int = 30
    large_iterations: int = LARGE_ITERATIONS


QUICK = {"images": 200, "iterations": 3, "large_iterations": 3}


@dataclass(frozen=True)
class Row:
    """One measurement, the limit that is wanted, and the GiB held on the GPU."""

    what: str
    dtype: str
    value: float
    unit: str
    gibibytes: float | None
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the value keeps to its limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def fitter(k: int, **options: Any) -> TSNMF:
    """TSNMF from a random start that is the same everywhere."""
    shared: Any = {"n_directions": DIRECTIONS, "n_neighbors": NEIGHBORS, "tol": 0}
    shared |= {"init": "random", "random_state": 0}
    return TSNMF(k, **{**NEAREST, **shared, **options})


def found(
    names: Iterable[str], most: int | None
) -> Iterator[tuple[str, np.ndarray, int]]:
    """The data sets that are here: name, at most so many images (n, h, w), classes."""
    for name in names:
        try:
            data = datasets.load(name, download=False)
        except FileNotFoundError:
            print(f"{name} is left out: no data", file=sys.stderr)
            continue
        order = np.random.RandomState(0).permutation(len(data.target))[:most]
        yield name, data.images[order], len(np.unique(data.target))


def on_device(images: np.ndarray, dtype: str, scope: Scope) -> Any:
    """Images as a tensor on the device."""
    import torch

    return torch.asarray(images, dtype=getattr(torch, dtype), device=scope.device)


def wait(scope: Scope) -> float:
    """The time when all that was asked of the device is done."""
    import torch

    if scope.device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def forget_peak(scope: Scope) -> None:
    """Let the peak of memory start from what is held now."""
    import torch

    if scope.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak_memory(scope: Scope) -> float | None:
    """GiB that tensors have held on the device at most."""
    import torch

    if scope.device != "cuda":
        return None
    return torch.cuda.max_memory_allocated() / 2**30


def solve_seconds(model: TSNMF, tensor: Any, pairs: Any, scope: Scope) -> float:
    """Seconds per iteration and run, from the end of the first iteration on.

    A batch that is solved in parts counts the starts of all parts but the first.
    """
    stamps: list[float] = []
    runs: list[int] = []

    def stamp(iteration: int, objectives: np.ndarray) -> bool:
        stamps.append(wait(scope))
        runs.append(len(objectives))
        return False

    problem = read_problem(model, tensor)
    each = ({"energy_weight": e, "graph_weight": g} for e, g in pairs)
    problem.solve([problem.weights | weights for weights in each], stamp)
    return (stamps[-1] - stamps[0]) / sum(runs[1:])


def sweeps(scope: Scope) -> Iterator[Row]:
    """Milliseconds per iteration and run of a sweep of 49 pairs."""
    for name, images, k in found(SWEPT, scope.images):
        for dtype in DTYPES:
            tensor = on_device(images, dtype, scope)
            # The first call of a library sets it up.
            solve_seconds(fitter(k, max_iter=2), tensor, PAIRS[:2], scope)
            forget_peak(scope)
            model = fitter(k, max_iter=scope.iterations)
            each = 1e3 * solve_seconds(model, tensor, PAIRS, scope)
            what = f"{name}, {len(images):,} images, sweep of {len(PAIRS)} pairs"
            unit = "ms per iteration and run"
            yield Row(what, dtype, each, unit, peak_memory(scope), SWEPT[name])


def large_fits(scope: Scope) -> Iterator[Row]:
    """Seconds of a whole fit to many images, labels included."""
    for name, images, k in found([LARGE], scope.images):
        for dtype in DTYPES:
            tensor = on_device(images, dtype, scope)
            forget_peak(scope)
            begin = wait(scope)
            fitter(k, max_iter=scope.large_iterations).fit(tensor)
            seconds = wait(scope) - begin
            count = f"{scope.large_iterations} iterations"
            what = f"{name}, {len(images):,} images, a whole fit of {count}"
            yield Row(what, dtype, seconds, "s", peak_memory(scope), LARGE_SECONDS)


def default_fits(scope: Scope) -> Iterator[Row]:
    """Seconds of a fit to many images at the defaults, after a small one."""
    for name, images, k in found([LARGE], scope.images):
        for dtype in DTYPES:
            tensor = on_device(images, dtype, scope)
            TSNMF(k, random_state=0).fit(tensor[:1000])
            forget_peak(scope)
            begin = wait(scope)
            TSNMF(k, random_state=0).fit(tensor)
            seconds = wait(scope) - begin
            what = f"{name}, {len(images):,} images, the default fit"
            yield Row(what, dtype, seconds, "s", peak_memory(scope), DEFAULT_SECONDS)


def searches(scope: Scope) -> Iterator[Row]:
    """Time of a search in that of a fit, and samples a second that a fit predicts."""
    for name, images, k in found([LARGE], scope.images):
        tensor = on_device(images, "float32", scope)
        stamps = [wait(scope)]
        for model in (TSNMF(k, random_state=0), AutoTSNMF(k, random_state=0)):
            forget_peak(scope)
            model.fit(tensor)
            stamps.append(wait(scope))
        fit, search = np.diff(stamps)
        what = f"{name}, {len(images):,} images, AutoTSNMF, {search:.0f} s"
        peak = peak_memory(scope)
        yield Row(what, "float32", search / fit, "fits", peak, LONGEST_SEARCH)
        model = TSNMF(k, random_state=0).fit(tensor[:TRAINED])
        forget_peak(scope)
        begin = wait(scope)
        model.predict(tensor)
        rate = len(images) / (wait(scope) - begin)
        what = f"{name}, predict {len(images):,} images by a fit to {TRAINED:,}"
        peak = peak_memory(scope)
        yield Row(what, "float32", rate, "a second", peak, PREDICTED, True)


def agreements(scope: Scope) -> Iterator[Row]:
    """Percentage of samples that get the same label as on the CPU, by best matching."""
    unit, most = (
        "% of the labels as on the CPU",
        min(scope.images or AGREEING, AGREEING),
    )
    for name, images, k in found(datasets.NAMES, most):
        for start, dtype in itertools.product(STARTS, DTYPES):
            options = {"n_directions": DIRECTIONS, "init": start, "tol": 1e-2}
            model = TSNMF(k, random_state=0, **{**NEAREST, **options})
            here = model.fit(images.astype(dtype)).labels_
            forget_peak(scope)
            there = model.fit(on_device(images, dtype, scope)).labels_
            same = 100 * clustering_accuracy(here, there.cpu().numpy())
            what = f"{name}, {len(images):,} images, {start} start"
            yield Row(what, dtype, same, unit, peak_memory(scope), AGREED, True)


def measured(scope: Scope) -> Iterator[Row]:
    """All rows, each said as soon as it is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits are told to stop early
        for part in (sweeps, large_fits, default_fits, searches, agreements):
            for row in part(scope):
                print(row, file=sys.stderr, flush=True)
                yield row


def report(scope: Scope) -> str:
    """The machine, a line for each row, and the commands."""
    header = ("what", "dtype", "measured", "wanted", "met", "peak, GiB")
    lines = [
        (
            row.what,
            row.dtype,
            f"{row.value:.3g} {row.unit}",
            f"{'at least' if row.at_least else 'at most'} {row.limit:g}",
            MET[row.met],
            shown(row.gibibytes, ".2f"),
        )
        for row in measured(scope)
    ]
    parts = [device_line(scope), table(header, lines)]
    if scope.images is None:
        with TemporaryDirectory() as folder:
            options = ["--device", scope.device]
            parts.append(ran_table(commands_in(Path(folder), options)))
    return "\n\n".join(parts)


def device_line(scope: Scope) -> str:
    """What it ran on."""
    import torch

    name = torch.cuda.get_device_name() if scope.device == "cuda" else "the CPU"
    return f"`python benchmarks/gpu.py` on {name}, PyTorch {torch.__version__}."


def check_device(device: str) -> None:
    """End with a plain message where the device is not there."""
    try:
        import torch
    except ImportError:
        raise SystemExit("PyTorch is not installed: pip install torch") from None
    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("There is no GPU here: PyTorch finds no CUDA device.")


def read_options() -> argparse.Namespace:
    """What the command line says."""
    parser = pages.parser(__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument(
        "--quick", action="store_true", help="a few images and iterations of each"
    )
    return parser.parse_args()


if __name__ == "__main__":
    options = read_options()
    check_device(options.device)
    chosen: Any = QUICK if options.quick else {}
    pages.publish(report(Scope(options.device, **chosen)), MARKER, options.into)
