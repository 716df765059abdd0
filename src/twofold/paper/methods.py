"""The ten methods of the paper's tables, by name, each with the grid it was tuned over.

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
from twofold.estimators.problem import draw_seeds
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
"""r of PCA, 2DPCA and TS-NMF."""

WEIGHTS = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
"""The paper's set S: of the weights of GNMF, RMNMF and TS-NMF, and of SC's radius."""


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    title : str
        Its name in the paper's tables.
    build : callable
        ``build(n_clusters, random_state=None, sample_shape=None, **parameters)``
        returns an unfitted clusterer of (n, h, w) stacks, or of flat samples of that
        shape, whose ``fit_predict`` gives the labels.
    grid : mapping of str to tuple
        What the paper tries of each parameter.
    swept : tuple of str
        Parameters of the grid that the clusterer fits together, by
        ``fit_sweep(X, values)``, which returns a fitted model for each tuple of their
        values.
    iterative : bool
        Whether ``build`` takes ``max_iter``.
    takes_tensors : bool
        Whether the clusterer fits PyTorch tensors where they lie.
    handles_missing : bool
        Whether it is told which entries are missing, as NaN in its images, rather
        than given zeros. The protocol runs it only where entries are missing.
    paper_title : str
        The column of the paper's tables that it is set beside: its own, if empty.
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
        """All combinations of the grid; a single empty one where there is no grid."""
        return list(ParameterGrid(dict(self.grid)))


def all_methods() -> dict[str, Method]:
    """``METHODS`` and ``MISSING_METHODS``."""
    return METHODS | MISSING_METHODS


def build(name: str, n_clusters: int, **parameters: Any) -> Any:
    """The unfitted clusterer of a method.

    Parameters
    ----------
    name : str
        One of ``METHODS`` or ``MISSING_METHODS``.
    n_clusters : int
    **parameters
        ``random_state``, which seeds every part here and now, None with fresh seeds;
        ``sample_shape`` for flat samples; the parameters of the method's grid; and
        any other parameter of its decomposition, or of K-means for ``"kmeans"``.
    """
    methods = all_methods()
    if not isinstance(name, str) or name not in methods:
        known = ", ".join(repr(known) for known in methods)
        raise ValueError(f"name must be one of {known}, got {name!r}")
    return methods[name].build(n_clusters, **parameters)


def kmeans(
    n_clusters: int, *, random_state: Any = None, sample_shape: Any = None, **more: Any
) -> Any:
    """K-means of the flattened samples."""
    [seed] = draw_seeds(random_state, 1)
    return make_pipeline(
        Flatten(sample_shape=sample_shape), _kmeans(n_clusters, seed, **more)
    )


def pca(
    n_clusters: int, *, random_state: Any = None, sample_shape: Any = None, **more: Any
) -> Any:
    """K-means of the leading principal components of the flattened samples."""
    first, last = draw_seeds(random_state, 2)
    options = {"n_components": max(DIRECTIONS), **more}
    return make_pipeline(
        Flatten(sample_shape=sample_shape),
        PCA(random_state=first, **options),
        _kmeans(n_clusters, last),
    )


def rpca(n_clusters: int, *, random_state: Any = None, **more: Any) -> Any:
    """K-means of the low-rank part."""
    [seed] = draw_seeds(random_state, 1)
    return CoefficientKMeans(RobustPCA(**more), n_clusters, random_state=seed)


def pca2d(n_clusters: int, *, random_state: Any = None, **more: Any) -> Any:
    """K-means of the samples projected by the leading directions of their columns."""
    [seed] = draw_seeds(random_state, 1)
    return make_pipeline(PCA2D(**more), _kmeans(n_clusters, seed))


def nmf(
    n_clusters: int, *, random_state: Any = None, sample_shape: Any = None, **more: Any
) -> Any:
    """K-means of the coefficients of NMF by multiplicative updates."""
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
    """Spectral clustering of samples of norm 1, to which the radius refers."""
    [seed] = draw_seeds(random_state, 1)
    return make_pipeline(
        Flatten(sample_shape=sample_shape),
        Normalizer(),
        RBFSpectralClustering(n_clusters, random_state=seed, **more),
    )


def on_factors(factorization: Callable[..., Any]) -> Callable[..., Any]:
    """The builder of K-means on the coefficients of a factorisation."""

    def build(n_clusters: int, *, random_state: Any = None, **more: Any) -> Any:
        first, last = draw_seeds(random_state, 2)
        options = {"n_components": n_clusters, "random_state": first, **more}
        return CoefficientKMeans(
            factorization(**options), n_clusters, random_state=last
        )

    return build


def ts_nmf(n_clusters: int, *, random_state: Any = None, **more: Any) -> TSNMF:
    """TS-NMF with the paper's graph and labels, and a start in the first subspaces.

    The directions and weights, which the paper tunes, are those of ``TSNMF`` where none
    are given.
    """
    [seed] = draw_seeds(random_state, 1)
    paper = {
        "graph": "binary",
        "n_neighbors": 5,
        "assign_labels": "k-means",
        "tol": 1e-2,
    }
    options = {**paper, **more}
    return TSNMF(n_clusters, random_state=seed, **options)


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
        {
            "n_directions": DIRECTIONS,
            "energy_weight": WEIGHTS,
            "graph_weight": WEIGHTS,
        },
        swept=("energy_weight", "graph_weight"),
        iterative=True,
        takes_tensors=True,
    ),
}
"""The ten methods of the paper's tables, in the order of their columns."""

METHODS: dict[str, Method] = {
    **PAPER_METHODS,
    # To add a baseline:
    # 1. Write a file with its builder, such as paper/linkage.py with a function
    #    ``linkage(n_clusters, *, random_state=None, sample_shape=None, **parameters)``
    #    that returns an unfitted clusterer; ``pca`` above is an example.
    # 2. Import the builder and add one entry here, with the values to tune over:
    #    "linkage": Method("Linkage", linkage, {"linkage": ("ward", "average")}),
    # The command line, the tables and figures, the benchmarks and the tests read this
    # registry. No other file lists the methods.
}
"""All methods by name: the ten of the paper and the baselines added to them."""


def _missing_aware(name: str) -> Method:
    """A method of the paper's that fits what was observed."""
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
"""The methods of the paper that accept missing entries, as NaN in their images."""
