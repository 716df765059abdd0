"""Folders of image files to one stack, with a word on every file left out."""

import glob
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from numbers import Integral
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.utils import Bunch
from tqdm import tqdm

from twofold.io._pixels import read_image

Source = str | Path | Iterable[str | Path]
Skipped = list[tuple[Path, str]]

_AHEAD = 8
"""Files per thread that may be waiting to be decoded."""


def read_images(
    source: Source,
    size: int | tuple[int, int],
    *,
    color: bool = False,
    fit: str = "stretch",
    labels: bool = False,
    on_error: str = "skip",
    max_pixels: int = 89_478_485,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Bunch:
    """Read image files into a stack of one size.

    Parameters
    ----------
    source : str, Path or list of them
        A folder, which is searched with all its sub-folders; a glob pattern, where
        ``**`` stands for any folders; or the files themselves. Hidden files are
        left out of the first two. Links to folders are listed, not followed.
    size : int or (int, int)
        Height and width of the result; one number for a square.
    color : bool, default=False
        Whether to keep red, green and blue, or grey alone.
    fit : {"stretch", "crop"}, default="stretch"
        Whether the whole image is stretched to the size, or its largest centred part
        of the right proportions is kept.
    labels : bool, default=False
        Whether the folder that a file is in is its class: its path from ``source``,
        or from what all files of a list or pattern have in common; "." is that
        folder itself.
    on_error : {"skip", "raise"}, default="skip"
        Whether a file that cannot be read is left out, and listed in ``skipped``,
        or stops it all.
    max_pixels : int, default=89_478_485
        Larger images are not decoded: a small file can hide a huge one. The default
        is Pillow's own limit, beyond which it warns; it refuses twice that in any
        case. Each thread holds one image at a time.
    n_jobs : int or None, default=None
        Threads that decode. None and -1 take one per core.
    progress : bool or None, default=None
        Whether to show a bar on stderr. None shows it on a terminal.

    Returns
    -------
    Bunch
        ``images``: float32 in [0, 1], of shape (n, h, w), or (n, h, w, 3) in
        colour. ``paths``: their files, sorted but for a list, whose order is kept.
        ``skipped``: (path, reason) pairs.
        With ``labels`` also ``target`` and ``target_names``.
    """
    height, width = _checked_size(size)
    _check_choice("fit", fit, ("stretch", "crop"))
    _check_choice("on_error", on_error, ("skip", "raise"))
    paths, folder, skipped = _files(source)
    if skipped and on_error == "raise":
        raise ValueError(f"{skipped[0][0]}: {skipped[0][1]}")
    classes = _folder_names(paths, folder) if labels else []
    shape = (height, width, 3) if color else (height, width)
    images = np.empty((len(paths), *shape), dtype=np.float32)

    def decode(i: int) -> str | None:
        try:
            images[i] = read_image(paths[i], (height, width), color, fit, max_pixels)
        except Exception as error:  # broken files raise anything
            return str(error).partition("\n")[0] or type(error).__name__
        return None

    kept = []
    with closing(_mapped(decode, len(paths), n_jobs, progress)) as reasons:
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
    paths = [paths[i] for i in kept]
    found = Bunch(images=_compacted(images, kept), paths=paths, skipped=skipped)
    if labels:
        names, found.target = np.unique([classes[i] for i in kept], return_inverse=True)
        found.target_names = names.tolist()
    return found


def _mapped(
    decode: Callable[[int], str | None],
    count: int,
    n_jobs: int | None,
    progress: bool | None,
) -> Generator[str | None, None, None]:
    """The results of ``decode`` for 0, 1, ..., in this order, from many threads.

    No more tasks than keep the threads busy are waiting at a time.
    """
    workers = _workers(n_jobs)
    Image.init()  # which is not safe to happen in many threads at once
    pool = ThreadPoolExecutor(workers)
    hide = None if progress is None else not progress
    bar = tqdm(total=count, unit="image", disable=hide)
    waiting: deque[Future[str | None]] = deque()
    try:
        for i in range(count + _AHEAD * workers):
            if i < count:
                waiting.append(pool.submit(decode, i))
            if waiting and i >= _AHEAD * workers:
                yield waiting.popleft().result()
                bar.update()
    finally:  # an error or interrupt does not wait for what has not begun
        pool.shutdown(cancel_futures=True)
        bar.close()


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
            f"source must have files, got none in {str(source)!r}{why}"
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
            f"size must be a positive integer or a (height, width) pair, got {size!r}"
        )
    return int(height), int(width)


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
