"""GNMF: nonnegative matrix factorisation with a neighbour graph."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twofold._sklearn import _fit_context
from twofold.core.arrays import Array, to_numpy
from twofold.core.factorize import GNMF as GNMF_STEPS
from twofold.core.start import FLOOR
from twofold.core.updates import unit_columns, update_centroids
from twofold.decomposition.factorization import GraphFactorization
from twofold.decomposition.missing import MissingAwareFactorization


class GNMF(MissingAwareFactorization, GraphFactorization):
    """Graph-regularised nonnegative matrix factorisation.

    Eq. (gnmf): minimise ||X - V U||^2 + graph_weight Tr(V' L V) over V >= 0 and
    U >= 0, where L is the Laplacian of the neighbour graph of the samples. V and U take
    the multiplicative steps of Eq. (gnmf_v) and Eq. (gnmf_u), neither of which raises
    the objective. With ``graph_weight=0`` this is NMF by multiplicative updates. A new
    sample x gets the v >= 0 that minimises ||x - v U||^2 + graph_weight
    sum_l w_l ||v - v_l||^2, where l runs over its neighbours among the training
    samples: the objective in the row of x.

    X may have missing entries. They are unknowns of the same objective: after the step
    of V, every iteration sets them to the entries of V U, so that they add nothing to
    ||X - V U||^2. None of the three steps raises the objective. The graph is built
    once, from the samples with the start values of the missing entries.

    Parameters
    ----------
    n_components : int, default=8
        Number of components, k.
    graph_weight : float, default=0.1
        Weight lambda of the graph term, which draws the coefficients of neighbours
        together.
    n_neighbors : int, default=5
        Number of neighbours that each sample lists in the graph, at most n - 1.
    graph : str, default="binary"
        Kind of the graph: any of the kinds of graph that ``TSNMF`` has, but for
        "auto".
    init : {"k-means", "random"} or array-like, default="k-means"
        Start of V: K-means indicators plus 0.2, uniform random numbers, or the given
        nonnegative coefficients of shape (n, n_components). U starts from the least
        squares solution, with entries raised to at least 0.2 times the mean entry of X.
    scale : {"global", "sample"}, default="global"
        How samples are scaled before the fit: "global" divides all samples by their
        root mean square norm, "sample" divides each sample by its own norm.
        ``graph_weight`` refers to the scaled samples.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-5
        The fit stops when an iteration lowers the objective by at most ``tol`` times
        ||X||^2, in which missing entries have their start values.
    sample_shape : tuple of int or None, default=None
        Shape (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X.
    missing_values : float or None, default=None
        Value that marks a missing entry of X, usually ``np.nan``. If None, only a
        ``mask`` or a masked array marks missing entries. Missing entries start
        from a low-rank completion that is learned in the fit, clipped at 0;
        ``transform`` uses the same completion for new samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the start. None draws a new seed in every fit.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, h, w[, c]) or (n_components, f)
        Components U, nonnegative. The norm of each is the root mean square norm of the
        samples.
    coefficients_ : ndarray of shape (n, n_components)
        Coefficients V, nonnegative.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective of the scaled samples after each iteration, with the missing entries
        of that iteration, and before components are scaled to equal norms. Up to
        rounding it never rises.
    reconstruction_error_ : ndarray of shape (n,)
        Norm of the residual of each sample, over the entries that are not missing.
    n_iter_ : int
        Number of iterations.
    sample_shape_ : tuple of int
        Shape of a sample.
    n_features_in_ : int
        Number of entries of a sample.

    References
    ----------
    D. Cai, X. He, J. Han, T. S. Huang. Graph regularized nonnegative matrix
    factorization for data representation. IEEE TPAMI 33, 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twofold.decomposition import GNMF
    >>> model = GNMF(10, random_state=0).fit(load_digits().images)
    >>> bool((model.components_ >= 0).all())
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **GraphFactorization._parameter_constraints,
        **MissingAwareFactorization._parameter_constraints,
    }

    def __init__(
        self,
        n_components: int = 8,
        *,
        graph_weight: float = 0.1,
        n_neighbors: int = 5,
        graph: str = "binary",
        init: str | ArrayLike = "k-means",
        scale: str = "global",
        max_iter: int = 1000,
        tol: float = 1e-5,
        sample_shape: tuple[int, ...] | None = None,
        missing_values: float | None = None,
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
        self.missing_values = missing_values
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> "GNMF":
        """Learn the components and coefficients of X.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, f)
            Nonnegative samples. The masked entries of a masked array are missing.
        y : ignored
        mask : array-like of bool, of the shape of X or of one channel of it, or None
            Mask of entries that are missing besides ``missing_values``.

        Returns
        -------
        self : GNMF
        """
        samples, divisor, missing = self._read_training(X, mask)
        start = self._initial_coefficients(samples)
        least_squares = update_centroids(samples, start[None])[0]
        # A multiplicative step never moves an entry away from zero.
        centroids = np.maximum(least_squares, FLOOR * samples.mean())
        graph = self._build_graph(samples)
        weighted = {"graph": graph, "graph_weight": self.graph_weight}
        result = self._factorize(
            X, samples, (start, centroids), GNMF_STEPS, missing=missing, **weighted
        )
        factors = to_numpy(result.coefficients), to_numpy(result.centroids)
        # New samples are predicted for the factors of the objective, then rescaled.
        self._set_fitted_model(samples, factors, graph)
        unit, self._lengths = unit_columns(factors[1].T)
        factors = factors[0] * self._lengths, unit.T
        self._set_fitted_attributes(samples, divisor, factors, result.history, missing)
        return self

    def _completed(self, samples: Array, missing: Array | None) -> np.ndarray:
        lowest = float(to_numpy(samples).min())  # missing entries are zero here
        if lowest < 0:
            raise ValueError(
                "X must be nonnegative. Negative values in data passed to GNMF, down "
                f"to {lowest:.3g}; shift X, or use SemiNMF, which takes any sign"
            )
        return np.maximum(super()._completed(samples, missing), 0)

    def _predict_coefficients(self, samples: np.ndarray) -> np.ndarray:
        edges = self._fitted.edges((samples,))
        return self._fitted.predict((samples,), edges) * self._lengths

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
