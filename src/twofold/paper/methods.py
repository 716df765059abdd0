"""The methods of the paper's tables by name, each with its grid of parameters.

>>> from sklearn.datasets import load_digits
>>> from twofold import methods
>>> model = methods.build("gnmf", n_clusters=10, graph_weight=0.1, random_state=0)
>>> model.fit_predict(load_digits().images).shape
(1797,)
>>> len(methods.METHODS["ts-nmf"].grid_points())
245

A baseline is one file with its builder and one entry of ``METHODS``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, PCA
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from twofold.decomposition import GNMF, PCA2D, RMNMF, Flatten, RobustPCA, SemiNMF
from twofold.estimators.parameters import draw_seeds
from twofold.estimators.tsnmf import TSNMF
from twofold.paper.clusterers import CoefficientKMeans, RBFSpectralClustering

__all__ = [
    "METHODS",
    "MISSING_METHODS",
    "PAPER_METHODS",
    "CoefficientKMeans",
    "Method",
    "RBFSpectralClustering",
    "all_methods",
    "build",
]

DIRECTIONS = (1, 3, 5, 7, 9)
"""Numbers of directions r of PCA, 2DPCA and TS-NMF."""

WEIGHTS = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
"""The paper's set S: weights of GNMF, RMNMF and TS-NMF, and radii of SC."""


@dataclass(frozen=True)
class Method:
    """A clustering method with its grid of parameters.

    Attributes
    ----------
    title : str
        Name in tables.
    build : callable
        ``build(n_clusters, random_state=None, sample_shape=None, **parameters)``
        returns an unfitted clusterer with ``fit_predict``. The clusterer accepts images
        of shape (n, h, w), or flat samples if ``sample_shape`` is given.
    grid : mapping of str to tuple
        Values of each parameter to try.
    swept : tuple of str
        Parameters of the grid that the clusterer fits together by
        ``fit_sweep(X, values)``, which returns a fitted model for each tuple of their
        values.
    iterative : bool
        Whether ``build`` accepts ``max_iter``.
    takes_tensors : bool
        Whether the clusterer accepts PyTorch tensors and computes on their device.
    handles_missing : bool
        Whether missing entries are NaN in the images of this method. Other methods get
        zeros. The protocol runs the method only on data with missing entries.
    paper_title : str
        Column of the paper's tables to compare with. Empty means the column ``title``.
    """

    title: str
    build: Callable[..., Any]
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    swept: tuple[str, ...] = ()
    iterative: bool = False
    takes_tensors: bool = False
    handles_missing: bool = False
    paper_title: str = ""

    def grid_points(self) -> list[dict[str, Any]]:
        """Return all points of the grid, or one empty point if there is no grid."""
        return list(ParameterGrid(dict(self.grid)))


def all_methods() -> dict[str, Method]:
    """Return ``METHODS`` and ``MISSING_METHODS`` in one dictionary."""
    return METHODS | MISSING_METHODS


def build(name: str, n_clusters: int, **parameters: Any) -> Any:
    """Return the unfitted clusterer of a method.

    Parameters
    ----------
    name : str
        Name in ``METHODS`` or ``MISSING_METHODS``.
    n_clusters : int
        Number of clusters.
    **parameters
        ``random_state``, from which the seeds of all parts are drawn in this call;
        ``sample_shape`` of flat samples; the parameters of the grid; and any other
        parameter of the decomposition, or of K-means for ``"kmeans"``.

    Returns
    -------
    estimator
        Unfitted clusterer with ``fit_predict``.
    """
    methods = all_methods()
    if not isinstance(name, str) or name not in methods:
        known = ", ".join(repr(known) for known in methods)
        raise ValueError(f"name must be one of {known}, got {name!r}")
    return methods[name].build(n_clusters, **parameters)


def kmeans(
    n_clusters: int, *, random_state: Any = None, sample_shape: Any = None, **more: Any
) -> Any:
    """Build K-means on the flattened samples."""
    [seed] = draw_seeds(random_state, 1)
    return make_pipeline(
        Flatten(sample_shape=sample_shape), _kmeans(n_clusters, seed, **more)
    )


def pca(
    n_clusters: int, *, random_state: Any = None, sample_shape: Any = None, **more: Any
) -> Any:
    """Build K-means on the leading principal components of the flattened samples."""
    first, last = draw_seeds(random_state, 2)
    options = {"n_components": max(DIRECTIONS), **more}
    return make_pipeline(
        Flatten(sample_shape=sample_shape),
        PCA(random_state=first, **options),
        _kmeans(n_clusters, last),
    )


def rpca(n_clusters: int, *, random_state: Any = None, **more: Any) -> Any:
    """Build K-means on the coefficients of the low-rank part of robust PCA."""
    [seed] = draw_seeds(random_state, 1)
    return CoefficientKMeans(RobustPCA(**more), n_clusters, random_state=seed)


def pca2d(n_clusters: int, *, random_state: Any = None, **more: Any) -> Any:
    """Build K-means on samples projected onto the leading directions of 2DPCA."""
    [seed] = draw_seeds(random_state, 1)
    return make_pipeline(PCA2D(**more), _kmeans(n_clusters, seed))


def nmf(
    n_clusters: int, *, random_state: Any = None, sample_shape: Any = None, **more: Any
) -> Any:
    """Build K-means on the coefficients of NMF by multiplicative updates."""
    first, last = draw_seeds(random_state, 2)
    options = {
        "n_components": n_clusters,
        "solver": "mu",
        "init": "random",
        "max_iter": 1000,
        **more,
    }
    return make_pipeline(
        Flatten(sample_shape=sample_shape),
        NMF(random_state=first, **options),
        _kmeans(n_clusters, last),
    )


def sc(
    n_clusters: int, *, random_state: Any = None, sample_shape: Any = None, **more: Any
) -> Any:
    """Build spectral clustering of samples scaled to norm 1, the unit of the radius."""
    [seed] = draw_seeds(random_state, 1)
    return make_pipeline(
        Flatten(sample_shape=sample_shape),
        Normalizer(),
        RBFSpectralClustering(n_clusters, random_state=seed, **more),
    )


def on_factors(factorization: Callable[..., Any]) -> Callable[..., Any]:
    """Return a builder of K-means on the coefficients of a factorisation."""

    def build(n_clusters: int, *, random_state: Any = None, **more: Any) -> Any:
        first, last = draw_seeds(random_state, 2)
        options = {"n_components": n_clusters, "random_state": first, **more}
        return CoefficientKMeans(
            factorization(**options), n_clusters, random_state=last
        )

    return build


def ts_nmf(n_clusters: int, *, random_state: Any = None, **more: Any) -> TSNMF:
    """Build TS-NMF with the graph, labels and tolerance of the paper.

    It factorises the pixels, and counts identical samples, as the paper does.
    Directions and weights, which the paper tunes, have the defaults of ``TSNMF``.
    """
    [seed] = draw_seeds(random_state, 1)
    paper: dict[str, Any] = {
        "channels": "pixels",
        "init": "spectral",
        "graph": "binary",
        "n_neighbors": 5,
        "assign_labels": "k-means",
        "tol": 1e-2,
        "eigen_tol": 1e-6,
        "duplicates": "keep",
    }
    return TSNMF(n_clusters, random_state=seed, **(paper | more))


def _kmeans(n_clusters: int, seed: int, **more: Any) -> KMeans:
    return KMeans(n_clusters, random_state=seed, **{"n_init": 10, **more})


PAPER_METHODS: dict[str, Method] = {
    "kmeans": Method("K-Means", kmeans),
    "pca": Method("PCA", pca, {"n_components": DIRECTIONS}),
    "rpca": Method("RPCA", rpca, iterative=True),
    "2dpca": Method("2DPCA", pca2d, {"n_directions": DIRECTIONS}),
    "nmf": Method("NMF", nmf, iterative=True),
    "sc": Method("SC", sc, {"radius": WEIGHTS}),
    "gnmf": Method("GNMF", on_factors(GNMF), {"graph_weight": WEIGHTS}, iterative=True),
    "rmnmf": Method(
        "RMNMF", on_factors(RMNMF), {"graph_weight": WEIGHTS}, iterative=True
    ),
    "semi-nmf": Method("Semi-NMF", on_factors(SemiNMF), iterative=True),
    "ts-nmf": Method(
        "TS-NMF",
        ts_nmf,
        {"n_directions": DIRECTIONS, "energy_weight": WEIGHTS, "graph_weight": WEIGHTS},
        swept=("energy_weight", "graph_weight"),
        iterative=True,
        takes_tensors=True,
    ),
}
"""The ten methods of the paper's tables, in the order of their columns."""

# To add a baseline:
# 1. Write a file with its builder, such as paper/linkage.py with a function
#    ``linkage(n_clusters, *, random_state=None, sample_shape=None, **parameters)``
#    that returns an unfitted clusterer; ``pca`` above is an example. It must accept
#    ``random_state`` and ``sample_shape`` even if it ignores one of them.
# 2. Import the builder and add one entry to METHODS, with the values to tune over:
#    "linkage": Method("Linkage", linkage, {"linkage": ("ward", "average")}),
# The command line, the tables and figures, the benchmarks and the tests read this
# registry. No other file needs a change.
METHODS: dict[str, Method] = {**PAPER_METHODS}
"""All methods by name: the ten of the paper and the baselines added to them."""


def _missing_aware(name: str) -> Method:
    """Return the missing-aware form of a method of the paper."""
    method = PAPER_METHODS[name]
    return replace(
        method,
        title=f"{method.title}, missing-aware",
        build=partial(method.build, missing_values=np.nan),
        handles_missing=True,
        paper_title=method.title,
    )


MISSING_METHODS = {
    f"{name}-missing": _missing_aware(name) for name in ("gnmf", "semi-nmf", "ts-nmf")
}
"""Missing-aware forms of three methods of the paper, by name."""
