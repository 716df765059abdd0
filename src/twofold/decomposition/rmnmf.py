"""RMNMF: a robust factorisation with a graph and orthonormal coefficients."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twofold.core.rmnmf import place_rows, robust_factors
from twofold.decomposition.factorization import GraphFactorization
from twofold.estimators._sklearn import _fit_context
from twofold.estimators.progress import FitProgress, warn_unfinished


class RMNMF(GraphFactorization):
    """Robust manifold nonnegative matrix factorisation.

    Eq. (rmnmf): minimise ||X - V U||_{2,1} + graph_weight Tr(V' L V) over V >= 0 with
    V'V = I, the components U being of any sign. The norm adds up the lengths of the
    residuals, not their squares, so that outliers weigh less; L is the Laplacian of
    the graph of nearest neighbours of the samples. Solved by the augmented Lagrangian
    method from a penalty of 1e-5 that grows by a factor of 1.1; ``twofold.core.rmnmf``
    derives it. So small a first penalty amplifies rounding, so that the unit of X, its
    order or the number of threads may change the clusters.

    V'V = I binds all samples together, so that theory gives no problem for new ones
    alone. But a V that meets both constraints has one coefficient in each row: a new
    sample gets the one that lowers the objective of its row most, with its nearest
    training samples in the graph term, Eq. (rmnmf_new).

    Parameters
    ----------
    n_components : int, default=8
        k.
    graph_weight : float, default=1e-3
        lambda, how strongly neighbours are drawn to like coefficients.
    n_neighbors : int, default=5
        Neighbours that each sample lists in the graph; at most all others.
    graph : {"binary", "heat", "cosine"}, default="binary"
        Weights of the edges, as for ``GNMF``.
    init : {"k-means", "random"} or array-like, default="k-means"
        The start of V: K-means indicators plus 0.2, uniform random numbers, or
        nonnegative coefficients of shape (n, n_components). The nearest matrix with
        orthonormal columns is taken for it.
    scale : {"global", "sample"}, default="global"
        What the samples are divided by before the fit: all by their root mean square
        norm, or each by its own norm. Weight and penalty refer to samples so scaled.
    max_iter : int, default=500
        The most iterations.
    tol : float, default=0.03
        The fit ends when no entry of the orthonormal and the nonnegative copy of V
        differs by more than ``tol`` times the size of a typical entry, and what the
        split of X leaves open is at most this part of it.
    sample_shape : tuple of int or None, default=None
        (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X.
    random_state : int, RandomState instance or None, default=None
        Seeds the start. None draws a fresh seed each time.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, h, w[, c]) or (n_components, f)
        U, in the unit of the pixels.
    coefficients_ : ndarray of shape (n, n_components)
        V, nonnegative with orthonormal columns, both to rounding. Columns can be both
        only if no two share a row: every sample has one coefficient other than zero.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective of the scaled samples after each iteration, at the orthonormal
        copy of V, whose entries may be negative. It need not fall.
    objective_ : float
        The objective of the scaled samples at ``coefficients_`` and ``components_``.
    reconstruction_error_ : ndarray of shape (n,)
        The norm of each sample less its reconstruction.
    n_iter_ : int
    sample_shape_ : tuple of int
    n_features_in_ : int

    References
    ----------
    J. Huang, F. Nie, H. Huang, C. Ding. Robust manifold nonnegative matrix
    factorization. ACM TKDD 8, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twofold.decomposition import RMNMF
    >>> model = RMNMF(10, random_state=0).fit(load_digits().images)
    >>> model.coefficients_.shape
    (1797, 10)
    """

    def __init__(
        self,
        n_components: int = 8,
        *,
        graph_weight: float = 1e-3,
        n_neighbors: int = 5,
        graph: str = "binary",
        init: str | ArrayLike = "k-means",
        scale: str = "global",
        max_iter: int = 500,
        tol: float = 0.03,
        sample_shape: tuple[int, ...] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.graph_weight = graph_weight
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.init = init
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "RMNMF":
        """Learn the components and coefficients of X.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, f)
        y : ignored

        Returns
        -------
        self : RMNMF
        """
        samples, divisor = self._scaled(self._read_flat(X, reset=True))
        start = self._start(samples)
        graph = self._build_graph(samples)
        with FitProgress(self, X) as progress:
            found = robust_factors(
                samples,
                start,
                graph,
                self.graph_weight,
                tol=self.tol,
                max_iter=self.max_iter,
                progress=progress,
            )
        if not found.converged:
            reason = f"both copies of V agreed to tol={self.tol}, at {found.gap:.1e}"
            warn_unfinished(self, len(found.history), reason)
        factors = found.coefficients, found.centroids
        self.objective_ = found.objective
        self._keep_fitted(samples, factors, graph)
        self._keep(samples, divisor, factors, found.history)
        return self

    def _place(self, samples: np.ndarray) -> np.ndarray:
        return place_rows(samples, self._fitted)
