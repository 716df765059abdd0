"""Draw the maps of one face and of one digit into docs/maps.png.

The face is scikit-image's astronaut, a photo of NASA in the public domain, and the
digit one of scikit-learn's: `pip install scikit-image matplotlib`.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import skimage.data
from sklearn.datasets import load_digits

from twofold.channels import OrientedGradients

FACE = slice(0, 200), slice(125, 325)
"""Rows and columns of the face in the photo."""

ARROWS = "→↘↓↙←↖↑↗"
"""Directions of the gradient, towards brighter pixels, in the order of the maps."""


def shapes() -> dict[str, np.ndarray]:
    photo = skimage.data.astronaut()[FACE].mean(axis=2)
    face = photo.reshape(40, 5, 40, 5).mean(axis=(1, 3))
    return {"a face": face, "a digit": load_digits().images[3]}


def draw(into: Path) -> None:
    banks = {"gradients": OrientedGradients(), "fine": OrientedGradients(pooling=1.0)}
    rows = [
        (what, image, bank, transformer.transform(image[None])[0])
        for what, image in shapes().items()
        for bank, transformer in banks.items()
    ]
    figure, axes = plt.subplots(
        len(rows), 9, figsize=(11, 1.35 * len(rows)), layout="constrained"
    )
    for axis, arrow in zip(axes[0, 1:], ARROWS, strict=True):
        axis.set_title(arrow)
    for line, (what, image, bank, maps) in zip(axes, rows, strict=True):
        line[0].imshow(image, cmap="gray")
        line[0].set_ylabel(f"{what}\n{bank}", fontsize=9)
        for axis, one in zip(line[1:], np.moveaxis(maps, 2, 0), strict=True):
            axis.imshow(one, cmap="magma", vmin=0, vmax=maps.max())
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    figure.savefig(into, dpi=110)


if __name__ == "__main__":
    draw(Path(__file__).parents[1] / "docs" / "maps.png")
