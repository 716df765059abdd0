"""Draw some images of every data set that is at hand, to see that they stand upright.

python examples/contact_sheets.py FOLDER [PATH_OF_THE_DATA]
"""

import sys
from pathlib import Path

import numpy as np

from twofold import datasets

ROWS, COLUMNS = 6, 12


def main(folder: Path, data: str | None = None) -> None:
    """Write a PNG for each data set into ``folder``, and say what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in datasets.NAMES:
        try:
            found = datasets.load(name, data, download=False)
        except FileNotFoundError as missing:
            print(f"{name}: {missing}")
            continue
        picture = folder / f"{name}.png"
        draw(found.images, found.target, picture)
        n, h, w = found.images.shape
        classes = len(np.unique(found.target))
        print(f"{name}: {n} images of {h}x{w}, {classes} classes, {picture}")


def draw(images: np.ndarray, target: np.ndarray, picture: Path) -> None:
    """The first images of each class, a class in each column."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    classes = np.unique(target)[:COLUMNS]
    figure, axes = plt.subplots(
        ROWS, len(classes), figsize=(len(classes), ROWS), layout="constrained"
    )
    for column, label in zip(axes.T, classes, strict=True):
        column[0].set_title(str(label), fontsize=8)
        for axis, i in zip(column, np.flatnonzero(target == label)[:ROWS], strict=True):
            axis.imshow(images[i], cmap="gray")
            axis.set_axis_off()
    figure.savefig(picture, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(Path(sys.argv[1]), *sys.argv[2:])
