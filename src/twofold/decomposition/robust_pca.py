"""RobustPCA: a low-rank and a sparse part, by the inexact augmented Lagrangian."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold._sklearn import Interval, _fit_context
from twofold.core.robust_pca import split, split_rows
from twofold.core.updates import canonical_signs
from twofold.decomposition.base import Decomposition
from twofold.estimators.parameters import check_counts
from twofold.estimators.progress import (
    CallbackSupportMixin,
    FitProgress,
    warn_unfinished,
)
from twofold.estimators.scaling import new_divisors

_OUTLYING = 1e4
"""Largest ratio of an entry to the median entry for which ``fit`` does not warn."""


class RobustPCA(CallbackSupportMixin, Decomposition):
    """Robust principal component analysis, also called principal component pursuit.

    Split the flattened samples X into A + E, with A of low rank and E sparse:
    Eq. (rpca), minimise ||A||_* + lambda ||E||_1 subject to X = A + E. The solver is
    the inexact augmented Lagrangian method, in double precision for every dtype of X;
    see ``twofold.core.robust_pca``. The samples are not centred.

    Parameters
    ----------
    sparsity_weight : float or None, default=None
        Weight lambda of the sparse part. None is the theoretical weight,
        1 / sqrt(max(n, f)).
    tol : float, default=1e-7
        The fit stops when ||X - A - E|| is at most ``tol`` times ||X||. If a few
        entries are far larger than all others, this is loose for the others.
    max_iter : int, default=1000
        Maximum number of iterations. The default ``tol`` takes about 40.
    sample_shape : tuple of int or None, default=None
        Shape (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    low_rank_ : ndarray of shape (n, h, w[, c]) or (n, f)
        Low-rank part A of the training samples.
    sparse_ : ndarray of shape (n, h, w[, c]) or (n, f)
        Sparse part E of the training samples.
    components_ : ndarray of shape (rank, h, w[, c]) or (rank, f)
        Orthonormal basis of the rows of A.
    coefficients_ : ndarray of shape (n, rank)
        Coordinates of the rows of A in ``components_``.
    singular_values_ : ndarray of shape (rank,)
        Singular values of A, in descending order.
    n_components_ : int
        Rank of A.
    sparsity_weight_ : float
        Weight lambda that was used.
    objective_history_ : ndarray of shape (n_iter_,)
        ||A||_* + lambda ||E||_1 after each iteration, for X divided by its largest
        entry. It need not fall, because A + E equals X only in the limit.
    n_iter_ : int
        Number of iterations.
    sample_shape_ : tuple of int
        Shape of a sample.
    n_features_in_ : int
        Number of entries of a sample.

    References
    ----------
    E. J. Candes, X. Li, Y. Ma, J. Wright. Robust principal component analysis?
    Journal of the ACM 58, 2011.
    Z. Lin, M. Chen, Y. Ma. The augmented Lagrange multiplier method for exact recovery
    of corrupted low-rank matrices. arXiv:1009.5055, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.decomposition import RobustPCA
    >>> X = np.ones((20, 5, 4))
    >>> X[3, 2, 1] = 9.0
    >>> model = RobustPCA().fit(X)
    >>> model.n_components_, np.argwhere(abs(model.sparse_) > 0.1).tolist()
    (1, [[3, 2, 1]])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "sparsity_weight": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "sample_shape": [tuple, list, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        sparsity_weight: float | None = None,
        *,
        tol: float = 1e-7,
        max_iter: int = 1000,
        sample_shape: tuple[int, ...] | None = None,
        verbose: int = 0,
    ) -> None:
        self.sparsity_weight = sparsity_weight
        self.tol = tol
        self.max_iter = max_iter
        self.sample_shape = sample_shape
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "RobustPCA":
        """Split X into its low-rank and its sparse part.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, f)
        y : ignored

        Returns
        -------
        self : RobustPCA
        """
        check_counts(self, ("max_iter",))
        flat = self._read_flat(X, reset=True)
        self._warn_of_outlying_entries(flat)
        theoretical = 1 / np.sqrt(max(flat.shape))
        weight = theoretical if self.sparsity_weight is None else self.sparsity_weight
        # Divide by the largest entry, so that squares are finite in any unit of X.
        self._unit = unit = float(np.abs(flat).max()) or 1.0
        with FitProgress(self, X) as progress:
            rows = np.asarray(flat, dtype=np.float64) / unit
            result = split(
                rows, weight, tol=self.tol, max_iter=self.max_iter, callback=progress
            )
        if not result.converged:
            reason = f"the residual {result.residual:.1e} fell to tol={self.tol}"
            warn_unfinished(self, len(result.history), reason)
        components = canonical_signs(result.right.T).T
        # The coefficients change sign with their components.
        signs = np.sign(np.sum(components * result.right, axis=1))
        codes = result.left * (unit * result.values * signs)
        self.coefficients_ = codes.astype(flat.dtype, copy=False)
        parts = (codes @ components, unit * result.sparse, components)
        self.low_rank_, self.sparse_, self.components_ = (
            part.astype(flat.dtype, copy=False).reshape(-1, *self.sample_shape_)
            for part in parts
        )
        self.singular_values_ = (unit * result.values).astype(flat.dtype, copy=False)
        self.n_components_ = len(result.values)
        self.sparsity_weight_ = float(weight)
        self.objective_history_, self.n_iter_ = result.history, len(result.history)
        return self

    def _warn_of_outlying_entries(self, flat: np.ndarray) -> None:
        """Warn if ``tol`` is loose for most entries because a few are far larger."""
        sizes = np.abs(flat[flat != 0])
        if sizes.size and sizes.max() > _OUTLYING * np.median(sizes):
            warnings.warn(
                f"X has entries up to {sizes.max():.1e} beside a median of "
                f"{np.median(sizes):.1e}: tol={self.tol} is relative to all of X and "
                "asks little of RobustPCA in the others; clip X",
                UserWarning,
                stacklevel=3,
            )

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of low-rank parts of samples in ``components_``.

        Eq. (rpca_new): each sample x is split separately. Its coordinates c minimise
        sum_j c_j^2 / (2 s_j) + lambda ||x - sum_j c_j b_j||_1, with the components b_j
        and singular values s_j of the fit. At the exact solution of Eq. (rpca) the
        coordinates of a training sample are its row of ``coefficients_``. The inexact
        method ends near that solution, and nearer the better the model suits X.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.

        Returns
        -------
        codes : ndarray of shape (m, n_components_)
        """
        check_is_fitted(self)
        return self._coordinates(self._read_flat(X, reset=False))

    def _coordinates(self, flat: np.ndarray) -> np.ndarray:
        """Return the coordinates (m, rank) of new samples (m, f)."""
        unit = self._unit
        # Called for its check: it refuses samples that would overflow in this dtype.
        new_divisors(flat, "global", unit, self.components_.dtype)
        components = self.components_.reshape(self.n_components_, flat.shape[1])
        codes = split_rows(
            np.asarray(flat, dtype=np.float64) / unit,
            self.singular_values_.astype(np.float64) / unit,
            components.astype(np.float64),
            self.sparsity_weight_,
        )
        return (unit * codes).astype(self.components_.dtype, copy=False)

    def split(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Split samples into a low-rank and a sparse part.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.

        Returns
        -------
        low_rank, sparse : ndarrays of shape (m, h, w[, c]) or (m, f)
            Both parts, whose sum is X.
        """
        check_is_fitted(self)
        flat = self._read_flat(X, reset=False)
        low_rank = self.inverse_transform(self._coordinates(flat))
        sparse = flat.reshape(low_rank.shape) - low_rank
        return low_rank, sparse.astype(low_rank.dtype, copy=False)
