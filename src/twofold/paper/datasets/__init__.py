"""The paper's data sets, synthetic images, and seeded damage to images."""

from twofold.paper.datasets.corruption import (
    add_noise,
    occlude,
    remove_entries,
    sample_classes,
)
from twofold.paper.datasets.generators import iter_faces, make_faces
from twofold.paper.datasets.loaders import (
    NAMES,
    load,
    load_digits,
    load_eyaleb,
    load_jaffe,
    load_mnist,
    load_orl,
    load_pix,
    load_semeion,
    load_yale,
    overview,
)

__all__ = [
    "NAMES",
    "add_noise",
    "iter_faces",
    "load",
    "load_digits",
    "load_eyaleb",
    "load_jaffe",
    "load_mnist",
    "load_orl",
    "load_pix",
    "load_semeion",
    "load_yale",
    "make_faces",
    "occlude",
    "overview",
    "remove_entries",
    "sample_classes",
]
