"""Folders of image files to one stack, with a word on every file left out."""

import glob
import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.utils import Bunch
from tqdm import tqdm

from twofold.io.pixels import read_image
from twofold.io.survey import Plan, planned

Source = str | Path | Iterable[str | Path]
Skipped = list[tuple[Path, str]]
Progress = bool | Callable[[int, int], object] | None

_THUMBNAIL_BYTES = 512 * 2**20
"""Memory for thumbnails, which are made smaller where there are too many."""

_AHEAD = 8
"""Files per thread that may be waiting to be decoded."""


def read_images(
    source: Source,
    size: int | tuple[int, int] | None = None,
    *,
    color: bool | None = False,
    fit: str = "stretch",
    missing: float | None = None,
    labels: bool = False,
    thumbnails: int | None = None,
    on_error: str = "skip",
    max_pixels: int = 89_478_485,
    n_jobs: int | None = None,
    progress: Progress = None,
) -> Bunch:
    """Read image files into a stack of one size.

    Parameters
    ----------
    source : str, Path or list of them
        A folder, which is searched with all its sub-folders; a glob pattern, where
        ``**`` stands for any folders; or the files themselves. Hidden files are
        left out of the first two. Links to folders are listed, not followed.
    size : int, (int, int) or None, default=None
        Height and width of the result; one number for a square. None takes the
        median height and width of the images, scaled down, if need be, to a longer
        side of 64.
    color : bool or None, default=False
        Whether to keep red, green and blue, or grey alone. None keeps them if at
        least one image in ten has colour: if, with it reduced to 32 x 32, the
        largest and smallest channel differ by more than 2% of the range in the mean.
        Sepia is colour by this, and grey stored in three channels is not.
    fit : {"stretch", "crop"}, default="stretch"
        Whether the whole image is stretched to the size, or its largest centred part
        of the right proportions is kept.
    missing : float or None, default=None
        What stands for a missing pixel, such as 0 for black. Resizing does not blend
        such pixels with others: all that they have a part in are missing.
    labels : bool, default=False
        Whether the folder that a file is in is its class: its path from ``source``,
        or from what all files of a list or pattern have in common; "." is that
        folder itself.
    thumbnails : int or None, default=None
        The longer side of thumbnails to make besides, in colour and in their own
        proportions; less if the median image is smaller, or if there are so many that
        they would take more than 512 MiB. A file is still decoded only once, a large
        JPEG then perhaps less coarsely, so that its image may differ slightly.
    on_error : {"skip", "raise"}, default="skip"
        Whether a file that cannot be read is left out, and listed in ``skipped``,
        or stops it all.
    max_pixels : int, default=89_478_485
        Larger images are not decoded: a small file can hide a huge one. The default
        is Pillow's own limit, beyond which it warns; it refuses twice that in any
        case. Each thread holds one image at a time.
    n_jobs : int or None, default=None
        Threads that decode. None and -1 take one per core.
    progress : bool, callable or None, default=None
        Whether to show a bar on stderr. None shows it on a terminal. A callable is
        called instead with the number of files done and of all, from 0 on, in the
        thread of the caller; what it raises stops the reading.

    Returns
    -------
    Bunch
        ``images``: float32 in [0, 1], of shape (n, h, w), or (n, h, w, 3) in
        colour. ``paths``: their files, sorted but for a list, whose order is kept.
        ``skipped``: (path, reason) pairs.
        With ``labels`` also ``target`` and ``target_names``.
        With ``thumbnails`` also ``thumbnails``: uint8 of shape (n, t, t, 3), each
        in the middle of its square, from ``(t - h) // 2`` and ``(t - w) // 2`` on,
        with 0 around it; and ``thumbnail_sizes``: the (h, w) of each.

    Notes
    -----
    What is left to None, and the limit of the thumbnails, is decided by up to 100
    files spread evenly over the sorted paths. Those that cannot be read or have more
    than ``max_pixels`` do not count; if none does, the size is 64 x 64, in grey.
    """
    shape = None if size is None else _checked_size(size)
    _check_choice("fit", fit, ("stretch", "crop"))
    _check_choice("on_error", on_error, ("skip", "raise"))
    _check_thumbnails(thumbnails)
    workers = _workers(n_jobs)
    paths, folder, skipped = _files(source)
    if skipped and on_error == "raise":
        raise ValueError(f"{skipped[0][0]}: {skipped[0][1]}")
    classes = _folder_names(paths, folder) if labels else []
    Image.init()  # which is not safe to happen in many threads at once
    with _reporter(progress, len(paths)) as report:
        longest = thumbnails and _affordable(thumbnails, len(paths))
        plan = planned(paths, shape, color, longest, max_pixels, workers)
        stacks = _allocated(len(paths), plan)
        options = fit, max_pixels, plan.longest, missing
        decode = partial(_decode, paths, plan, options, stacks)
        with closing(_mapped(decode, len(paths), workers, report)) as reasons:
            kept = _kept(reasons, paths, skipped, on_error)
    found = Bunch(
        **{name: _compacted(stack, kept) for name, stack in stacks.items()},
        paths=[paths[i] for i in kept],
        skipped=skipped,
    )
    if labels:
        names, found.target = np.unique([classes[i] for i in kept], return_inverse=True)
        found.target_names = names.tolist()
    return found


def _affordable(longest: int, count: int) -> int:
    """The longer side of ``count`` thumbnails that are held in memory at once."""
    return max(1, min(longest, math.isqrt(_THUMBNAIL_BYTES // (3 * count))))


def _allocated(count: int, plan: Plan) -> dict[str, np.ndarray]:
    """Stacks with room for what is made of every file."""
    shape = (*plan.size, 3) if plan.color else plan.size
    stacks = {"images": np.empty((count, *shape), dtype=np.float32)}
    if plan.longest is not None:
        square = (plan.longest, plan.longest, 3)
        stacks["thumbnails"] = np.zeros((count, *square), dtype=np.uint8)
        stacks["thumbnail_sizes"] = np.zeros((count, 2), dtype=int)
    return stacks


def _decode(
    paths: list[Path],
    plan: Plan,
    options: tuple[Any, ...],
    stacks: dict[str, np.ndarray],
    i: int,
) -> str | None:
    """Read one file into its place, or say why it cannot be.

    ``options`` are the last arguments of ``read_image``.
    """
    try:
        image, small = read_image(paths[i], plan.size, plan.color, *options)
        stacks["images"][i] = image
    except Exception as error:  # broken files raise anything
        return str(error).partition("\n")[0] or type(error).__name__
    if small is not None:
        square, (height, width) = stacks["thumbnails"][i], small.shape[:2]
        top, left = (len(square) - height) // 2, (len(square) - width) // 2
        square[top : top + height, left : left + width] = small
        stacks["thumbnail_sizes"][i] = height, width
    return None


def _kept(
    reasons: Iterable[str | None], paths: list[Path], skipped: Skipped, on_error: str
) -> list[int]:
    """The places of the files that were read; ``skipped`` gets the others."""
    kept = []
    for i, reason in enumerate(reasons):
        if reason is None:
            kept.append(i)
        elif on_error == "raise":
            raise ValueError(f"{paths[i]}: {reason}")
        else:
            skipped.append((paths[i], reason))
    if not kept:
        raise ValueError(
            f"source must have readable images, got {len(skipped)} files and none of "
            f"them is one; the first, {skipped[0][0]}: {skipped[0][1]}"
        )
    return kept


@contextmanager
def _reporter(progress: Progress, total: int) -> Iterator[Callable[[int], object]]:
    """What is to be called with the number of files done."""
    if callable(progress):
        progress(0, total)
        yield lambda done: progress(done, total)
        return
    hide = None if progress is None else not progress
    with tqdm(total=total, unit="image", disable=hide) as bar:
        yield lambda done: bar.update()


def _mapped(
    decode: Callable[[int], str | None],
    count: int,
    workers: int,
    report: Callable[[int], object],
) -> Generator[str | None, None, None]:
    """The results of ``decode`` for 0, 1, ..., in this order, from many threads.

    No more tasks than keep the threads busy are waiting at a time.
    """
    pool = ThreadPoolExecutor(workers)
    waiting: deque[Future[str | None]] = deque()
    try:
        for i in range(count + _AHEAD * workers):
            if i < count:
                waiting.append(pool.submit(decode, i))
            if waiting and i >= _AHEAD * workers:
                yield waiting.popleft().result()
                report(i + 1 - _AHEAD * workers)
    finally:  # an error or interrupt does not wait for what has not begun
        pool.shutdown(cancel_futures=True)


def _compacted(images: np.ndarray, kept: list[int]) -> np.ndarray:
    """The kept images moved to the front, in place: a second stack may not fit."""
    for place, i in enumerate(kept):
        if place != i:
            images[place] = images[i]
    return images[: len(kept)]


def _files(source: Source) -> tuple[list[Path], Path | None, Skipped]:
    """The files that ``source`` stands for, its folder, and what could not be seen."""
    skipped: Skipped = []
    folder = None
    if not isinstance(source, str | Path):
        paths = [Path(path) for path in source]
    elif Path(source).is_dir():
        folder = Path(source)
        paths = _walk(folder, skipped)
    elif Path(source).exists():
        paths = [Path(source)]
    elif glob.has_magic(str(source)):
        paths = [Path(p) for p in sorted(glob.glob(str(source), recursive=True))]
        paths = [path for path in paths if not path.is_dir()]
    else:
        raise FileNotFoundError(
            f"source must be a folder, a pattern or files, got {str(source)!r}, which "
            "does not exist"
        )
    if not paths:
        why = "".join(f"; {path}: {reason}" for path, reason in skipped[:1])
        raise FileNotFoundError(
            f"source must have image files, got none in {str(source)!r}{why}"
        )
    return paths, folder, skipped


def _walk(folder: Path, skipped: Skipped) -> list[Path]:
    """All files below ``folder`` that are not hidden, sorted."""

    def unseen(error: OSError) -> None:
        skipped.append((Path(str(error.filename)), error.strerror or "unreadable"))

    paths = []
    for parent, folders, files in os.walk(folder, onerror=unseen):
        folders[:] = [name for name in folders if not name.startswith(".")]
        links = [Path(parent, name) for name in folders]
        links = [path for path in links if path.is_symlink()]
        skipped += [(path, "a link to a folder, not followed") for path in links]
        paths += [Path(parent, name) for name in files if not name.startswith(".")]
    return sorted(paths)


def _folder_names(paths: list[Path], folder: Path | None) -> list[str]:
    """Each file's folder as seen from ``folder``, or from the one common to all."""
    parents = [path.absolute().parent for path in paths]
    above = folder.absolute() if folder else Path(os.path.commonpath(parents))
    return [parent.relative_to(above).as_posix() for parent in parents]


def _workers(n_jobs: int | None) -> int:
    if n_jobs in (None, -1):
        return os.cpu_count() or 1
    if not isinstance(n_jobs, int) or n_jobs < 1:
        raise ValueError(
            f"n_jobs must be a positive integer, -1 or None, got {n_jobs!r}"
        )
    return n_jobs


def _checked_size(size: int | tuple[int, int]) -> tuple[int, int]:
    pair = (size, size) if isinstance(size, Integral) else size
    try:
        height, width = pair  # type: ignore[misc]
    except (TypeError, ValueError):
        height = width = 0
    if not all(isinstance(s, Integral) and int(s) > 0 for s in (height, width)):
        raise ValueError(
            "size must be a positive integer, a (height, width) pair or None, got "
            f"{size!r}"
        )
    return int(height), int(width)


def _check_thumbnails(longest: int | None) -> None:
    whole = isinstance(longest, Integral) and not isinstance(longest, bool)
    if longest is not None and not (whole and longest > 0):
        raise ValueError(
            f"thumbnails must be a positive integer or None, got {longest!r}"
        )


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
