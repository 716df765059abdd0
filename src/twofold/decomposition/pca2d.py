"""PCA2D: principal directions of the columns or rows of matrices."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold.core.grams import both_ways
from twofold.core.pca2d import principal_directions
from twofold.decomposition.base import Decomposition
from twofold.estimators._sklearn import Interval, StrOptions, _fit_context
from twofold.estimators.samples import (
    are_vectors,
    from_stack,
    new_divisors,
    read_codes,
    read_directions,
    sample_norms,
    typical_norm,
)

SIDES = ("right", "left", "both")


class PCA2D(Decomposition):
    """Two-dimensional principal component analysis (2DPCA).

    Eq. (2dpca): the r orthonormal directions P of the largest Tr(P' G P), where
    G = 1/n sum_i (X_i - M)'(X_i - M) is the covariance of the columns about the mean
    sample M: the eigenvectors of its r largest eigenvalues. A sample is represented
    by (X_i - M) P, a matrix of r columns. ``side="left"`` does the same for the rows,
    Q'(X_i - M), and ``"both"`` takes both projections, Q'(X_i - M) P. Of vectors it
    is PCA, whatever the side.

    Parameters
    ----------
    n_directions : int or (int, int), default=5
        r, one number for both sides, or the left (rows) and the right (columns) one.
        A flat vector has a left side only.
        Each is capped at the size of its side, and at the rows, or columns, that all
        samples have together.
    side : {"right", "left", "both"}, default="right"
        Which side is projected.
    sample_shape : tuple of int or None, default=None
        (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X. None takes
        every row as a vector.

    Attributes
    ----------
    mean_ : ndarray of shape (h, w[, c]) or (f,)
        M.
    right_projection_ : ndarray of shape (w, r)
        P; the identity where only the left side is projected.
    left_projection_ : ndarray of shape (h, r)
        Q; the identity where only the right side is projected.
    right_variance_, left_variance_ : ndarray of shape (w,) and (h,)
        All eigenvalues of the covariance of each side, falling.
    explained_variance_ratio_ : float
        The part of the variance of the training samples that is kept.
    objective_history_ : ndarray of shape (1,)
        The squared error of the reconstructed training samples, added up. There is
        one entry because the solution is closed.
    n_iter_ : int
        1.
    sample_shape_ : tuple of int
    n_features_in_ : int

    References
    ----------
    J. Yang, D. Zhang, A. F. Frangi, J. Yang. Two-dimensional PCA: a new approach to
    appearance-based face representation and recognition. IEEE TPAMI 26, 2004.
    D. Zhang, Z.-H. Zhou. (2D)2PCA. Neurocomputing 69, 2005 (both sides).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from twofold.decomposition import PCA2D
    >>> PCA2D(n_directions=2).fit_transform(load_digits().images).shape
    (1797, 16)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "n_directions": [Interval(Integral, 1, None, closed="left"), tuple, list],
        "side": [StrOptions(set(SIDES))],
        "sample_shape": [tuple, list, None],
    }

    def __init__(
        self,
        n_directions: int | tuple[int, int] = 5,
        *,
        side: str = "right",
        sample_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_directions = n_directions
        self.side = side
        self.sample_shape = sample_shape

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "PCA2D":
        """Learn the mean sample and the directions.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, f)
        y : ignored

        Returns
        -------
        self : PCA2D
        """
        samples = self._read_stack(X, reset=True)
        side = "both" if are_vectors(samples) else self.side
        self._typical = typical_norm(sample_norms(samples))
        self._mean = samples.mean(axis=0)
        centred = samples - self._mean
        unit = float(np.abs(centred).max()) or 1.0  # whose squares are in range
        centred /= unit
        projections, variances = [], []
        for name, view, r in zip(
            ("left", "right"),
            both_ways(centred),
            read_directions(self.n_directions),
            strict=True,
        ):
            projection, spectrum = principal_directions(view, r)
            if side not in (name, "both"):
                projection = np.eye(len(spectrum), dtype=samples.dtype)
            projections.append(projection)
            with np.errstate(over="ignore", under="ignore"):
                variances.append(unit * spectrum * unit)
        self.mean_ = from_stack(self._mean[None], self.sample_shape_)[0]
        self.left_projection_, self.right_projection_ = projections
        self.left_variance_, self.right_variance_ = variances
        energy = float(np.sum(centred**2))
        kept = float(np.sum(self._project(centred) ** 2))
        self.explained_variance_ratio_ = kept / energy if energy else 1.0
        self.objective_history_ = np.array([unit * max(energy - kept, 0.0) * unit])
        self.n_iter_ = 1
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The projected samples, flattened.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.

        Returns
        -------
        codes : ndarray of shape (m, k)
            k is h r, r w or r r, times the channels.
        """
        check_is_fitted(self)
        samples = self._read_stack(X, reset=False)
        new_divisors(samples, "global", self._typical, self._mean.dtype)  # refuses
        centred = (samples - self._mean).astype(self._mean.dtype, copy=False)
        return self._project(centred).reshape(len(samples), -1)

    def _project(self, centred: np.ndarray) -> np.ndarray:
        return self.left_projection_.T @ centred @ self.right_projection_

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The samples that codes stand for, M + Q Y P'.

        Parameters
        ----------
        X : array-like of shape (m, k)
            Codes, as from ``transform``.

        Returns
        -------
        samples : ndarray of shape (m, h, w[, c]) or (m, f)
        """
        check_is_fitted(self)
        Q, P = self.left_projection_, self.right_projection_
        codes = read_codes(X, self._n_features_out, "n_features_out")
        shape = (self._mean.shape[0], Q.shape[1], P.shape[1])
        cores = codes.astype(Q.dtype, copy=False).reshape(-1, *shape)
        return from_stack(Q @ cores @ P.T + self._mean, self.sample_shape_)

    @property
    def _n_features_out(self) -> int:
        channels = self._mean.shape[0]
        kept = self.left_projection_.shape[1], self.right_projection_.shape[1]
        return channels * kept[0] * kept[1]
