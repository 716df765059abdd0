"""The samples of the solver, and the step of their missing entries."""

from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import array_namespace

from twofold.core.arrays import Array, take_batch
from twofold.core.grams import Side, both_sides


@dataclass(frozen=True)
class Data:
    """Samples that the batch shares, or filled samples for every entry of the batch."""

    samples: Array  # ([batch,] n, c, h, w)
    sides: tuple[Side, ...]  # left and right side of these samples
    missing: Array | None = None  # boolean, (n, c, h, w)
    # Square roots (n, 1) of the weights of the samples, which multiply them; None if
    # all are 1.
    roots: Array | None = None

    def refilled(
        self,
        factors: tuple[Array, Array],
        projections: tuple[Array, Array],
        energy_weight: Array,
    ) -> "Data":
        """Return the data after one step of the missing entries, see ``fill``."""
        if self.missing is None:
            return self
        samples = fill(self.samples, self.missing, factors, projections, energy_weight)
        left, right = projections
        r = left.shape[-1], right.shape[-1]
        return replace(self, samples=samples, sides=both_sides(samples, r))

    def take(self, entries: np.ndarray) -> "Data":
        """Return the data of the given entries of the batch."""
        if self.missing is None:
            return self
        samples, *sides = take_batch((self.samples, *self.sides), entries)
        return replace(self, samples=samples, sides=tuple(sides))


def fill(
    samples: Array,
    missing: Array,
    factors: tuple[Array, Array],
    projections: tuple[Array, Array],
    energy_weight: Array,
) -> Array:
    """Take one gradient step in the missing entries of the samples.

    As a function of the samples, and up to a constant, Eq. (obj) is

        F(X) = ||(X - VU) P||^2 + lambda_1 ||X (I - P P')||^2
             + ||Q' (X - VU)||^2 + lambda_1 ||(I - Q Q') X||^2,

    with the energy that P and Q lose in place of minus the energy that they keep: for
    complete samples the two differ by a constant. Half of the gradient is

        2 lambda_1 X + (1 - lambda_1) (X P P' + Q Q' X) - V (U P P' + Q Q' U),

    with Lipschitz constant 2 max(1, lambda_1). A gradient step of the inverse length,
    on the missing entries alone, therefore never raises F. With lambda_1 = 1 the step
    leads to the minimum at once: every missing entry becomes the mean of the
    reconstructions by both sides, V (U P P' + Q Q' U) / 2.

    Parameters
    ----------
    samples, missing : arrays of shape ([batch,] n, c, h, w) and (n, c, h, w)
        X, with the missing entries as filled before, and their mask.
    factors : arrays of shape (batch, n, k) and (batch, k, c, h, w)
        V and U.
    projections : arrays of shape (batch, h, r) and (batch, w, r)
        Q and P.
    energy_weight : array of shape (batch, 1, 1)
        lambda_1.
    """
    xp = array_namespace(samples)
    coefficients, centroids = factors
    batch, k, *shape = centroids.shape
    basis = _both_projected(centroids, projections).reshape(batch, k, -1)
    model = (coefficients @ basis).reshape(batch, -1, *shape)
    weight = energy_weight[..., None, None]
    if xp.all(weight == 1):  # the minimum, without a product with X
        return xp.where(missing, model / 2, samples)
    slope = 2 * weight * samples - model
    slope = slope + (1 - weight) * _both_projected(samples, projections)
    step = 1 / (2 * xp.clip(weight, min=1.0))
    return xp.where(missing, samples - step * slope, samples)


def _both_projected(samples: Array, projections: tuple[Array, Array]) -> Array:
    """Compute X P P' + Q Q' X of samples or centroids ([batch,] n, c, h, w)."""
    transpose = array_namespace(samples).matrix_transpose
    left, right = (projection[:, None, None, ...] for projection in projections)
    return samples @ right @ transpose(right) + left @ (transpose(left) @ samples)
