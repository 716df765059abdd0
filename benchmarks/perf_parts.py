"""The parts of the benchmark: what is measured on which data."""

import os
import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import perf_methods as methods
import sklearn
from perf_process import (
    MADE,
    Failure,
    Job,
    Measurement,
    Outcome,
    Stored,
    in_own_process,
    measure,
    store,
)

from twofold import TSNMF

ITERATIONS, TURNS = 100, 3
FACES = {
    "n_directions": methods.DIRECTIONS,
    "n_neighbors": methods.NEIGHBORS,
    "max_iter": ITERATIONS,
    "tol": 0,
}
DIGITS = {"n_directions": methods.DIRECTIONS}
DEFAULT, HEAT = "TSNMF, defaults", "TSNMF, heat on gradients"
PLAIN = {"channels": "pixels", "max_iter": ITERATIONS, "tol": 0}
OURS: dict[str, tuple[Any, dict[str, Any]]] = {
    "TSNMF, heat": (methods.ts_nmf, FACES),
    "TSNMF, default graph": (methods.defaults, PLAIN),
    "TSNMF, defaults": (methods.defaults, {**PLAIN, "channels": "auto"}),
}
TEXTBOOK: dict[str, dict[str, Any]] = {
    "TSNMF, heat": {"model": methods.build, **FACES},
    "TSNMF, default graph": {"model": TSNMF, **PLAIN},
}
PEERS: dict[str, tuple[Any, dict[str, Any]]] = {
    **OURS,
    "NMF": (methods.nmf, {"max_iter": ITERATIONS}),
    "SpectralClustering": (methods.spectral, {}),
    "KMeans": (methods.kmeans, {}),
}
SCALED: dict[str, tuple[Any, dict[str, Any]]] = {
    DEFAULT: (methods.defaults, {}),
    HEAT: (methods.defaults, {"channels": "gradients", "graph": "heat"}),
    "TSNMF, exact": (methods.ts_nmf, {**DIGITS, "neighbors": "exact"}),
    "TSNMF, approximate": (methods.ts_nmf, {**DIGITS, "neighbors": "approximate"}),
    "SpectralClustering": (methods.spectral, {}),
    "KMeans": (methods.kmeans, {}),
}
LISTS = (
    ("eyaleb", 1.0),
    ("eyaleb", 0.1),
    ("eyaleb", 0.001),
    ("orl", 1.0),
    ("semeion", 1.0),
    ("mnist", 1.0),
)
LIST_ITERATIONS, LIST_SAMPLES = 50, 10_000
SEARCH_SIZES, FEW = (2_000, 10_000, 20_000, 70_000), 5_000
SEARCHED = ("eyaleb", "coil20", "japanese_vowels", MADE)
SWEPT = ("orl", "semeion")
MEMORY_SAMPLES, MEMORY_ITERATIONS = 30_000, 2
INPUTS = (("float64", False), ("float32", False), ("float32", True))


@dataclass(frozen=True)
class Machine:
    """Where it was measured; the rates are those of matrix products, a second."""

    cores: int
    processor: str
    versions: dict[str, str]
    rates: dict[str, float]


@dataclass(frozen=True)
class Compared:
    """The fastest turn of each method on all of one data set.

    ``textbook`` is that of some iterations of the textbook version, by what it is
    compared with.
    """

    data: Stored
    outcomes: dict[str, Outcome]
    textbook: dict[str, Outcome]


@dataclass(frozen=True)
class Scaled:
    """Methods on growing parts of one data set, by their number of images."""

    data: Stored
    outcomes: dict[str, dict[int, Outcome]]


@dataclass(frozen=True)
class Kept:
    """Full searches that kept lists cost a fit, on the left and on the right."""

    name: str
    n: int
    energy_weight: float
    searches: list[float] | Failure


@dataclass(frozen=True)
class Held:
    """A fit to samples of one kind, which are ``size`` MiB large.

    Those that are ``mapped`` are in a file, whose pages count once they are read.
    """

    dtype: str
    mapped: bool
    size: float
    outcome: Outcome


@dataclass(frozen=True)
class Swept:
    """49 runs on one data set, in one call and in single fits.

    They are all pairs of weights, or starts under the same weights.
    """

    data: Stored
    sweep: Outcome
    singles: Outcome
    restarts: Outcome
    single_starts: Outcome

    def cases(self) -> list[tuple[Outcome, Outcome, str]]:
        """One call, the single fits, and what they are."""
        return [
            (self.sweep, self.singles, "49 pairs"),
            (self.restarts, self.single_starts, "49 starts"),
        ]


@dataclass(frozen=True)
class Searched:
    """A search and a fit at the defaults, on the first n samples of a data set."""

    data: Stored
    n: int
    search: Outcome
    fit: Outcome


@dataclass(frozen=True)
class Ran:
    """A command on ``count`` images: its seconds by stage, in order, and its peak."""

    what: str  # of the images
    command: str
    count: int
    stages: dict[str, float]
    mebibytes: float

    @property
    def rate(self) -> float:
        """Images a second, from the start of the process to its end."""
        return self.count / sum(self.stages.values())


@dataclass(frozen=True)
class Foretold:
    """Predictions of n samples of bytes in a file."""

    n: int
    outcome: Outcome


@dataclass
class Results:
    """All that was measured; parts that were not are empty."""

    machine: Machine
    compared: list[Compared] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    scaled: list[Scaled] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    swept: list[Swept] = field(default_factory=list)
    searched: list[Searched] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)
    foretold: list[Foretold] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


class Bench:
    """Runs jobs one after the other, each in its own process, and says how it goes.

    Parameters
    ----------
    folder : Path
        For the data, while it runs.
    limit : float
        Seconds after which a process is ended.
    sizes : list of int
        Parts of MNIST.
    """

    def __init__(self, folder: Path, limit: float, sizes: list[int]) -> None:
        self.folder, self.limit, self.sizes = folder, limit, sizes
        self.skipped: list[str] = []
        self._stored: dict[tuple[str, str], Stored | Failure] = {}

    def find(self, name: str, dtype: str = "float64") -> Stored | None:
        """A data set, or None, noted once, where it is not here."""
        key = name, dtype
        if key not in self._stored:
            self._stored[key] = in_own_process(store, *key, self.folder)
        found = self._stored[key]
        if isinstance(found, Stored):
            return found
        line = f"{name} is left out: {found.why}"
        if line not in self.skipped:
            self.skipped.append(line)
        return None

    def run(self, job: Job) -> Outcome:
        """The outcome of a job."""
        outcome: Outcome = in_own_process(measure, job, limit=self.limit)
        what = f"{job.method.__name__} {job.options} {job.data.name} {job.n}"
        print(what, outcome, file=sys.stderr, flush=True)
        return outcome


def read_machine() -> Machine:
    """What this machine is, and how fast it multiplies matrices."""
    rates = {
        dtype: in_own_process(methods.gemm_rate, dtype)
        for dtype in ("float64", "float32")
    }
    versions = {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
    return Machine(os.cpu_count() or 1, processor_name(), versions, rates)


def processor_name() -> str:
    """As Linux calls it, or else as Python does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2] for line in lines if line.startswith("model name")]
    return " ".join((names or [platform.processor() or platform.machine()])[0].split())


def compare(bench: Bench, name: str) -> list[Compared]:
    """All of a data set by TSNMF and its peers, in turns."""
    data = bench.find(name)
    if data is None:
        return []
    n = data.shape[0]
    jobs = {
        peer: Job(method, data, n, options) for peer, (method, options) in PEERS.items()
    }
    books = {
        name: Job(methods.textbook, data, n, options)
        for name, options in TEXTBOOK.items()
    }
    turns = [
        [{name: bench.run(job) for name, job in each.items()} for each in (jobs, books)]
        for _ in range(TURNS)
    ]
    outcomes, textbook = (
        {name: fastest([turn[name] for turn in parts]) for name in parts[0]}
        for parts in zip(*turns, strict=True)
    )
    return [Compared(data, outcomes, textbook)]


def fastest(outcomes: list[Outcome]) -> Outcome:
    """The turn that others on the machine disturbed least; the first failure if any."""
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            return outcome
    measured = [outcome for outcome in outcomes if isinstance(outcome, Measurement)]
    return min(measured, key=lambda outcome: outcome.seconds)


def keep_lists(bench: Bench) -> list[Kept]:
    """How many full searches exact neighbour lists cost."""
    kept = []
    for name, energy_weight in LISTS:
        data = bench.find(name)
        if data is not None:
            n = min(data.shape[0], LIST_SAMPLES)
            options = data, n, energy_weight
            found = in_own_process(count_searches, *options, limit=bench.limit)
            kept.append(Kept(name, n, energy_weight, found))
            print(kept[-1], file=sys.stderr, flush=True)
    return kept


def count_searches(data: Stored, n: int, energy_weight: float) -> list[float]:
    """``searched_share`` of the first n images of a data set."""
    images = data.images(n)
    return methods.searched_share(images, data.k, energy_weight, LIST_ITERATIONS)


def scale_up(bench: Bench) -> list[Scaled]:
    """Growing parts of MNIST."""
    data = bench.find("mnist")
    if data is None:
        return []
    outcomes: dict[str, dict[int, Outcome]] = {method: {} for method in SCALED}
    for n in bench.sizes:
        for name, (method, options) in SCALED.items():
            outcomes[name][n] = bench.run(Job(method, data, n, options))
    return [Scaled(data, outcomes)]


def search_all(bench: Bench) -> list[Searched]:
    """A search beside a fit at the defaults, on growing parts of MNIST and on others.

    They take turns, and the fastest of three counts where there are few samples.
    """
    most = max(bench.sizes)
    cases = [("mnist", n) for n in SEARCH_SIZES if n <= most]
    searched = []
    for name, n in [*cases, *((name, 0) for name in SEARCHED)]:
        data = bench.find(name)
        if data is not None:
            n = n or data.shape[0]
            jobs = [
                Job(method, data, n) for method in (methods.search, methods.defaults)
            ]
            turns = [
                [bench.run(job) for job in jobs] for _ in range(TURNS if n < FEW else 1)
            ]
            pair = (fastest(list(each)) for each in zip(*turns, strict=True))
            searched.append(Searched(data, n, *pair))
    return searched


def hold(bench: Bench) -> list[Held]:
    """The memory of a fit to samples in single and double precision, and in a file."""
    held = []
    n = min(MEMORY_SAMPLES, max(bench.sizes))
    for dtype, mapped in INPUTS:
        data = bench.find("mnist", dtype)
        if data is not None:
            options = {**DIGITS, "max_iter": MEMORY_ITERATIONS}
            outcome = bench.run(Job(methods.ts_nmf, data, n, options, mapped))
            entries = n * int(np.prod(data.shape[1:]))
            size = entries * np.dtype(dtype).itemsize / 2**20
            held.append(Held(dtype, mapped, size, outcome))
    return held


def sweep_weights(bench: Bench) -> list[Swept]:
    """All pairs of weights, and as many starts, on small sets."""
    swept = []
    for name in SWEPT:
        data = bench.find(name)
        if data is not None:
            jobs = (
                Job(method, data, data.shape[0])
                for method in (
                    methods.sweep,
                    methods.single_fits,
                    methods.restarts,
                    methods.single_starts,
                )
            )
            swept.append(Swept(data, *map(bench.run, jobs)))
    return swept
