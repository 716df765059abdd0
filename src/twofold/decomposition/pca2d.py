"""PCA2D: principal directions of the columns or rows of matrices."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from twofold._sklearn import Interval, StrOptions, _fit_context
from twofold.core.arrays import to_numpy
from twofold.core.grams import both_ways
from twofold.core.pca2d import principal_directions
from twofold.decomposition.base import Decomposition
from twofold.estimators.parameters import read_directions
from twofold.estimators.reading import are_vectors, from_stack, read_codes
from twofold.estimators.scaling import new_divisors, sample_norms, typical_norm

SIDES = ("right", "left", "both")


class PCA2D(Decomposition):
    """Two-dimensional principal component analysis (2DPCA).

    Eq. (2dpca): P has r orthonormal columns that maximise Tr(P' G P), where
    G = 1/n sum_i (X_i - M)'(X_i - M) is the covariance of the columns about the mean
    sample M. The columns of P are the eigenvectors of the r largest eigenvalues of G.
    The code of a sample is (X_i - M) P, a matrix of r columns. ``side="left"`` projects
    the rows instead, Q'(X_i - M), and ``side="both"`` uses both projections,
    Q'(X_i - M) P. For vectors it is PCA, whatever the side.

    Parameters
    ----------
    n_directions : int or (int, int), default=5
        Number of directions r: one number for both sides, or a pair for the left side
        (rows) and the right side (columns). A flat vector has a left side only. Each
        number is capped at the size of its side, and at the total number of columns
        (left) or rows (right) of all samples.
    side : {"right", "left", "both"}, default="right"
        Side that is projected.
    sample_shape : tuple of int or None, default=None
        Shape (h, w), (h, w, c) or (f,) of the samples in the rows of a flat X. If None,
        every row is a vector.

    Attributes
    ----------
    mean_ : ndarray of shape (h, w[, c]) or (f,)
        Mean sample M.
    right_projection_ : ndarray of shape (w, r)
        Projection P; the identity if only the left side is projected.
    left_projection_ : ndarray of shape (h, r)
        Projection Q; the identity if only the right side is projected.
    right_variance_, left_variance_ : ndarray of shape (w,) and (h,)
        All eigenvalues of the covariance of each side, in descending order.
    explained_variance_ratio_ : float
        Fraction of the variance of the training samples that the codes retain.
    objective_history_ : ndarray of shape (1,)
        Sum of the squared reconstruction errors of the training samples. It has a
        single entry because the solution has a closed form.
    n_iter_ : int
        Number of iterations, always 1.
    sample_shape_ : tuple of int
        Shape of a sample.
    n_features_in_ : int
        Number of entries of a sample.

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
        self._typical_norm = typical_norm(sample_norms(samples))
        self._mean = samples.mean(axis=0)
        centred = samples - self._mean
        # Divide by the largest entry, so that squares neither overflow nor underflow.
        unit = float(np.abs(centred).max()) or 1.0
        centred /= unit
        projections, variances = [], []
        views, counts = both_ways(centred), read_directions(self.n_directions)
        for name, view, r in zip(("left", "right"), views, counts, strict=True):
            projection, spectrum = principal_directions(view, r)
            # A side that is not projected has a spectrum all the same.
            if side not in (name, "both"):
                projection = np.eye(len(spectrum), dtype=samples.dtype)
            projections.append(projection)
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
        """Return the projected samples, flattened.

        Parameters
        ----------
        X : array-like
            Samples of the shape that was fitted, or flat.

        Returns
        -------
        codes : ndarray of shape (m, k)
            Codes; k is h r, r w or r r, times the number of channels.
        """
        check_is_fitted(self)
        samples = self._read_stack(X, reset=False)
        # Called for its check: it rejects samples that would overflow in this dtype.
        new_divisors(samples, "global", self._typical_norm, self._mean.dtype)
        centred = (samples - self._mean).astype(self._mean.dtype, copy=False)
        return self._project(centred).reshape(len(samples), -1)

    def _project(self, centred: np.ndarray) -> np.ndarray:
        return self.left_projection_.T @ centred @ self.right_projection_

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Reconstruct samples from codes Y, as M + Q Y P'.

        Parameters
        ----------
        X : array-like of shape (m, k)
            Codes, as returned by ``transform``.

        Returns
        -------
        samples : ndarray of shape (m, h, w[, c]) or (m, f)
        """
        check_is_fitted(self)
        Q, P = self.left_projection_, self.right_projection_
        codes = to_numpy(read_codes(X, self._n_features_out, "n_features_out", Q))
        shape = (self._mean.shape[0], Q.shape[1], P.shape[1])
        cores = codes.astype(Q.dtype, copy=False).reshape(-1, *shape)
        return from_stack(Q @ cores @ P.T + self._mean, self.sample_shape_)

    @property
    def _n_features_out(self) -> int:
        left, right = self.left_projection_, self.right_projection_
        return self._mean.shape[0] * left.shape[1] * right.shape[1]
