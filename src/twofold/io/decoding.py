"""Decode the frames of many files into stacks, by threads that share a budget."""

import math
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from twofold.io.budget import StoppedError, as_size
from twofold.io.contents import Contents, contents_of
from twofold.io.errors import reason_of
from twofold.io.opening import ArrayFrames, ImageFrames, Limits, check_file, opened
from twofold.io.pixels import Rendering
from twofold.io.survey import Plan

Stacks = dict[str, np.ndarray]
Reasons = list[str | None]
"""For each frame of a file, why it could not be read, or None."""

_AHEAD = 8
"""Maximum number of files per thread that wait to be decoded."""


class File(NamedTuple):
    """A file, its frames, and the place of the first of them in the stacks."""

    path: Path
    contents: Contents
    start: int = 0
    refused: str | None = None  # why it is not read

    def name(self, k: int) -> str:
        """Return the name of a frame, which is the path if there is but one."""
        return f"{self.path}[{k}]" if self.contents.frames > 1 else str(self.path)


def inspected(paths: Sequence[Path], frames: str, workers: int) -> list[File]:
    """Find out what files hold; of an unreadable file, reading will tell the reason."""

    def inspect(path: Path) -> File:
        try:
            check_file(path)  # a pipe would wait for somebody to write to it
            contents = contents_of(path)
        except Exception:  # a damaged file can raise any exception
            contents = Contents()
        return File(path, contents if frames == "all" else contents.first())

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(inspect, paths))


def refusal(file: File, plan: Plan, most: int) -> str | None:
    """Return why a file has too many frames, if it has: a small file may claim many."""
    if file.contents.frames == 1:
        return None
    sample = 4 * plan.size[0] * plan.size[1] * (plan.channels or 1)
    taken = file.contents.frames * (sample + 3 * (plan.longest or 0) ** 2)
    if taken <= max(most, file.path.stat().st_size):
        return None
    return (
        f"its {file.contents.frames:,} frames would take {as_size(taken)}, more than "
        f"the limit of {as_size(most)}; raise it with max_memory, on the command line "
        "--max-memory, or read the first frame alone"
    )


def allocated(count: int, plan: Plan) -> Stacks:
    """Return uninitialised stacks with an entry for every frame."""
    shape = plan.size if plan.channels is None else (*plan.size, plan.channels)
    try:
        stacks = {"images": np.empty((count, *shape), dtype=np.float32)}
    except MemoryError:
        n_bytes = 4 * count * math.prod(shape)
        raise MemoryError(
            f"the {count:,} images would take {as_size(n_bytes)}; take fewer, smaller "
            "ones, or the first frame of each file"
        ) from None
    if plan.longest is not None:
        square = (plan.longest, plan.longest, 3)
        stacks["thumbnails"] = np.zeros((count, *square), dtype=np.uint8)
        stacks["thumbnail_sizes"] = np.zeros((count, 2), dtype=int)
    return stacks


def decoded(
    files: Sequence[File],
    rendering: Rendering,
    limits: Limits,
    stacks: Stacks,
    workers: int,
) -> Generator[Reasons | str, None, None]:
    """Decode files into the stacks, and yield the reasons of each file, in order.

    A file that cannot be opened has one reason. After an error or an interrupt, the
    generator must be closed, so that the threads end.
    """
    decode = partial(_decode, rendering=rendering, limits=limits, stacks=stacks)
    pool = ThreadPoolExecutor(workers)
    try:
        yield from _map_ordered(pool, decode, files, _AHEAD * workers)
    finally:  # tasks that wait are cancelled, and those that run stop soon
        limits.budget.close()
        pool.shutdown(cancel_futures=True)


def _map_ordered(
    pool: ThreadPoolExecutor,
    decode: Callable[[File], Reasons | str],
    files: Sequence[File],
    ahead: int,
) -> Generator[Reasons | str, None, None]:
    """Yield results in order; they lag behind, so that few tasks wait at any time."""
    waiting: deque[Future[Reasons | str]] = deque()
    for file in files:
        waiting.append(pool.submit(decode, file))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _decode(
    file: File, rendering: Rendering, limits: Limits, stacks: Stacks
) -> Reasons | str:
    """Read the frames of a file into the stacks; return why some cannot be read."""
    if file.refused:
        return file.refused
    reasons: Reasons = []
    contents = file.contents
    try:
        with opened(file.path, contents, rendering, limits) as frames:
            for k in range(contents.frames):
                limits.budget.check()
                if contents.animated and any(reasons[-1:]):
                    # It would be laid over one that is not there.
                    reasons.append("the frame before it cannot be read")
                else:
                    reasons.append(_store(frames, k, file.start + k, stacks))
    except StoppedError:
        raise
    except Exception as error:  # a damaged file can raise any exception
        return reason_of(error)
    return reasons


def _store(
    frames: ImageFrames | ArrayFrames, k: int, place: int, stacks: Stacks
) -> str | None:
    """Read a frame into the stacks; return a reason if it cannot be read."""
    # Threads write to different entries of the stacks, which needs no lock.
    try:
        stacks["images"][place], small = frames.rendered(k)
    except StoppedError:
        raise
    except Exception as error:  # a damaged frame can raise any exception
        return reason_of(error)
    if small is not None:
        square, (height, width) = stacks["thumbnails"][place], small.shape[:2]
        top, left = (len(square) - height) // 2, (len(square) - width) // 2
        square[top : top + height, left : left + width] = small
        stacks["thumbnail_sizes"][place] = height, width
    return None
