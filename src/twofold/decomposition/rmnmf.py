"""RMNMF: a robust factorisation with a graph and orthonormal coefficients."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twofold._sklearn import _fit_context
from twofold.core.rmnmf import predict_single_coefficients, robust_factors
from twofold.decomposition.factorization import GraphFactorization
from twofold.estimators.progress import FitProgress, warn_unfinished


class RMNMF(GraphFactorization):
    """Robust manifold nonnegative matrix factorisation.

    Eq. (rmnmf): minimise ||X - V U||_{2,1} + graph_weight Tr(V' L V) over V >= 0 with
    V'V = I, and components U of any sign. The norm is the sum of the norms of the
    residuals, not of their squares, so that outliers weigh less. L is the Laplacian of
    the neighbour graph of the samples. The solver is the augmented Lagrangian method
    with a first penalty of 1e-5 that grows by a factor of 1.1; ``twofold.core.rmnmf``
    derives its steps. Because the first penalty is so small, rounding errors are
    amplified: the unit of X, its order or the number of threads may change the
    clusters.

    The constraint V'V = I couples all samples, so that the objective has no separate
    problem for new samples. But if V satisfies both constraints, each row has a single
    nonzero coefficient. A new sample therefore gets the single coefficient that
    minimises the objective of its row, with its neighbours among the training samples
    in the graph term, Eq. (rmnmf_new).

    Parameters
    ----------
    n_components : int, default=8
        Number of components, k.
    graph_weight : float, default=1e-3
        Weight lambda of the graph term, which draws the coefficients of neighbours
        together.
    n_neighbors : int, default=5
        Number of neighbours that each sample lists in the graph, at most n - 1.
    graph : str, default="binary"
        Kind of the graph: any of the kinds of graph that ``TSNMF`` has, but for
        "auto".
    init : {"k-means", "random"} or array-like, default="k-means"
        Start of V: K-means indicators plus 0.2, uniform random numbers, or the given
        nonnegative coefficients of shape (n, n_components). It is replaced by the
        nearest matrix with orthonormal columns.
    scale : {"global", "sample"}, default="global"
        How samples are scaled before the fit: "global" divides all samples by their
        root mean square norm, "sample" divides each sample by its own norm.
        ``graph_weight`` and the penalty refer to the scaled samples.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=0.03
        The fit stops when two conditions hold: the entries of the orthonormal and the
        nonnegative copy of V differ by at most ``tol`` times the size of a typical
        nonzero entry, and the residual of X = V U + E is at most ``tol`` times X, both
        in the norm ||.||_{2,1}.
    sample_shape : tuple of int or None, default=None
        Shape (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X.
    random_state : int, RandomState instance or None, default=None
        Seed of the start. None draws a new seed in every fit.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, h, w[, c]) or (n_components, f)
        Components U, in the unit of X.
    coefficients_ : ndarray of shape (n, n_components)
        Coefficients V, nonnegative and with orthonormal columns, both up to rounding.
        Every sample has exactly one nonzero coefficient.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective of the scaled samples after each iteration, at the orthonormal copy of
        V, whose entries may be negative. It need not fall.
    objective_ : float
        Objective of the scaled samples at ``coefficients_`` and ``components_``.
    reconstruction_error_ : ndarray of shape (n,)
        Norm of the residual of each sample.
    n_iter_ : int
        Number of iterations.
    sample_shape_ : tuple of int
        Shape of a sample.
    n_features_in_ : int
        Number of entries of a sample.

    References
    ----------
    J. Huang, F. Nie, H. Huang, C. Ding. Robust manifold nonnegative matrix
    factorization. ACM TKDD 8, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twofold.decomposition import RMNMF
    >>> model = RMNMF(10, tol=0.05, random_state=0).fit(load_digits().images)
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
        samples, divisor = self._scale_training(self._read_flat(X, reset=True))
        start = self._initial_coefficients(samples)
        graph = self._build_graph(samples)
        with FitProgress(self, X) as progress:
            result = robust_factors(
                samples,
                start,
                graph,
                self.graph_weight,
                tol=self.tol,
                max_iter=self.max_iter,
                callback=progress,
            )
        if not result.converged:
            reason = f"both copies of V agreed to tol={self.tol}, at {result.gap:.1e}"
            warn_unfinished(self, len(result.history), reason)
        factors = result.coefficients, result.centroids
        self.objective_ = result.objective
        self._set_fitted_model(samples, factors, graph)
        self._set_fitted_attributes(samples, divisor, factors, result.history)
        return self

    def _predict_coefficients(self, samples: np.ndarray) -> np.ndarray:
        return predict_single_coefficients(samples, self._fitted)
