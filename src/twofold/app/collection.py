"""Read a collection: a folder of images, a pattern, an array file or a data set."""

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from twofold import io
from twofold.app.features import Features, Listing, read_features, rows_of
from twofold.channels import NetworkFeatures
from twofold.io.arrays import READERS, open_arrays, shaped
from twofold.paper import datasets

Source = str | Path | Sequence[str | Path]
"""A folder, a pattern, an array file, a data set, or one or several image files."""

FOLDERS = "folders"
"""Value of ``labels`` for classes that are the folders of the images."""

NETWORK = "network"
"""Name of the channels that are the features of a network."""

THUMBNAIL = 96
"""Maximum height and width of a thumbnail, in pixels."""


@dataclass(frozen=True)
class Reading:
    """Options for reading samples, so that new samples can be read in the same way."""

    size: tuple[int, int] | None = None  # (h, w) of images; None chooses it
    color: bool | None = None  # whether images keep colours; None chooses
    fit: str = "stretch"  # "stretch" or "crop", for images of other proportions
    key: str | None = None  # name of the array in an array file, or of features
    sample_shape: tuple[int, ...] | None = None  # shape of a sample in a flat row
    order: str = "C"  # "C" or "F", order of the entries of such a row
    # Value of missing pixels of image files; resizing does not blend them.
    missing: float | None = None
    max_memory: int | None = None  # bytes that what is read may take; None chooses
    frames: str = "all"  # "all" or "first", of image files with several


@dataclass(frozen=True)
class Collection:
    """Samples with their names and metadata."""

    title: str
    # (n, h, w[, c]) or (n, f); missing entries may be filled in. ``open_collection``
    # may leave them in their file.
    images: np.ndarray
    # Paths, or names with an index such as ``faces.mat[17]`` and ``scan.tif[3]``.
    names: Sequence[str]
    paths: list[Path] = field(default_factory=list)  # image files, if any
    frames: np.ndarray | None = None  # (n,), numbers of the images in these files
    skipped: list[tuple[str, str]] = field(default_factory=list)  # (name, reason)
    reading: Reading = field(default_factory=Reading)  # with all options chosen
    target: np.ndarray | None = None  # (n,), known classes from 0
    target_names: list[str] = field(default_factory=list)  # names of the classes
    # Pictures of image files, uint8 (n, t, t, 3), each centred in its square.
    thumbnails: np.ndarray | None = None
    thumbnail_sizes: np.ndarray | None = None  # (n, 2), heights and widths
    # Mask of the shape of ``images``: the entries that a model has filled in.
    missing: np.ndarray | None = None
    # What samples are compared by rather than by their images: numbers (n, d), or
    # matrices (n, p, c) or (n, h, w, c).
    features: np.ndarray | None = None
    # Network whose features these are; None if they are the user's own.
    network: NetworkFeatures | None = None
    # Edge information of the clusters of "images" and "network", if both were tried.
    compared: dict[str, float] = field(default_factory=dict)

    @property
    def samples(self) -> np.ndarray:
        """What a model is fitted to: the features if there are any, or the images."""
        return self.images if self.features is None else self.features


def read_collection(
    source: Source,
    reading: Reading | None = None,
    *,
    labels: str | None = None,
    thumbnails: bool = False,
    features: str | Path | None = None,
) -> Collection:
    """Read a collection of samples.

    Parameters
    ----------
    source : str, Path or sequence of them
        A folder of images or one image, a glob pattern, an array file (.mat, .npy,
        .npz, .csv, .tsv, .txt or .data), or the name of a data set; or image files.
        An existing path has precedence over the name of a data set.
    reading : Reading or None
        Options; None chooses all of them. Options for another kind of source are
        ignored.
    labels : str or None
        Source of known classes: "folders" for the folders of image files, or the name
        of an array in an array file. Data sets always include their classes.
    thumbnails : bool, default=False
        Whether to make thumbnails of image files.
    features : str, Path or None, default=None
        An array file with features of each sample, as in ``Collection``: in the order
        of the files, with or without those that cannot be read, or with an array of
        paths or file names. ``reading.key`` names the array if the source is no array
        file. The samples are then compared by these.
    """
    reading = reading or Reading()
    kind = kind_of(source)
    if features is None:
        return _read_kind(kind, source, reading, labels, thumbnails)[0]
    # Before the images, which may take minutes.
    key = None if kind == "array" else reading.key
    table = read_features(features, key, reading.max_memory)
    collection, files = _read_kind(kind, source, reading, labels, thumbnails)
    return _with_features(collection, table, files, folder_of(source), key)


def _read_kind(
    kind: str,
    source: Source,
    reading: Reading,
    labels: str | None,
    thumbnails: bool,
) -> tuple[Collection, list[str]]:
    """Read a source of a kind; also return all files, or samples of other sources."""
    if kind == "images":
        return _from_images(source, reading, labels, thumbnails)
    assert isinstance(source, str | Path)
    if kind == "array":
        collection = _from_array_file(Path(source), reading, labels)
    else:
        collection = _from_data_set(str(source), labels)
    return collection, list(collection.names)


def _with_features(
    collection: Collection,
    table: Features,
    files: list[str],
    folder: Path,
    key: str | None,
) -> Collection:
    """Add the features of the samples; ``key`` is that of the features, if any."""
    skipped = [name for name, _ in collection.skipped]
    rows = rows_of(table, Listing(collection.names, files, skipped, folder))
    if rows.dtype == bool:
        rows = rows.astype(np.uint8)
    reading = collection.reading
    if key is not None:
        reading = replace(reading, key=key)
    return replace(collection, features=rows, reading=reading)


def kind_of(source: Source) -> str:
    """Return the kind of ``source``: "images", "array" or "data set"."""
    if not isinstance(source, str | Path):
        for path in map(Path, source):
            if path.is_dir() or path.suffix.lower() in READERS or not path.exists():
                raise ValueError(
                    f"{path}: of many inputs each must be an image file; name one "
                    "folder, pattern or array file alone"
                )
        return "images"
    if not str(source):
        raise ValueError("the input must have a name, got an empty one")
    path = Path(source)
    if path.is_file() and path.suffix.lower() in READERS:
        return "array"
    if path.exists() or glob.has_magic(str(source)):
        return "images"
    if str(source) in datasets.NAMES:
        return "data set"
    raise FileNotFoundError(
        f"{source}: expected a folder, a pattern such as 'photos/*.jpg', an array file "
        f"or a data set ({', '.join(datasets.NAMES)}), and there is none of this name"
    )


def folder_of(source: Source) -> Path:
    """Return ``source`` if it is a folder, else the folder that contains it."""
    if not isinstance(source, str | Path):
        folders = [Path(path).absolute().parent for path in source]
        return Path(os.path.commonpath(folders))
    path = Path(source)
    while not path.is_dir() and path != path.parent:  # strip the pattern
        path = path.parent
    return path


def name_of(source: Source) -> str:
    """Return a short name for display and for the folder of results."""
    if isinstance(source, str | Path) and not glob.has_magic(str(source)):
        path = Path(source)
        return path.stem if path.is_file() else path.resolve().name or "images"
    return folder_of(source).resolve().name or "images"


def _from_images(
    source: Source,
    reading: Reading,
    labels: str | None,
    thumbnails: bool,
) -> tuple[Collection, list[str]]:
    """Read image files; also return all that were listed."""
    if labels not in (None, FOLDERS):
        raise ValueError(f"labels of image files can be {FOLDERS!r}, got {labels!r}")
    data = io.read_images(
        source,
        reading.size,
        color=reading.color,
        fit=reading.fit,
        missing=reading.missing,
        frames=reading.frames,
        labels=labels is not None,
        thumbnails=THUMBNAIL if thumbnails else None,
        max_memory=reading.max_memory,
        progress=False,  # whoever listens shows it
    )
    if labels and len(data.target_names) == 1:
        raise ValueError(
            f"--labels {labels} needs images in more than one folder, and all are in "
            f"{data.target_names[0]!r}"
        )
    height, width, *channels = data.images.shape[1:]
    collection = Collection(
        title=name_of(source),
        images=data.images,
        names=data.names,
        paths=data.paths,
        frames=data.frames,
        skipped=[(str(path), reason) for path, reason in data.skipped],
        # Options of array files are dropped, since they do not apply.
        reading=Reading(
            (height, width),
            bool(channels),
            reading.fit,
            missing=reading.missing,
            max_memory=reading.max_memory,
            frames=reading.frames,
        ),
        target=data.get("target"),
        target_names=data.get("target_names", []),
        thumbnails=data.get("thumbnails"),
        thumbnail_sizes=data.get("thumbnail_sizes"),
    )
    return collection, list(map(str, data.files))


def _from_array_file(path: Path, reading: Reading, labels: str | None) -> Collection:
    """Read an array file: the stack and, with ``labels``, the array of classes."""
    with open_arrays(path, reading.max_memory) as file:
        wanted = [file.stack_name(reading.key)]
        if labels is not None:
            wanted.append(file.checked_name(labels, "labels"))
        arrays = file.read(wanted)
    stack = _stack(arrays[wanted[0]], reading, path)
    names = [f"{path}[{i}]" for i in range(len(stack))]
    collection = Collection(path.name, stack, names, reading=reading)
    if labels is None:
        return collection
    target, names = _classes(arrays[labels], len(stack), path)
    return replace(collection, target=target, target_names=names)


def _stack(array: np.ndarray, reading: Reading, path: Path) -> np.ndarray:
    """Return an array of ``path``, or some of its rows, as samples."""
    stack = shaped(array, reading.sample_shape, reading.order, path)
    if stack.ndim < 2:
        raise ValueError(
            f"{path} must hold a stack of samples, got an array of shape {stack.shape}"
        )
    if stack.dtype == bool:  # NumPy cannot subtract booleans
        stack = stack.astype(np.uint8)
    return stack


@contextmanager
def open_collection(
    source: Source, reading: Reading, *, features: str | Path | None = None
) -> Iterator[Collection]:
    """Yield a collection as ``read_collection`` does, without reading all of a file.

    Where an array file lets it, ``images`` are ``StoredRows``, of which slices can be
    read in the context.
    """
    if features is None and kind_of(source) == "array":
        assert isinstance(source, str | Path)
        path = Path(source)
        with open_arrays(path, reading.max_memory) as file:
            stored = file.rows(file.stack_name(reading.key))
            if stored is not None and len(stored.shape) > 1:
                rows: Any = stored.changed(lambda some: _stack(some, reading, path))
                names = _Numbered(str(path), len(rows))
                yield Collection(path.name, rows, names, reading=reading)
                return
    yield read_collection(source, reading, features=features)


class _Numbered(Sequence[str]):
    """Names ``path[0]``, ``path[1]``, ... that are made when they are asked for."""

    def __init__(self, path: str, n: int) -> None:
        self._path, self._rows = path, range(n)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, i: int) -> str: ...

    @overload
    def __getitem__(self, i: slice) -> list[str]: ...

    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[j] for j in self._rows[i]]
        return f"{self._path}[{self._rows[i]}]"


def _classes(values: np.ndarray, n: int, path: Path) -> tuple[np.ndarray, list[str]]:
    """Return the classes from 0, and their names, for an array of labels."""
    if values.size != n or not np.isfinite(values).all():
        what = f"shape {values.shape}" if values.size != n else "NaN or infinite ones"
        raise ValueError(
            f"labels in {path} must be one number for each of the {n} samples, got "
            f"{what}"
        )
    names, target = np.unique(values.reshape(-1), return_inverse=True)
    # MATLAB stores integers as floats: the class 3.0 is named "3".
    return target, [str(int(v)) if v == int(v) else str(v) for v in names]


def _from_data_set(name: str, labels: str | None) -> Collection:
    """Load a data set by name, with its classes."""
    if labels is not None:
        raise ValueError(f"the labels of {name} come by themselves, got {labels!r}")
    data = datasets.load(name)
    return Collection(
        title=name,
        images=data.images,
        names=[f"{name}[{i}]" for i in range(len(data.images))],
        target=data.target,
        target_names=data.target_names or list(map(str, np.unique(data.target))),
    )
