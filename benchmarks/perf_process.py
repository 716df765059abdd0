"""Measuring in fresh processes: seconds, peak memory, and a limit of wall time."""

import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from twofold import datasets
from twofold.metrics import nmi

MADE, FURTHER = "features of 700 photos", ("japanese_vowels", "coil20", "usps")
"""Data sets that are made up, and those that are not the paper's."""


@dataclass(frozen=True)
class Failure:
    """Why there is no measurement."""

    why: str


@dataclass(frozen=True)
class Fitted:
    """What a piece of work gave.

    Attributes
    ----------
    labels : ndarray of shape (n,) or None
    iterations : int or None
    uncounted : float
        Seconds of it that are not to be counted.
    """

    labels: np.ndarray | None = None
    iterations: int | None = None
    uncounted: float = 0.0


@dataclass(frozen=True)
class Measurement:
    """One piece of work in a process of its own.

    Attributes
    ----------
    seconds : float
    beyond : float
        MiB at the peak, beyond the peak with the data loaded.
    total : float
        MiB of the whole process at the peak.
    nmi : float or None
        In percent, where there are labels.
    iterations : int or None
    """

    seconds: float
    beyond: float
    total: float
    nmi: float | None = None
    iterations: int | None = None


Outcome = Measurement | Failure
Work = Callable[[], Fitted]


@dataclass(frozen=True)
class Stored:
    """A data set in files of plain numbers, shuffled once: a part is its beginning.

    Reading such a file takes no more memory than the data, so that the peak before a
    fit is the data and not their decoding.

    Attributes
    ----------
    name, dtype : str
    folder : Path
    shape : tuple of int
        (n, h, w) of all of it.
    k : int
        Number of classes.
    """

    name: str
    dtype: str
    folder: Path
    shape: tuple[int, ...]
    k: int

    @property
    def stem(self) -> Path:
        """Where its files are, but for their endings."""
        return self.folder / f"{self.name}-{self.dtype}"

    def images(self, n: int, *, mapped: bool = False) -> np.ndarray:
        """The first n images (n, h, w), in memory or left in their file."""
        file, shape = self.stem.with_suffix(".images"), (n, *self.shape[1:])
        if mapped:
            return np.memmap(file, self.dtype, mode="r", shape=shape)
        count = int(np.prod(shape))
        return np.fromfile(file, self.dtype, count=count).reshape(shape)

    def target(self, n: int) -> np.ndarray:
        """The classes of the first n images (n,)."""
        return np.load(self.stem.with_suffix(".npy"))[:n]


@dataclass(frozen=True)
class Job:
    """What one process does: a method on the first n images of a data set."""

    method: Callable[..., Work]
    data: Stored
    n: int
    options: dict[str, Any] = field(default_factory=dict)
    mapped: bool = False


def store(name: str, dtype: str, folder: Path) -> Stored:
    """Write a data set down for the processes that measure."""
    images, target = read(name)
    order = np.random.RandomState(0).permutation(len(target))
    stored = Stored(name, dtype, folder, images.shape, len(np.unique(target)))
    images[order].astype(dtype).tofile(stored.stem.with_suffix(".images"))
    np.save(stored.stem.with_suffix(".npy"), target[order])
    return stored


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The images and classes of a set of the paper's, of further ones, or made up."""
    if name == MADE:
        return made_features(700)
    if name in FURTHER:
        folder = Path(os.environ.get("TWOFOLD_DATA", "../shared/data"))
        with np.load(folder / "more" / f"{name}.npz", allow_pickle=False) as arrays:
            return arrays["X"], arrays["y"]
    bunch = datasets.load(name, download=False)
    return bunch.images, bunch.target


def made_features(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Arrays (count, 7, 7, 512) like a network's, mostly zeros, of ten kinds."""
    random, target = np.random.RandomState(0), np.arange(count) % 10
    kinds = random.rand(10, 7, 7, 512) * (random.rand(10, 7, 7, 512) < 0.3)
    noise = 0.5 * random.standard_normal((count, 7, 7, 512))
    return np.maximum(kinds[target] + noise, 0), target


def measure(job: Job) -> Measurement:
    """Seconds and peak memory of a job in this process, which does nothing else."""
    images = job.data.images(job.n, mapped=job.mapped)
    work = job.method(images, job.data.k, **job.options)
    before, begin = peak_memory(), time.perf_counter()
    fitted = work()
    seconds = time.perf_counter() - begin - fitted.uncounted
    peak, score = peak_memory(), None
    if fitted.labels is not None:
        score = 100 * nmi(job.data.target(job.n), fitted.labels)
    return Measurement(seconds, peak - before, peak, score, fitted.iterations)


def peak_memory() -> float:
    """MiB that this process has held at most."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def in_own_process(
    function: Callable[..., Any], *arguments: Any, limit: float | None = None
) -> Any:
    """What ``function`` returns in a fresh process, or the Failure to return.

    The process is ended when ``limit`` seconds have passed. Keep the caller small: on
    Linux the peak memory of a new process starts from that of its parent.
    """
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, function, arguments))
    process.start()
    sender.close()  # so that the end of the process is the end of the pipe
    try:
        if not receiver.poll(limit):
            return Failure(f"not done after {limit:.0f} s")
        return receiver.recv()
    except EOFError:
        process.join()
        return Failure(f"ended with code {process.exitcode}")
    finally:
        process.terminate()
        process.join()


def _send(
    sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    try:
        sender.send(function(*arguments))
    except ImportError:
        sender.send(Failure("not available"))
    except FileNotFoundError:
        sender.send(Failure("its data are not here"))
    except MemoryError:
        sender.send(Failure("out of memory"))
