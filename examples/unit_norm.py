"""Data sets of one's own under the paper's protocol: images divided by their norms.

twofold reproduce --data examples.unit_norm:jaffe --method kmeans,pca,rpca,2dpca
"""

from functools import partial

import numpy as np
from sklearn.utils import Bunch

from twofold import datasets
from twofold.paper import DataSet, paper_rows


def load(name: str) -> Bunch:
    """A published data set whose images all have norm 1."""
    bunch = datasets.load(name, download=False)
    images = bunch.images.astype(float)
    images /= np.linalg.norm(images, axis=(1, 2), keepdims=True)
    return Bunch(images=images, target=bunch.target)


jaffe = DataSet("JAFFE, images of norm 1", partial(load, "jaffe"), paper_rows("jaffe"))
eyaleb = DataSet(
    "Extended Yale B, images of norm 1", partial(load, "eyaleb"), paper_rows("eyaleb")
)
