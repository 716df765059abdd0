"""SemiNMF: nonnegative coefficients and components of any sign."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from twofold._sklearn import _fit_context
from twofold.core.arrays import to_numpy
from twofold.core.factorize import SEMI_NMF
from twofold.core.prediction import nonnegative_least_squares
from twofold.core.updates import unit_columns, update_centroids
from twofold.decomposition.missing import MissingAwareFactorization


class SemiNMF(MissingAwareFactorization):
    """Semi-nonnegative matrix factorisation.

    Eq. (obj_seminmf): minimise ||X - V U||^2 over V >= 0 and components U of any sign.
    U solves its normal equations, Eq. (update_u). V takes the multiplicative step of
    Eq. (update_v) without graph and projections. Neither step raises the objective. New
    samples get the nonnegative least squares coefficients for the fitted components,
    the minimum of the objective in their rows of V.

    X may have missing entries. They are unknowns of the same objective: after the step
    of V, every iteration sets them to the entries of V U, so that they add nothing to
    ||X - V U||^2. None of the three steps raises the objective.

    Parameters
    ----------
    n_components : int, default=8
        Number of components, k.
    init : {"k-means", "random"} or array-like, default="k-means"
        Start of V: K-means indicators plus 0.2, uniform random numbers, or the given
        nonnegative coefficients of shape (n, n_components).
    scale : {"global", "sample"}, default="global"
        How samples are scaled before the fit: "global" divides all samples by their
        root mean square norm, "sample" divides each sample by its own norm.
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
        from a low-rank completion that is learned in the fit; ``transform`` uses the
        same completion for new samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the start. None draws a new seed in every fit.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, h, w[, c]) or (n_components, f)
        Components U, in the unit of X.
    coefficients_ : ndarray of shape (n, n_components)
        Coefficients V, nonnegative, with columns of length 1.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective of the scaled samples after each iteration, with the missing entries
        of that iteration. Up to rounding it never rises.
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
            Samples. The masked entries of a masked array are missing.
        y : ignored
        mask : array-like of bool, of the shape of X or of one channel of it, or None
            Mask of entries that are missing besides ``missing_values``.

        Returns
        -------
        self : SemiNMF
        """
        samples, divisor, missing = self._read_training(X, mask)
        start = self._initial_coefficients(samples)
        factors = start, update_centroids(samples, start[None])[0]
        result = self._factorize(X, samples, factors, SEMI_NMF, missing=missing)
        unit, lengths = unit_columns(to_numpy(result.coefficients))
        factors = unit, result.centroids * lengths.T
        self._set_fitted_attributes(samples, divisor, factors, result.history, missing)
        return self

    def _predict_coefficients(self, samples: np.ndarray) -> np.ndarray:
        return nonnegative_least_squares(samples, self._centroids)
