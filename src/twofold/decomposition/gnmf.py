"""GNMF: nonnegative matrix factorisation with a neighbour graph."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twofold.core.arrays import Array
from twofold.core.factorize import GNMF as GNMF_STEPS
from twofold.core.prediction import all_edges, place
from twofold.core.start import FLOOR
from twofold.core.updates import unit_columns, update_centroids
from twofold.decomposition.factorization import GraphFactorization
from twofold.decomposition.missing import MissingAwareFactorization
from twofold.estimators._sklearn import _fit_context


class GNMF(MissingAwareFactorization, GraphFactorization):
    """Graph-regularised nonnegative matrix factorisation.

    Eq. (gnmf): minimise ||X - V U||^2 + graph_weight Tr(V' L V) over V >= 0 and
    U >= 0, L being the Laplacian of the graph of nearest neighbours of the samples,
    by the multiplicative steps of Eq. (gnmf_v) and Eq. (gnmf_u), neither of which ever
    raises it. With ``graph_weight=0`` it is NMF by multiplicative updates. A new
    sample x gets the v >= 0 of the least ||x - v U||^2 + graph_weight
    sum_l w_l ||v - v_l||^2 over its nearest training samples l, which is what the
    objective asks of its row.

    Entries of X may be missing: they are unknowns of the same objective. After the step
    of V every iteration sets them to what V U is there, which makes their squares in
    ||X - V U||^2 zero. So none of its three steps ever raises the objective. The graph
    is that of the samples as they start.

    Parameters
    ----------
    n_components : int, default=8
        k.
    graph_weight : float, default=0.1
        lambda, how strongly neighbours are drawn to like coefficients.
    n_neighbors : int, default=5
        Neighbours that each sample lists in the graph; at most all others.
    graph : {"binary", "heat", "cosine"}, default="binary"
        Weights of the edges: 1; exp(-distance^2 / mean squared edge length); or the
        cosine between the samples, which then also decides who is near.
    init : {"k-means", "random"} or array-like, default="k-means"
        The start of V: K-means indicators plus 0.2, uniform random numbers, or
        nonnegative coefficients of shape (n, n_components). U starts from the least
        squares solution, lifted to at least a fifth of the mean entry.
    scale : {"global", "sample"}, default="global"
        What the samples are divided by before the fit: all by their root mean square
        norm, or each by its own norm. The weight refers to samples so scaled.
    max_iter : int, default=1000
        The most iterations.
    tol : float, default=1e-5
        The fit ends when an iteration lowers the objective by no more than ``tol``
        times the energy of the samples, ||X||^2 with missing entries as they start.
    sample_shape : tuple of int or None, default=None
        (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X.
    missing_values : float or None, default=None
        What stands for a missing entry in X: usually ``np.nan``, or any other number.
        With None no entry may be missing but those of a ``mask``. Missing entries start
        from a low-rank completion of the samples, at least 0; those of a new sample
        from the completion of the fit.
    random_state : int, RandomState instance or None, default=None
        Seeds the start. None draws a fresh seed each time.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, h, w[, c]) or (n_components, f)
        U, nonnegative, each of the root mean square norm of the samples.
    coefficients_ : ndarray of shape (n, n_components)
        V, nonnegative.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective of the scaled samples after each iteration, at V and U before
        they are scaled to components of one length, missing entries being as it set
        them. It never rises but for rounding.
    reconstruction_error_ : ndarray of shape (n,)
        The norm of each sample less its reconstruction, over the entries that are not
        missing.
    n_iter_ : int
    sample_shape_ : tuple of int
    n_features_in_ : int

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
            Nonnegative. What a masked array masks is missing.
        y : ignored
        mask : array-like of bool, of the shape of X or of one channel of it, or None
            True for entries of X that are missing, besides ``missing_values``.

        Returns
        -------
        self : GNMF
        """
        samples, divisor, missing = self._read_to_fit(X, mask)
        start = self._start(samples)
        first = np.maximum(
            update_centroids(samples, start[None])[0], FLOOR * samples.mean()
        )
        graph = self._build_graph(samples)
        found = self._factorize(
            X,
            samples,
            (start, first),
            GNMF_STEPS,
            missing=missing,
            graph=graph,
            graph_weight=self.graph_weight,
        )
        turned, lengths = unit_columns(found.centroids.T)
        factors = found.coefficients * lengths, turned.T
        self._lengths = lengths
        self._keep_fitted(samples, (found.coefficients, found.centroids), graph)
        self._keep(samples, divisor, factors, found.history, missing)
        return self

    def _completed(self, samples: Array, missing: Array | None) -> np.ndarray:
        lowest = float(samples.min())  # what is missing is zero
        if lowest < 0:
            raise ValueError(
                "X must be nonnegative. Negative values in data passed to GNMF, down "
                f"to {lowest:.3g}; shift X, or use SemiNMF, which takes any sign"
            )
        return np.maximum(super()._completed(samples, missing), 0)

    def _place(self, samples: np.ndarray) -> np.ndarray:
        edges = all_edges((samples,), self._fitted)
        return place((samples,), edges, self._fitted) * self._lengths

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
