"""Two-dimensional PCA: principal directions of the columns of matrices."""

import numpy as np

from twofold.core.grams import sample_rows
from twofold.core.updates import canonical_signs


def principal_directions(
    centred: np.ndarray, n_directions: int
) -> tuple[np.ndarray, np.ndarray]:
    """Eq. (2dpca): P maximises Tr(P' G P), G = 1/n sum_i (X_i - M)'(X_i - M).

    Parameters
    ----------
    centred : array of shape (n, c, h, w)
        Centred samples X_i - M. All channels share P.
    n_directions : int
        Number of directions, r.

    Returns
    -------
    projection : array of shape (w, r)
        Eigenvectors of the r largest eigenvalues of G, at most as many as there are
        rows of all samples.
    variances : array of shape (w,)
        All eigenvalues of G, in descending order.
    """
    rows = sample_rows(centred).reshape(-1, centred.shape[-1])
    variances = np.zeros_like(rows, shape=rows.shape[1])
    if len(rows) < rows.shape[1]:  # the SVD avoids a large w x w matrix
        _, values, directions = np.linalg.svd(rows, full_matrices=False)
        variances[: len(values)] = values**2 / len(centred)
    else:
        values, vectors = np.linalg.eigh(rows.T @ rows / len(centred))
        # eigh is ascending, and rounding may make eigenvalues negative.
        variances[:], directions = np.maximum(values[::-1], 0), vectors.T[::-1]
    return canonical_signs(directions[:n_directions].T), variances
