"""Read image files in blocks of one size, so that few images are held at once."""

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
from PIL import Image

from twofold.io.budget import DEFAULT, Budget
from twofold.io.contents import contents_of
from twofold.io.errors import reason_of
from twofold.io.opening import (
    MAX_PIXELS,
    Limits,
    check_file,
    memory_given_back,
    opened,
)
from twofold.io.pixels import Rendering

_Row = tuple[int, Path, int]
"""Place of an image in its block, its file, and its number in the file."""


def image_blocks(
    paths: Sequence[Path],
    frames: Sequence[int],
    side: int,
    *,
    color: bool = True,
    block: int = 32,
    max_memory: int | None = None,
) -> Iterator[np.ndarray]:
    """Yield the centred squares of images, in blocks (m, side, side[, 3]).

    Values are those of ``read_images(..., side, color=color, fit="crop")``.

    Parameters
    ----------
    paths : sequence of Path
        The file of each image, as ``read_images`` returns them.
    frames : sequence of int
        The number of each image in its file, from 0, likewise.
    side : int
        Height and width of the squares, which are reduced or enlarged to it.
    color : bool, default=True
        Whether to keep colours.
    block : int, default=32
        Number of images of a block.
    max_memory : int or None, default=None
        Maximum number of bytes for decoding; None stands for 1 GiB.
    """
    Image.init()  # loads the plugins, which is not thread-safe
    for start in range(0, len(paths), block):
        some = slice(start, start + block)
        chosen = list(zip(paths[some], map(int, frames[some]), strict=True))
        rows = [(place, path, k) for place, (path, k) in enumerate(chosen)]
        images = np.empty((len(rows), side, side, 3)[: 4 if color else 3], np.float32)
        limits = Limits(MAX_PIXELS, Budget(max_memory or DEFAULT))
        _read(rows, images, limits)
        yield images


def _read(rows: list[_Row], images: np.ndarray, limits: Limits) -> None:
    """Read images to their places, each file by a thread."""
    files = [list(group) for _, group in groupby(rows, key=lambda row: row[1])]
    read_file = partial(_read_file, images=images, limits=limits)
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    with warnings.catch_warnings(), memory_given_back():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        try:
            list(pool.map(read_file, files))
        finally:  # also after an interrupt: nobody shall wait for the budget
            limits.budget.close()
            pool.shutdown(cancel_futures=True)


def _read_file(rows: list[_Row], images: np.ndarray, limits: Limits) -> None:
    """Read the frames of one file to their places."""
    path, side = rows[0][1], images.shape[1]
    try:
        check_file(path)
        rendering = Rendering((side, side), 3 if images.ndim == 4 else None, "crop")
        with opened(path, contents_of(path), rendering, limits) as frames:
            for place, _, k in rows:
                limits.budget.check()
                images[place], _ = frames.rendered(k)
    except Exception as error:  # a damaged file can raise any exception
        raise ValueError(
            f"{path} cannot be read in {side} x {side} pixels: {reason_of(error)}"
        ) from error
