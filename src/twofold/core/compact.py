"""Long sides made short: an exact change of basis for few samples of many features."""

from dataclasses import replace

from array_api_compat import array_namespace, device

from twofold.core.arrays import Array
from twofold.core.grams import both_ways, sample_rows
from twofold.core.state import Solution


def compact(
    samples: Array, n_directions: tuple[int, int]
) -> tuple[Array, tuple[Array | None, Array | None]]:
    """The samples in a basis of what they span, where a side is longer than that.

    Side vectors of length d of n samples with m such vectors each span at most
    n m dimensions. Eq. (sol_P_pre) can tell apart only these and the directions in
    which all samples are zero, r of which are kept. So the eigenproblem shrinks
    from d to n m + r, while every distance, product and objective stays the same.

    Parameters
    ----------
    samples : array of shape (n, c, h, w)
    n_directions : (int, int)
        r of the left and of the right side.

    Returns
    -------
    samples : array of shape (n, c, h', w')
    bases : (left, right)
        Orthonormal columns (h, h') and (w, w') that lead back, None where a side
        stays as it is.
    """
    xp = array_namespace(samples)
    left, right = (
        _span(sample_rows(view), r)
        for view, r in zip(both_ways(samples), n_directions, strict=True)
    )
    if left is not None:
        samples = xp.matrix_transpose(left) @ samples
    if right is not None:
        samples = samples @ right
    return samples, (left, right)


def _span(rows: Array, n_spare: int) -> Array | None:
    """Orthonormal (d, n m + n_spare) whose columns span all rows, or None."""
    xp = array_namespace(rows)
    n, m, d = rows.shape
    if d <= n * m + n_spare:
        return None
    # Columns of zeros let the QR add directions that are orthogonal to all rows.
    spare = xp.zeros((d, n_spare), dtype=rows.dtype, device=device(rows))
    columns = xp.concat([rows.reshape(n * m, d).T, spare], axis=1)
    return xp.linalg.qr(columns)[0]


def expand(solution: Solution, bases: tuple[Array | None, Array | None]) -> Solution:
    """A solution for compact samples with the projections of the samples themselves."""
    state = solution.state
    left, right = (
        side if basis is None else replace(side, projection=basis @ side.projection)
        for side, basis in zip((state.left, state.right), bases, strict=True)
    )
    return replace(solution, state=replace(state, left=left, right=right))
