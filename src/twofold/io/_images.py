"""Folders of image files to one stack, with a word on every file left out."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch
from tqdm import tqdm

from twofold.io._pixels import read_image

Source = str | Path | Iterable[str | Path]
Skipped = list[tuple[Path, str]]


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
        left out of the first two.
    size : int or (int, int)
        Height and width of the result; one number for a square.
    color : bool, default=False
        Whether to keep red, green and blue, or grey alone.
    fit : {"stretch", "crop"}, default="stretch"
        Whether the whole image is stretched to the size, or its largest centred part
        of the right proportions is kept.
    labels : bool, default=False
        Whether the folder that a file is in, as seen from ``source``, is its class.
    on_error : {"skip", "raise"}, default="skip"
        Whether a file that cannot be read is left out, and listed in ``skipped``,
        or stops it all.
    max_pixels : int, default=89_478_485
        Larger images are not decoded: a small file can hide a huge one. The default
        is Pillow's own limit, which refuses more than twice that in any case.
    n_jobs : int or None, default=None
        Threads that decode. None and -1 take one per core.
    progress : bool or None, default=None
        Whether to show a bar on stderr. None shows it on a terminal.

    Returns
    -------
    Bunch
        ``images``: float32 in [0, 1], of shape (n, h, w), or (n, h, w, 3) in
        colour. ``paths``: their files, sorted. ``skipped``: (path, reason) pairs.
        With ``labels`` also ``target`` and ``target_names``.
    """
    height, width = _checked_size(size)
    _check_choice("fit", fit, ("stretch", "crop"))
    _check_choice("on_error", on_error, ("skip", "raise"))
    paths, folder, skipped = _files(source)
    shape = (height, width, 3) if color else (height, width)
    images = np.empty((len(paths), *shape), dtype=np.float32)

    def decode(i: int) -> str | None:
        try:
            images[i] = read_image(paths[i], (height, width), color, fit, max_pixels)
        except Exception as error:  # broken files raise anything
            return str(error).partition("\n")[0] or type(error).__name__
        return None

    kept = []
    for i, reason in enumerate(_mapped(decode, len(paths), n_jobs, progress)):
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
        names, found.target = np.unique(
            _folder_names(paths, folder), return_inverse=True
        )
        found.target_names = names.tolist()
    return found


def _mapped(
    decode: Callable[[int], str | None],
    count: int,
    n_jobs: int | None,
    progress: bool | None,
) -> Iterator[str | None]:
    """The results of ``decode`` for 0, 1, ..., in this order, from many threads."""
    pool = ThreadPoolExecutor(_workers(n_jobs))
    try:
        hide = None if progress is None else not progress
        results = pool.map(decode, range(count))
        yield from tqdm(results, total=count, unit="image", disable=hide)
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
    elif glob.has_magic(str(source)):
        paths = [Path(p) for p in sorted(glob.glob(str(source), recursive=True))]
        paths = [path for path in paths if path.is_file()]
    elif Path(source).exists():
        paths = [Path(source)]
    else:
        raise FileNotFoundError(
            f"source must be a folder, a pattern or files, got {str(source)!r}, which "
            "does not exist"
        )
    if not paths:
        raise FileNotFoundError(f"source must have files, got none in {source!r}")
    return paths, folder, skipped


def _walk(folder: Path, skipped: Skipped) -> list[Path]:
    """All files below ``folder`` that are not hidden, sorted."""

    def unseen(error: OSError) -> None:
        skipped.append((Path(str(error.filename)), error.strerror or "unreadable"))

    paths = []
    for parent, folders, files in os.walk(folder, onerror=unseen):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(parent, name) for name in files if not name.startswith(".")]
    return sorted(paths)


def _folder_names(paths: list[Path], folder: Path | None) -> list[str]:
    """Each file's folder as seen from ``folder``, or from the one common to all."""
    parents = [path.parent for path in paths]
    above = folder or Path(os.path.commonpath(parents))
    names = [str(parent.relative_to(above)) for parent in parents]
    return [above.resolve().name if name == "." else name for name in names]


def _workers(n_jobs: int | None) -> int:
    if n_jobs in (None, -1):
        return os.cpu_count() or 1
    if not isinstance(n_jobs, int) or n_jobs < 1:
        raise ValueError(
            f"n_jobs must be a positive integer, -1 or None, got {n_jobs!r}"
        )
    return n_jobs


def _checked_size(size: int | tuple[int, int]) -> tuple[int, int]:
    pair = (size, size) if isinstance(size, int) else tuple(size)
    if len(pair) != 2 or not all(isinstance(s, int) and s > 0 for s in pair):
        raise ValueError(
            f"size must be a positive integer or a (height, width) pair, got {size!r}"
        )
    return pair


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
