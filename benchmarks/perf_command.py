"""``twofold cluster`` and ``predict`` from files to tables, and very many predictions.

Each command has a process of its own; the stages are those of the events that it
reports, from one to the next.
"""

import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from perf_parts import Bench, Foretold, Ran
from perf_process import (
    Measurement,
    Stored,
    in_own_process,
    made_features,
    peak_memory,
)
from PIL import Image

from twofold import TSNMF

K, COUNT, FEATURE_COUNT = 10, 2_000, 700
KINDS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "grey, 32 x 32": (COUNT, 32, ()),
    "colour, 64 x 64": (COUNT, 64, (3,)),
}
"""Made images by name: how many, their side, and their channels."""
FEATURES = "features, 7 x 7 x 512"
IMAGES = ["--channels", "gradients"]  # or a network would be tried where there is one
NEW = (20_000, 160_000)
TRAINED = 2_000
WATCHED = (
    "import sys; from twofold.app.cli import main; "
    "from twofold.progress import listening; sys.argv[0] = 'twofold'\n"
    "def tell(event): print(event.stage, event.done, event.total, file=sys.stderr)\n"
    "with listening(tell): main()"
)
"""The command as a program, which prints the events that it reports to stderr."""


def run_commands(bench: Bench) -> list[Ran]:
    """Run both commands on the CPU."""
    return commands_in(bench.folder, [])


def commands_in(within: Path, clustering: list[str]) -> list[Ran]:
    """Cluster folders of images, and predict the same images by the model.

    ``clustering`` are options of ``twofold cluster``, such as a device.
    """
    ran = []
    for what, (count, side, channels) in KINDS.items():
        folder = within / what.replace(" ", "")
        write_images(folder, count, (side, side, *channels))
        ran += both(what, folder, count, [], [*IMAGES, *clustering])
    folder, file = within / "features", within / "features.npy"
    write_images(folder, FEATURE_COUNT, (32, 32))
    np.save(file, made_features(FEATURE_COUNT)[0].astype(np.float32))
    given = ["--features", str(file)]
    return ran + both(FEATURES, folder, FEATURE_COUNT, given, clustering)


def write_images(folder: Path, count: int, shape: tuple[int, ...]) -> None:
    """Write PNG files of K kinds, blurred patterns under noise and other lights."""
    folder.mkdir()
    random = np.random.RandomState(0)
    coarse = random.rand(K, 8, 8, *shape[2:])
    kinds = coarse.repeat(shape[0] // 8, axis=1).repeat(shape[1] // 8, axis=2)
    for i in range(count):
        pixels = random.uniform(0.6, 1.0) * kinds[i % K] + 0.15 * random.rand(*shape)
        image = Image.fromarray((255 * np.minimum(pixels, 1)).astype(np.uint8))
        image.save(folder / f"{i:05}.png")


def both(
    what: str, folder: Path, count: int, options: list[str], clustering: list[str]
) -> list[Ran]:
    """What ``cluster`` and ``predict`` take, with the options of both, and of one."""
    out = folder.with_name(f"{folder.name}-clusters")
    found = folder.with_name(f"{folder.name}.csv")
    cluster = [
        "cluster",
        str(folder),
        "-k",
        str(K),
        "--out",
        str(out),
        *options,
        *clustering,
    ]
    predict = ["predict", str(out), str(folder), "--out", str(found), *options]
    lines = [sys.executable, "-m", "twofold", *cluster, "--json"]
    ran = [
        watch(what, "cluster", count, lines, subprocess.PIPE, json_stage),
        watch(what, "predict", count, [sys.executable, "-c", WATCHED, *predict]),
    ]
    for each in ran:
        print(each, file=sys.stderr, flush=True)
    return ran


def json_stage(line: str) -> str:
    """The stage of a line of ``--json``."""
    return str(json.loads(line)["event"])


def plain_stage(line: str) -> str:
    """The stage of a line of ``WATCHED``; what follows the reading is the rest."""
    stage, done, total = line.split()[:3]
    return "the rest" if stage == "reading" and done == total != "0" else stage


def watch(
    what: str,
    name: str,
    count: int,
    command: list[str],
    stdout: int | None = None,
    stage_of: Callable[[str], str] = plain_stage,
) -> Ran:
    """Run a command, and time its stages by the lines that it prints."""
    stderr = None if stdout else subprocess.PIPE
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True)
    stages = timed(process.stdout or process.stderr or (), stage_of, begin)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    last = list(stages)[-1]
    stages[last] += time.perf_counter() - begin - sum(stages.values())
    return Ran(what, name, count, stages, usage.ru_maxrss / 1024)


def timed(
    lines: Iterable[str], stage_of: Callable[[str], str], begin: float
) -> dict[str, float]:
    """Seconds from the first line of each stage to that of the next."""
    stages, stage, since = {"starting": 0.0}, "starting", begin
    for line in lines:
        now, after = time.perf_counter(), stage_of(line)
        stages[stage] += now - since
        stage, since = ("fitting" if after == "searching" else after), now
        stages.setdefault(stage, 0.0)
    return stages


def predict_many(bench: Bench) -> list[Foretold]:
    """Digits again and again, as bytes in a file, in two numbers."""
    data = bench.find("mnist")
    if data is None:
        return []
    foretold = []
    for n in NEW:
        outcome = in_own_process(predict_file, data, n, limit=bench.limit)
        foretold.append(Foretold(n, outcome))
        print(foretold[-1], file=sys.stderr, flush=True)
    return foretold


def predict_file(data: Stored, n: int) -> Measurement:
    """Predict n digits; the memory is what is allocated, without pages of the file."""
    images = data.images(data.shape[0])
    model = TSNMF(data.k, random_state=0).fit(images[:TRAINED])
    file = data.folder / f"many-{n}.npy"
    many = np.lib.format.open_memmap(file, "w+", np.uint8, (n, *images.shape[1:]))
    for begin in range(0, n, len(images)):
        many[begin : begin + len(images)] = images[: n - begin]
    del many, images
    new = np.load(file, mmap_mode="r")
    tracemalloc.start()
    begin_time = time.perf_counter()
    model.predict(new)
    seconds = time.perf_counter() - begin_time
    held = tracemalloc.get_traced_memory()[1] / 2**20
    file.unlink()
    return Measurement(seconds, held, peak_memory())
