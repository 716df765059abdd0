"""A data set and methods that take no time, by import path ``tiny:...``."""

import os
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from twofold.decomposition import Flatten
from twofold.paper import DataSet
from twofold.paper.methods import Method


def load(height=12, width=10):
    """48 images in four groups."""
    random = np.random.RandomState(0)
    target = np.repeat(np.arange(4), 12)
    centers = random.uniform(size=(4, height, width))
    noise = random.uniform(size=(48, height, width))
    return Bunch(images=centers[target] + 1.2 * noise, target=target)


def load_nothing():
    return [1, 2]


faces = DataSet("Tiny <faces> & co.", load, rows=(2, 3, 4))


def build(n_clusters, *, random_state=None, width=1.0, n_init=1, sample_shape=None):
    """K-means that says in the file TWOFOLD_LOG that it was fitted, and is slow."""
    return make_pipeline(
        Flatten(sample_shape=sample_shape),
        _Logged(n_clusters, n_init=int(n_init), random_state=random_state),
    )


class _Logged(KMeans):
    def fit(self, X, y=None, sample_weight=None):
        if "TWOFOLD_LOG" in os.environ:
            time.sleep(float(os.environ.get("TWOFOLD_NAP", 0)))
            with Path(os.environ["TWOFOLD_LOG"]).open("a") as log:
                fit = f"{self.n_clusters} {self.n_init} {np.sum(X):.9f}"
                log.write(f"{os.getpid()} {fit}\n")
        return super().fit(X)


slow = Method("Slow", build, {"n_init": (1, 2, 3)})


def break_down(n_clusters, *, random_state=None, sample_shape=None):
    raise ArithmeticError(f"no luck with {n_clusters}")


broken = Method("Broken", break_down)
