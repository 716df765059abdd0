"""RobustPCA: a low-rank and a sparse part, by the inexact ALM."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.core.robust_pca import split, split_rows
from twofold.core.updates import canonical_signs
from twofold.decomposition.base import Decomposition
from twofold.estimators._sklearn import Interval, _fit_context
from twofold.estimators.problem import check_counts
from twofold.estimators.progress import (
    CallbackSupportMixin,
    FitProgress,
    warn_unfinished,
)
from twofold.estimators.samples import sample_norms

_GIANT = 1e4
"""How many times the median an entry may be before the tolerance means little."""


class RobustPCA(CallbackSupportMixin, Decomposition):
    """Robust principal component analysis, also called principal component pursuit.

    Splits the flattened samples X into A + E, with A of low rank and E sparse:
    Eq. (rpca), minimise ||A||_* + weight ||E||_1 subject to X = A + E. Solved by the
    inexact augmented Lagrangian method, in double precision whatever X is in; see
    ``twofold.core.robust_pca``. The samples are not centred.

    Parameters
    ----------
    sparsity_weight : float or None, default=None
        lambda. None is the theoretical weight, 1 / sqrt(max(n, f)).
    tol : float, default=1e-7
        The fit ends when ||X - A - E|| is at most ``tol`` times ||X||. An entry that
        dwarfs all others dwarfs what is asked of them as well.
    max_iter : int, default=1000
        The most iterations; about 40 are made at the default ``tol``.
    sample_shape : tuple of int or None, default=None
        (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X.
    verbose : int, default=0
        Whether to print the objective after each iteration.

    Attributes
    ----------
    low_rank_ : ndarray of shape (n, h, w[, c]) or (n, f)
        A.
    sparse_ : ndarray of shape (n, h, w[, c]) or (n, f)
        E.
    components_ : ndarray of shape (rank, h, w[, c]) or (rank, f)
        Orthonormal samples that span A.
    coefficients_ : ndarray of shape (n, rank)
        The coordinates of the rows of A in them.
    singular_values_ : ndarray of shape (rank,)
        Of A, falling.
    n_components_ : int
        The rank of A.
    sparsity_weight_ : float
        lambda as it was used.
    objective_history_ : ndarray of shape (n_iter_,)
        ||A||_* + lambda ||E||_1 after each iteration, of X divided by its largest
        entry. It need not fall: A + E comes to equal X in the end only.
    n_iter_ : int
    sample_shape_ : tuple of int
    n_features_in_ : int

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
        sample_norms(flat)  # refuses what would overflow
        self._warn_of_giants(flat)
        weight = self.sparsity_weight
        if weight is None:
            weight = 1 / np.sqrt(max(flat.shape))
        # Whatever the unit of X, squares are finite.
        self._unit = unit = float(np.abs(flat).max()) or 1.0
        with FitProgress(self, X) as progress:
            found = split(
                np.asarray(flat, dtype=np.float64) / unit,
                weight,
                tol=self.tol,
                max_iter=self.max_iter,
                progress=progress,
            )
        if not found.converged:
            reason = f"the residual {found.residual:.1e} fell to tol={self.tol}"
            warn_unfinished(self, len(found.history), reason)
        components = canonical_signs(found.right.T).T
        signs = np.sign(np.sum(components * found.right, axis=1))
        codes = found.left * (unit * found.values * signs)
        self.coefficients_ = codes.astype(flat.dtype, copy=False)
        parts = (codes @ components, unit * found.sparse, components)
        self.low_rank_, self.sparse_, self.components_ = (
            part.astype(flat.dtype, copy=False).reshape(-1, *self.sample_shape_)
            for part in parts
        )
        self.singular_values_ = (unit * found.values).astype(flat.dtype, copy=False)
        self.n_components_ = len(found.values)
        self.sparsity_weight_ = float(weight)
        self.objective_history_ = found.history
        self.n_iter_ = len(found.history)
        return self

    def _warn_of_giants(self, flat: np.ndarray) -> None:
        """Say that ``tol`` asks little of most entries where a few dwarf them."""
        sizes = np.abs(flat[flat != 0])
        if sizes.size and sizes.max() > _GIANT * np.median(sizes):
            warnings.warn(
                f"X has entries up to {sizes.max():.1e} beside a median of "
                f"{np.median(sizes):.1e}: tol={self.tol} is relative to all of X and "
                "asks little of RobustPCA in the others; clip X",
                UserWarning,
                stacklevel=3,
            )

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of the low-rank parts of new samples in ``components_``.

        Eq. (rpca_new): each sample is split against the fitted subspace by itself,
        minimising sum_j c_j^2 / (2 s_j) + lambda ||x - sum_j c_j b_j||_1, with the
        components b_j and singular values s_j of the fit. At the exact solution of
        Eq. (rpca) a training sample gets its row of ``coefficients_`` again; the
        inexact method ends near it, the nearer the more X is what it is meant for.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.

        Returns
        -------
        codes : ndarray of shape (m, n_components_)
        """
        check_is_fitted(self)
        return self._split(self._read_flat(X, reset=False))

    def _split(self, flat: np.ndarray) -> np.ndarray:
        """The coordinates of new samples (m, f)."""
        unit = self._unit
        components = self.components_.reshape(self.n_components_, flat.shape[1])
        codes = split_rows(
            np.asarray(flat, dtype=np.float64) / unit,
            self.singular_values_.astype(np.float64) / unit,
            components.astype(np.float64),
            self.sparsity_weight_,
        )
        return (unit * codes).astype(self.components_.dtype, copy=False)

    def split(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The low-rank and the sparse part of new samples, which add up to them.

        Parameters
        ----------
        X : array-like
            As for ``transform``.

        Returns
        -------
        low_rank, sparse : ndarrays of shape (m, h, w[, c]) or (m, f)
        """
        check_is_fitted(self)
        flat = self._read_flat(X, reset=False)
        low_rank = self.inverse_transform(self._split(flat))
        sparse = flat.reshape(low_rank.shape) - low_rank
        return low_rank, sparse.astype(low_rank.dtype, copy=False)
