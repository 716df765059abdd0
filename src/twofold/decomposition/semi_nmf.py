"""SemiNMF: nonnegative coefficients over components of any sign."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twofold.core.factorize import SEMI_NMF
from twofold.core.prediction import nonnegative_least_squares
from twofold.core.updates import unit_columns, update_centroids
from twofold.decomposition.missing import MissingAwareFactorization
from twofold.estimators._sklearn import _fit_context


class SemiNMF(MissingAwareFactorization):
    """Semi-nonnegative matrix factorisation.

    Eq. (obj_seminmf): minimise ||X - V U||^2 over V >= 0, the components U being of
    any sign. U solves its normal equations, Eq. (update_u), and V takes the
    multiplicative step of Eq. (update_v) without graph and projections; neither ever
    raises the objective. New samples get the nonnegative least squares coefficients
    against the fitted components, which is what the objective asks of their rows.

    Entries of X may be missing: they are unknowns of the same objective. After the step
    of V every iteration sets them to what V U is there, which makes their squares in
    ||X - V U||^2 zero. So none of its three steps ever raises the objective.

    Parameters
    ----------
    n_components : int, default=8
        k.
    init : {"k-means", "random"} or array-like, default="k-means"
        The start of V: K-means indicators plus 0.2, uniform random numbers, or
        nonnegative coefficients of shape (n, n_components).
    scale : {"global", "sample"}, default="global"
        What the samples are divided by before the fit: all by their root mean square
        norm, or each by its own norm.
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
        from a low-rank completion of the samples, those of a new sample from the
        completion of the fit.
    random_state : int, RandomState instance or None, default=None
        Seeds the start. None draws a fresh seed each time.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, h, w[, c]) or (n_components, f)
        U, in the unit of the pixels.
    coefficients_ : ndarray of shape (n, n_components)
        V, nonnegative, with columns of length 1.
    objective_history_ : ndarray of shape (n_iter_,)
        The objective of the scaled samples after each iteration, missing entries being
        as it set them. It never rises but for rounding.
    reconstruction_error_ : ndarray of shape (n,)
        The norm of each sample less its reconstruction, over the entries that are not
        missing.
    n_iter_ : int
    sample_shape_ : tuple of int
    n_features_in_ : int

    References
    ----------
    C. Ding, T. Li, M. I. Jordan. Convex and semi-nonnegative matrix factorizations.
    IEEE TPAMI 32, 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twofold.decomposition import SemiNMF
    >>> model = SemiNMF(10, random_state=0).fit(load_digits().images)
    >>> model.components_.shape
    (10, 8, 8)
    """

    def __init__(
        self,
        n_components: int = 8,
        *,
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
        self.init = init
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape
        self.missing_values = missing_values
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> "SemiNMF":
        """Learn the components and coefficients of X.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, f)
            What a masked array masks is missing.
        y : ignored
        mask : array-like of bool, of the shape of X or of one channel of it, or None
            True for entries of X that are missing, besides ``missing_values``.

        Returns
        -------
        self : SemiNMF
        """
        samples, divisor, missing = self._read_to_fit(X, mask)
        start = self._start(samples)
        first = update_centroids(samples, start[None])[0]
        found = self._factorize(X, samples, (start, first), SEMI_NMF, missing=missing)
        unit, lengths = unit_columns(found.coefficients)
        factors = unit, found.centroids * lengths.T
        self._keep(samples, divisor, factors, found.history, missing)
        return self

    def _place(self, samples: np.ndarray) -> np.ndarray:
        return nonnegative_least_squares(samples, self._centroids)
