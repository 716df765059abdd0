"""K-means on learned coefficients, and spectral clustering with a dense kernel."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import laplacian as laplacian_of
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans, k_means
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import check_symmetric, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from twofold._sklearn import HasMethods, Interval, _fit_context
from twofold.estimators.parameters import draw_seeds


class CoefficientKMeans(ClusterMixin, BaseEstimator):
    """K-means on the ``coefficients_`` that a decomposition learns in its fit.

    A pipeline would cluster the output of ``transform``, which solves for every sample
    anew. The papers cluster the coefficients at the end of the fit.

    Parameters
    ----------
    decomposition : estimator
        Estimator with ``transform`` and, when fitted, ``coefficients_``.
    n_clusters : int, default=8
        Number of clusters.
    random_state : int, RandomState instance or None, default=None
        Seed of K-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.
    decomposition_ : estimator
        Fitted clone of ``decomposition``.
    kmeans_ : KMeans
        K-means fitted to the coefficients.
    n_features_in_ : int
        Number of entries of a sample.
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "decomposition": [HasMethods(["fit", "transform"])],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        decomposition: Any,
        n_clusters: int = 8,
        *,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.decomposition = decomposition
        self.n_clusters = n_clusters
        self.random_state = random_state

    # The decomposition is a user's estimator and must validate its own parameters.
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> "CoefficientKMeans":
        """Fit the decomposition to X and K-means to its coefficients."""
        self.decomposition_ = clone(self.decomposition).fit(X)
        if not hasattr(self.decomposition_, "coefficients_"):
            raise ValueError(
                f"decomposition={self.decomposition} has no coefficients_ when fitted; "
                "make a pipeline of it and KMeans"
            )
        if self.decomposition_.coefficients_.shape[1] == 0:
            raise ValueError(
                f"decomposition={self.decomposition} left nothing to cluster: its "
                "coefficients_ have no columns; change its parameters"
            )
        [seed] = draw_seeds(self.random_state, 1)
        self.kmeans_ = KMeans(self.n_clusters, n_init=10, random_state=seed)
        self.labels_ = self.kmeans_.fit_predict(self.decomposition_.coefficients_)
        self.n_features_in_ = self.decomposition_.n_features_in_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster whose centre is nearest to the coefficients of a sample.

        The label of a training sample may differ from ``labels_`` if ``transform``
        solves another problem than the fit, as in ``RMNMF``, or if the fit stopped
        early.
        """
        check_is_fitted(self)
        return self.kmeans_.predict(self.decomposition_.transform(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Tags are also read before the parameters are validated.
        if isinstance(self.decomposition, BaseEstimator):
            tags.input_tags = get_tags(self.decomposition).input_tags
        return tags


class RBFSpectralClustering(ClusterMixin, BaseEstimator):
    """scikit-learn's spectral clustering on the dense kernel exp(-d^2 / (2 radius^2)).

    The kernel has n x n entries, all of which are stored. A sparse graph of neighbours
    would be another method.

    Labels are those of scikit-learn's ``SpectralClustering``, except where ARPACK does
    not find the eigenvectors in a few restarts: all of them are then computed directly,
    by LAPACK. This happens where the kernel hardly joins any samples and falls into
    more parts than clusters. Eigenvectors of the eigenvalue 0, of which there is one
    for each part, are then an arbitrary basis, and so labels differ from those of
    scikit-learn, which go by whatever LOBPCG has found when it stops, minutes later.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    radius : float, default=1.0
        Radius of the kernel, in the unit of the distances between samples.
    max_kernel_bytes : int, default=2**31
        Maximum size of the kernel in double precision. A larger kernel raises a
        MemoryError; the default allows 16,384 samples. The fit needs about four times
        the size of the kernel.
    random_state : int, RandomState instance or None, default=None
        Seed of the eigenvectors and of K-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.
    n_features_in_ : int
        Number of features.
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "radius": [Interval(Real, 1e-100, 1e100, closed="both")],
        "max_kernel_bytes": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        radius: float = 1.0,
        max_kernel_bytes: int = 2**31,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.radius = radius
        self.max_kernel_bytes = max_kernel_bytes
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "RBFSpectralClustering":
        """Cluster flat samples of shape (n, f)."""
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        needed = 8 * len(X) ** 2  # the kernel is always float64
        if needed > self.max_kernel_bytes:
            raise MemoryError(
                f"the kernel of {len(X)} samples takes {needed:,} bytes, more than "
                f"max_kernel_bytes={self.max_kernel_bytes:,}; cluster a random part "
                "of the samples, raise the limit, or use a method with a sparse graph, "
                'such as "gnmf" or "ts-nmf"'
            )
        [seed] = draw_seeds(self.random_state, 1)
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            labels = self._labels(X, np.random.RandomState(seed))
        # Some clusters may be empty: number the others without gaps.
        self.labels_ = np.unique(labels, return_inverse=True)[1]
        if caught:  # there may be hundreds of them
            warnings.warn(
                f"spectral clustering with radius={self.radius} gave {len(caught)} "
                f"warning(s), the first: {caught[0].message} Where the kernel hardly "
                "joins any samples, raise radius",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _labels(self, X: np.ndarray, random: np.random.RandomState) -> np.ndarray:
        """Return labels, with random numbers drawn in scikit-learn's order."""
        gamma = 1 / (2 * self.radius**2)
        kernel = check_symmetric(rbf_kernel(X.astype(np.float64), gamma=gamma))
        guess = random.uniform(-1, 1, len(X))
        points = embed(kernel, self.n_clusters, guess)
        return k_means(points, self.n_clusters, n_init=10, random_state=random)[1]


# The eigenvectors

_MAX_RESTARTS = 30
"""Restarts of ARPACK. A kernel that joins the samples needs fewer than ten."""


def embed(kernel: np.ndarray, count: int, guess: np.ndarray) -> np.ndarray:
    """Return the spectral embedding of scikit-learn, of shape (n, count)."""
    if not _is_connected(kernel):
        warnings.warn(
            "The kernel falls into parts that it does not join.", stacklevel=2
        )
    laplacian, scale = laplacian_of(kernel, normed=True, return_diag=True)
    np.fill_diagonal(laplacian, 1)  # it is 0 for samples that nothing is joined to
    vectors = _lanczos(laplacian, count, guess)
    if vectors is None:
        warnings.warn("ARPACK did not converge, LAPACK took over.", stacklevel=2)
        vectors = _smallest(laplacian, count)
    points = vectors / scale[:, None]
    largest = np.abs(points).argmax(axis=0)
    return points * np.sign(points[largest, np.arange(points.shape[1])])


def _is_connected(kernel: np.ndarray) -> bool:
    """Return whether positive entries of a kernel lead from one sample to all."""
    reached, count = kernel[0] > 0, 0
    while count < reached.sum():
        count = reached.sum()
        reached = kernel @ reached > 0  # the diagonal is 1: none is lost
    return bool(reached.all())


def _lanczos(laplacian: np.ndarray, count: int, guess: np.ndarray) -> np.ndarray | None:
    """Return eigenvectors as scikit-learn does; None if ARPACK does not find them."""
    try:
        return eigsh(laplacian, count, sigma=-1e-5, v0=guess, maxiter=_MAX_RESTARTS)[1]
    except ArpackError:
        return None


def _smallest(laplacian: np.ndarray, count: int) -> np.ndarray:
    """Return eigenvectors of the smallest eigenvalues, ascending, by LAPACK."""
    return eigh(laplacian, subset_by_index=[0, count - 1])[1]
