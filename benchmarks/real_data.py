"""The paper's data sets as arrays, for measurements and tests, where they are at hand.

Files are looked for in the folder named by TWOFOLD_DATA, then in ../shared/data.
"""

import os
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.datasets import load_digits

ROOT = Path(__file__).resolve().parents[1]

# name: file, pixel variable, label variable, rows of an image
FACES = {
    "yale": ("Yale_32x32.mat", "fea", "gnd", 32),
    "orl": ("ORL.mat", "X", "Y", 32),
    "eyaleb": ("YaleB_32x32.mat", "fea", "gnd", 32),
    "jaffe": ("jaffe.mat", "fea", "gnd", 32),
    "pix": ("pixraw10P.mat", "X", "Y", 100),
}


def find(file: str) -> Path | None:
    """The file in the first folder that has it."""
    named = os.environ.get("TWOFOLD_DATA")
    folders = [Path(named)] if named else []
    for folder in [*folders, ROOT.parent / "shared" / "data"]:
        if (folder / file).is_file():
            return folder / file
    return None


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Upright images (n, h, w) and integer classes (n,)."""
    if name == "digits":
        digits = load_digits()
        return digits.images, digits.target
    if name == "semeion":
        text = _require("semeion.data").read_text().replace(",", " ")
        table = np.array([line.split() for line in text.splitlines()], dtype=float)
        return table[:, :256].reshape(-1, 16, 16), table[:, 256:266].argmax(axis=1)
    if name == "mnist":
        with np.load(_require("mnist_70k.npz"), allow_pickle=False) as file:
            images = np.concatenate([file["x_train"], file["x_test"]])
            return images, np.concatenate([file["y_train"], file["y_test"]]).astype(int)
    file, pixels, labels, rows = FACES[name]
    content = loadmat(_require(file))
    # Column-major pixels: a C-order reshape gives transposed images.
    images = content[pixels].reshape(-1, rows, rows).transpose(0, 2, 1)
    return images.astype(float), content[labels].ravel().astype(int) - 1


def _require(file: str) -> Path:
    path = find(file)
    if path is None:
        raise FileNotFoundError(
            f"{file} is neither in TWOFOLD_DATA nor in ../shared/data"
        )
    return path
