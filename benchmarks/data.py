"""Time the reading of ten thousand JPEGs and the scoring of a million labels.

Written into docs/data.md by `make data`. Times depend on the machine, so each stands
beside a yardstick of the same run: a plain loop over Pillow, and sorting the labels.
"""

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pages
from PIL import Image

from twofold.datasets import make_faces
from twofold.io import read_images
from twofold.metrics import score_all

MARKER = "<!-- measured by benchmarks/data.py -->"
SIZE = 64


def write_jpegs(folder: Path, count: int) -> None:
    """Colour JPEGs of 256 x 256, a hundred different ones over and over."""
    images, _ = make_faces(100, 10, shape=(256, 256))
    images = (images - images.min()) / np.ptp(images) * 255
    files = []
    for i, image in enumerate(images.astype(np.uint8)):
        path = folder / f"{i:05}.jpg"
        Image.fromarray(np.stack([image] * 3, axis=-1)).save(path, quality=90)
        files.append(path.read_bytes())
    for i in range(len(files), count):
        (folder / f"{i:05}.jpg").write_bytes(files[i % len(files)])


def plain_loop(folder: Path) -> np.ndarray:
    """What one would write first: decode in full, then resize."""
    paths = sorted(folder.iterdir())
    stack = np.empty((len(paths), SIZE, SIZE), dtype=np.float32)
    for i, path in enumerate(paths):
        with Image.open(path) as image:
            grey = image.convert("L").resize((SIZE, SIZE), Image.Resampling.HAMMING)
            stack[i] = np.asarray(grey, dtype=np.float32) / 255
    return stack


def seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def peak_mib(folder: Path) -> tuple[float, float]:
    """Memory of a process of its own, before it reads the folder and at its peak.

    From Linux's own account, which begins anew with each process.
    """
    code = (
        "import re, sys; from twofold.io import read_images\n"
        "status = lambda: open('/proc/self/status').read()\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', status())[1]) / 1024\n"
        f"before = peak(); read_images(sys.argv[1], {SIZE}); print(before, peak())"
    )
    command = [sys.executable, "-c", code, str(folder)]
    before, after = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.split()
    return float(before), float(after)


def report(count: int) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_jpegs(folder, count)
        seconds(lambda: [path.read_bytes() for path in folder.iterdir()])  # warm up
        ours = seconds(lambda: read_images(folder, SIZE))
        before, after = peak_mib(folder)
        plain = seconds(lambda: plain_loop(folder))
    stack = count * SIZE * SIZE * 4 / 2**20
    random = np.random.default_rng(0)
    target, labels = random.integers(0, 100, size=(2, 1_000_000))
    scores = seconds(lambda: score_all(target, labels))
    sort = seconds(lambda: np.sort(target))
    rows = [
        "| what | seconds | yardstick | seconds | ratio |",
        "| --- | --- | --- | --- | --- |",
        f"| `read_images`, {count:,} JPEGs of 256 x 256 to {SIZE} x {SIZE} grey | "
        f"{ours:.1f} | a plain loop over Pillow | {plain:.1f} | {ours / plain:.2f} |",
        f"| `score_all`, 1,000,000 labels of 100 clusters | {scores:.2f} | "
        f"sorting them once | {sort:.3f} | {scores / sort:.0f} |",
    ]
    return "\n".join(
        [
            f"`make data` on {os.cpu_count()} cores, Python "
            f"{platform.python_version()}:",
            "",
            *rows,
            "",
            f"Reading took {after - before:.0f} MiB at its peak for a stack of "
            f"{stack:.0f} MiB.",
            "",
        ]
    )


if __name__ == "__main__":
    parser = pages.parser(__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    pages.publish(report(options.count), MARKER, options.into)
