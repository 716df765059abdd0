"""List the image files of a folder, a pattern or a list."""

import glob
import os
import reprlib
from collections.abc import Iterable
from pathlib import Path

Source = str | Path | Iterable[str | Path]
Skipped = list[tuple[Path, str]]


def listed_files(source: Source) -> tuple[list[Path], Path | None, Skipped]:
    """Return the files of ``source``, its folder, and the folders that were skipped."""
    skipped: Skipped = []
    folder = None
    if not isinstance(source, str | Path):
        paths = _listed(source)
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
            f"{source}: expected a folder, a pattern or files, and there is none of "
            "this name"
        )
    if not paths:
        why = "".join(f"; {path}: {reason}" for path, reason in skipped[:1])
        raise FileNotFoundError(
            f"{source_name(source)}: expected image files, got none{why}"
        )
    return paths, folder, skipped


def _listed(source: Iterable[str | Path]) -> list[Path]:
    """Return the paths of a list of files."""
    try:
        return [Path(path) for path in source]
    except TypeError:
        raise ValueError(
            "source must be a folder, a pattern or a list of files, as str or Path, "
            f"got {reprlib.repr(source)}"
        ) from None


def source_name(source: Source) -> str:
    """Return what a message calls a source."""
    return str(source) if isinstance(source, str | Path) else "list of files"


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


def folder_names(paths: list[Path], folder: Path | None) -> list[str]:
    """Return the folder of each file, relative to ``folder`` or the common folder."""
    parents = [path.absolute().parent for path in paths]
    above = folder.absolute() if folder else Path(os.path.commonpath(parents))
    return [parent.relative_to(above).as_posix() for parent in parents]
