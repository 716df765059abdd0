"""Read folders of image files into one stack, with a reason for every file left out."""

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
from twofold.progress import report

Source = str | Path | Iterable[str | Path]
Skipped = list[tuple[Path, str]]
Stacks = dict[str, np.ndarray]
"""Whether to show a bar (None: on a terminal), or a function of (done, total)."""

_THUMBNAIL_BYTES = 512 * 2**20
"""Maximum memory for all thumbnails, which are made smaller to fit."""

_AHEAD = 8
"""Maximum number of files per thread that wait to be decoded."""


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
    progress: bool | None = None,
) -> Bunch:
    """Read image files into a stack of one size.

    Values that are None, and the size of the thumbnails, are chosen from up to 100
    files, spread evenly over the sorted paths, without files that cannot be read or
    exceed ``max_pixels``. If no such file remains, images are grey and of 64 x 64.

    Parameters
    ----------
    source : str, Path or list of them
        A folder, which is searched with all its sub-folders; a glob pattern, where
        ``**`` stands for any folders; or the files themselves. Hidden files in
        folders and patterns are left out. Links to folders are not followed, but
        listed as skipped.
    size : int, (int, int) or None, default=None
        Height and width of the result, or one number for a square. None takes the
        median of the images, scaled down to a longer side of at most 64.
    color : bool or None, default=False
        Whether to keep red, green and blue, or to convert to grey. None keeps colours
        if at least one image in ten has colour: reduced to 32 x 32 pixels, its
        largest and smallest channel differ by more than 2% of the range in the mean.
        Sepia counts as colour; grey stored in three channels does not.
    fit : {"stretch", "crop"}, default="stretch"
        Whether the whole image is stretched to the size, or its largest centred part
        of the right proportions is kept.
    missing : float or None, default=None
        Value of missing pixels, such as 0 for black. Resizing does not blend them: a
        resized pixel is missing if a missing pixel contributes to it.
    labels : bool, default=False
        Whether the folder of a file is its class. Classes are named by the path of the
        folder from ``source``, or from the common folder of the files of a list or
        pattern; "." is that folder itself.
    thumbnails : int or None, default=None
        Longer side of additional thumbnails, in colour and in the proportions of the
        file. It is smaller if the median image is smaller, or if all thumbnails
        would take more than 512 MiB. Each file is decoded once. A large JPEG may then
        be decoded at a higher resolution, so that its image may differ slightly.
    on_error : {"skip", "raise"}, default="skip"
        Whether an unreadable file is listed in ``skipped``, or raises an error.
    max_pixels : int, default=89_478_485
        Maximum number of pixels of an image; a small file can contain a huge image.
        The default is the limit above which Pillow warns; Pillow refuses images of
        twice that size in any case. Each thread holds one image at a time.
    n_jobs : int or None, default=None
        Number of decoding threads. None and -1 take one per core.
    progress : bool or None, default=None
        Whether to show a bar on stderr. None shows it on a terminal. Each file is also
        reported as an event of the stage "reading", see ``twofold.progress``.

    Returns
    -------
    Bunch
        ``images``: float32 in [0, 1], of shape (n, h, w), or (n, h, w, 3) in
        colour. ``paths``: the files of the images, sorted, or in the order of a list.
        ``skipped``: (path, reason) pairs.
        With ``labels`` also ``target`` and ``target_names``.
        With ``thumbnails`` also ``thumbnails``: uint8 of shape (n, t, t, 3), each
        thumbnail centred in its square, from ``(t - h) // 2`` and ``(t - w) // 2``
        on, with 0 around it; and ``thumbnail_sizes``: the (h, w) of each thumbnail.
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
    Image.init()  # loads the plugins, which is not thread-safe
    with _reporter(progress, len(paths)) as advance:
        limit = math.isqrt(_THUMBNAIL_BYTES // (3 * len(paths)))  # 3 bytes a pixel
        longest = thumbnails and max(1, min(thumbnails, limit))
        plan = planned(paths, shape, color, longest, max_pixels, workers)
        stacks = _allocate(len(paths), plan)
        options = fit, max_pixels, plan.longest, missing  # of ``read_image``
        decode = partial(_decode, paths, plan, options, stacks)
        # Closed at once after an error, so that the threads end.
        with closing(_map_ordered(decode, len(paths), workers, advance)) as reasons:
            kept = _collect_readable(reasons, paths, skipped, on_error)
    result = Bunch(
        **{name: _compact(stack, kept) for name, stack in stacks.items()},
        paths=[paths[i] for i in kept],
        skipped=skipped,
    )
    if labels:  # folders without a readable image are no classes
        used = [classes[i] for i in kept]
        names, result.target = np.unique(used, return_inverse=True)
        result.target_names = names.tolist()
    return result


def _allocate(count: int, plan: Plan) -> Stacks:
    """Return uninitialised stacks with an entry for every file."""
    shape = (*plan.size, 3) if plan.color else plan.size
    stacks = {"images": np.empty((count, *shape), dtype=np.float32)}
    if plan.longest is not None:
        square = (plan.longest, plan.longest, 3)
        stacks["thumbnails"] = np.zeros((count, *square), dtype=np.uint8)
        stacks["thumbnail_sizes"] = np.zeros((count, 2), dtype=int)
    return stacks


def _decode(
    paths: list[Path], plan: Plan, options: tuple[Any, ...], stacks: Stacks, i: int
) -> str | None:
    """Read file ``i`` into the stacks; return a reason if it cannot be read."""
    # Threads write to different entries of the stacks, which needs no lock.
    try:
        image, small = read_image(paths[i], plan.size, plan.color, *options)
        stacks["images"][i] = image
    except Exception as error:  # a damaged file can raise any exception
        return str(error).partition("\n")[0] or type(error).__name__
    if small is not None:
        square, (height, width) = stacks["thumbnails"][i], small.shape[:2]
        top, left = (len(square) - height) // 2, (len(square) - width) // 2
        square[top : top + height, left : left + width] = small
        stacks["thumbnail_sizes"][i] = height, width
    return None


def _collect_readable(
    reasons: Iterable[str | None], paths: list[Path], skipped: Skipped, on_error: str
) -> list[int]:
    """Return the indices of the files that were read, and extend ``skipped``."""
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
def _reporter(progress: bool | None, total: int) -> Iterator[Callable[[int], object]]:
    """Yield a function that is called with the number of files done."""
    hide = None if progress is None else not progress
    report("reading", 0, total)
    with tqdm(total=total, unit="image", disable=hide) as bar:

        def advance(done: int) -> None:
            bar.update()
            report("reading", done, total)

        yield advance


def _map_ordered(
    decode: Callable[[int], str | None],
    count: int,
    workers: int,
    report: Callable[[int], object],
) -> Generator[str | None, None, None]:
    """Yield the results of ``decode`` for 0, 1, ..., in order, from many threads."""
    pool = ThreadPoolExecutor(workers)
    waiting: deque[Future[str | None]] = deque()
    try:
        # The results lag behind, so that few tasks wait at any time.
        for i in range(count + _AHEAD * workers):
            if i < count:
                waiting.append(pool.submit(decode, i))
            if waiting and i >= _AHEAD * workers:
                yield waiting.popleft().result()
                report(i + 1 - _AHEAD * workers)
    finally:  # after an error or interrupt, waiting tasks are cancelled
        pool.shutdown(cancel_futures=True)


def _compact(images: np.ndarray, kept: list[int]) -> np.ndarray:
    """Move the kept images to the front, in place: a second stack may not fit."""
    for position, i in enumerate(kept):
        if position != i:
            images[position] = images[i]
    return images[: len(kept)]


def _files(source: Source) -> tuple[list[Path], Path | None, Skipped]:
    """Return the files of ``source``, its folder, and the folders that were skipped."""
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
        matches = map(Path, sorted(glob.glob(str(source), recursive=True)))
        paths = [path for path in matches if not path.is_dir()]
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
    """Return all files below ``folder`` that are not hidden, sorted."""

    def skip(error: OSError) -> None:
        skipped.append((Path(str(error.filename)), error.strerror or "unreadable"))

    paths = []
    for parent, folders, files in os.walk(folder, onerror=skip):
        # os.walk does not enter the folders that are removed from its list.
        folders[:] = [name for name in folders if not name.startswith(".")]
        links = filter(Path.is_symlink, (Path(parent, name) for name in folders))
        skipped += [(path, "a link to a folder, not followed") for path in links]
        paths += [Path(parent, name) for name in files if not name.startswith(".")]
    return sorted(paths)


def _folder_names(paths: list[Path], folder: Path | None) -> list[str]:
    """Return the folder of each file, relative to ``folder`` or the common folder."""
    parents = [path.absolute().parent for path in paths]
    above = folder.absolute() if folder else Path(os.path.commonpath(parents))
    return [parent.relative_to(above).as_posix() for parent in parents]


def _workers(jobs: int | None) -> int:
    """Return the number of threads."""
    if jobs in (None, -1):
        return os.cpu_count() or 1
    if not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"n_jobs must be a positive integer, -1 or None, got {jobs!r}")
    return jobs


def _checked_size(size: int | tuple[int, int]) -> tuple[int, int]:
    """Return height and width, or raise a ValueError."""
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


def _check_thumbnails(side: int | None) -> None:
    whole = isinstance(side, Integral) and not isinstance(side, bool)
    if side is not None and not (whole and side > 0):
        raise ValueError(f"thumbnails must be a positive integer or None, got {side!r}")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
