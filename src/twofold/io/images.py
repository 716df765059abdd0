"""Read folders of image files into one stack, with a reason for every file left out."""

import math
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from numbers import Integral
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.utils import Bunch
from tqdm import tqdm

from twofold.io.budget import DEFAULT, Budget
from twofold.io.contents import Contents
from twofold.io.decoding import (
    File,
    Reasons,
    Stacks,
    allocated,
    decoded,
    inspected,
    refusal,
)
from twofold.io.listing import Skipped, Source, folder_names, listed_files, source_name
from twofold.io.opening import MAX_PIXELS, Limits, memory_given_back
from twofold.io.pixels import Rendering
from twofold.io.survey import Plan, planned
from twofold.progress import report

_CHOICES = {
    "fit": ("stretch", "crop"),
    "on_error": ("skip", "raise"),
    "frames": ("all", "first"),
}
"""Values of the options that are words."""

_THUMBNAIL_BYTES = 512 * 2**20
"""Maximum memory for all thumbnails, which are made smaller to fit."""


def read_images(
    source: Source,
    size: int | tuple[int, int] | None = None,
    *,
    color: bool | None = False,
    fit: str = "stretch",
    missing: float | None = None,
    frames: str = "all",
    labels: bool = False,
    thumbnails: int | None = None,
    on_error: str = "skip",
    max_pixels: int | None = MAX_PIXELS,
    max_memory: int | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Bunch:
    """Read image files into a stack of one size.

    Values that are None, and the size of the thumbnails, are chosen from up to 100
    files, spread evenly over the sorted paths, by their first frames, without files
    that cannot be read or exceed a limit. If no such file remains, images are grey and
    of 64 x 64.

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
        Sepia counts as colour; grey stored in three channels does not. Unless False,
        TIFF files of other numbers of channels keep them if they are the most; files of
        another number are skipped.
    fit : {"stretch", "crop"}, default="stretch"
        Whether the whole image is stretched to the size, or its largest centred part
        of the right proportions is kept.
    missing : float or None, default=None
        Value of missing pixels, such as 0 for black. Resizing does not blend them: a
        resized pixel is missing if a missing pixel contributes to it.
    frames : {"all", "first"}, default="all"
        Whether each frame of an animation or of a TIFF file is an image, or the first
        alone. In ImageJ and OME stacks, channels make one image, all other axes are
        frames. The sizes of an icon, smaller copies and masks in a TIFF file, and the
        further pictures in a photo of a telephone are no frames.
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
    max_pixels : int or None, default=89_478_485
        Maximum number of pixels of an image; a small file can contain a huge image.
        The default is the limit above which Pillow warns. None leaves it to Pillow,
        which refuses images of twice that size in any case.
    max_memory : int or None, default=None
        Maximum number of bytes for decoding, which all threads share; None stands for
        1 GiB. An image that needs more is not decoded. The result comes on top, but a
        file whose frames would take more than this, and more than the file, is skipped.
    n_jobs : int or None, default=None
        Number of decoding threads. None and -1 take one per core.
    progress : bool or None, default=None
        Whether to show a bar on stderr. None shows it on a terminal. Each frame is also
        reported as an event of the stage "reading", see ``twofold.progress``.

    Returns
    -------
    Bunch
        ``images``: float32 in [0, 1], of shape (n, h, w), or (n, h, w, c) in
        colour. ``paths``: the files of the images, sorted, or in the order of a list.
        ``frames``: the number of each image in its file, from 0. ``names``: the paths,
        with the number of the frame where a file has several, as in ``scan.tif[3]``.
        ``skipped``: (path, reason) pairs; a frame has the path ``scan.tif[3]``.
        ``files``: all files in their order, also those that were skipped.
        With ``labels`` also ``target`` and ``target_names``.
        With ``thumbnails`` also ``thumbnails``: uint8 of shape (n, t, t, 3), each
        thumbnail centred in its square, from ``(t - h) // 2`` and ``(t - w) // 2``
        on, with 0 around it; and ``thumbnail_sizes``: the (h, w) of each thumbnail.
    """
    shape = None if size is None else _checked_size(size)
    _check_choices(fit=fit, on_error=on_error, frames=frames)
    _check_whole(thumbnails=thumbnails, max_pixels=max_pixels, max_memory=max_memory)
    workers = _workers(n_jobs)
    paths, folder, skipped = listed_files(source)
    if skipped and on_error == "raise":
        raise ValueError(f"{skipped[0][0]}: {skipped[0][1]}")
    limits = Limits(max_pixels or math.inf, Budget(max_memory or DEFAULT))
    Image.init()  # loads the plugins, which is not thread-safe
    with warnings.catch_warnings(), memory_given_back():
        # Of images above a limit that ``max_pixels`` sets here.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        files = inspected(paths, frames, workers)
        plan = planned(files, shape, color, thumbnails, limits, workers)
        files, plan = _placed(files, plan, limits.budget.total)
        rendering = Rendering(plan.size, plan.channels, fit, missing, plan.longest)
        stacks = allocated(sum(file.contents.frames for file in files), plan)
        # Closed at once after an error, so that the threads end.
        with (
            _reporter(progress, len(stacks["images"])) as advance,
            closing(decoded(files, rendering, limits, stacks, workers)) as reasons,
        ):
            found = _collected(files, reasons, advance, skipped, on_error)
    if not found:
        raise ValueError(
            f"{source_name(source)}: expected readable images, got {len(skipped)} "
            "files and none of them is one; the first, "
            f"{skipped[0][0]}: {skipped[0][1]}"
        )
    result = _gathered(found, stacks, skipped)
    result.files = paths
    if labels:  # folders without a readable image are no classes
        classes = dict(zip(paths, folder_names(paths, folder), strict=True))
        used = [classes[path] for path in result.paths]
        names, result.target = np.unique(used, return_inverse=True)
        result.target_names = names.tolist()
    return result


def _gathered(found: list[tuple[File, int]], stacks: Stacks, skipped: Skipped) -> Bunch:
    """Return the frames that were read, with their files and names."""
    places = [file.start + k for file, k in found]
    return Bunch(
        **{name: _compact(stack, places) for name, stack in stacks.items()},
        paths=[file.path for file, _ in found],
        frames=np.array([k for _, k in found]),
        names=[file.name(k) for file, k in found],
        skipped=skipped,
    )


def _placed(files: list[File], plan: Plan, most: int) -> tuple[list[File], Plan]:
    """Place all frames one after the other, and limit the thumbnails of all of them."""
    placed, start = [], 0
    for file in files:
        refused = refusal(file, plan, most)
        contents = Contents() if refused else file.contents
        placed.append(File(file.path, contents, start, refused))
        start += contents.frames
    if plan.longest is not None:
        limit = math.isqrt(_THUMBNAIL_BYTES // (3 * start))  # 3 bytes a pixel
        plan = plan._replace(longest=max(1, min(plan.longest, limit)))
    return placed, plan


def _collected(
    files: list[File],
    reasons: Iterable[Reasons | str],
    advance: Callable[[], object],
    skipped: Skipped,
    on_error: str,
) -> list[tuple[File, int]]:
    """Return the frames that were read, and extend ``skipped`` by the others."""
    found = []
    for file, why in zip(files, reasons, strict=True):
        if isinstance(why, str):
            lost = [(file.path, why)]
        else:
            lost = [(Path(file.name(k)), text) for k, text in enumerate(why) if text]
            found += [(file, k) for k, text in enumerate(why) if not text]
        if lost and on_error == "raise":
            raise ValueError(f"{lost[0][0]}: {lost[0][1]}")
        skipped += lost
        for _ in range(file.contents.frames):
            advance()
    return found


@contextmanager
def _reporter(progress: bool | None, total: int) -> Iterator[Callable[[], object]]:
    """Yield a function that is called after each frame."""
    hide, done = None if progress is None else not progress, 0
    report("reading", 0, total)
    with tqdm(total=total, unit="image", disable=hide) as bar:

        def advance() -> None:
            nonlocal done
            done += 1
            bar.update()
            report("reading", done, total)

        yield advance


def _compact(images: np.ndarray, kept: list[int]) -> np.ndarray:
    """Move the kept images to the front, in place: a second stack may not fit."""
    for position, i in enumerate(kept):
        if position != i:
            images[position] = images[i]
    return images[: len(kept)]


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


def _check_whole(**options: int | None) -> None:
    for name, value in options.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if value is not None and not (whole and value > 0):
            raise ValueError(
                f"{name} must be a positive integer or None, got {value!r}"
            )


def _check_choices(**options: str) -> None:
    for name, value in options.items():
        if value not in _CHOICES[name]:
            choices = ", ".join(_CHOICES[name])
            raise ValueError(f"{name} must be one of {choices}, got {value!r}")
