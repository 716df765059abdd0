"""The samples as the solver holds them, and their missing entries as unknowns."""

from dataclasses import dataclass

from array_api_compat import array_namespace

from twofold.core.arrays import Array, take_runs
from twofold.core.grams import Side, both_sides


@dataclass(frozen=True)
class Data:
    """Samples that all runs share or, once entries were filled, those of each run.

    Attributes
    ----------
    samples : array of shape ([runs,] n, c, h, w)
    sides : (left, right)
        The sides of these samples.
    missing : boolean array of shape (n, c, h, w) or None
    """

    samples: Array
    sides: tuple[Side, ...]
    missing: Array | None = None

    def refilled(
        self,
        factors: tuple[Array, Array],
        projections: tuple[Array, Array],
        energy_weight: Array,
    ) -> "Data":
        """With each run's missing entries after a step of ``fill``."""
        if self.missing is None:
            return self
        samples = fill(self.samples, self.missing, factors, projections, energy_weight)
        r = tuple(projection.shape[-1] for projection in projections)
        return Data(samples, both_sides(samples, r), self.missing)

    def of_runs(self, runs: Array) -> "Data":
        """What the given runs have of it."""
        if self.missing is None:
            return self
        samples, *sides = take_runs((self.samples, *self.sides), runs)
        return Data(samples, tuple(sides), self.missing)


def fill(
    samples: Array,
    missing: Array,
    factors: tuple[Array, Array],
    projections: tuple[Array, Array],
    energy_weight: Array,
) -> Array:
    """One step of the missing entries towards what the model makes of the samples.

    As a function of the samples, and but for what does not depend on them, Eq. (obj) is

        F(X) = ||(X - VU) P||^2 + lambda_1 ||X (I - P P')||^2
             + ||Q' (X - VU)||^2 + lambda_1 ||(I - Q Q') X||^2,

    the energy that P and Q lose instead of minus that which they keep: for complete
    samples the two differ by a constant. Half of its gradient is

        2 lambda_1 X + (1 - lambda_1) (X P P' + Q Q' X) - V (U P P' + Q Q' U),

    and that changes by no more than 2 max(1, lambda_1) times a change of X. A step
    against it by the inverse of that, on the missing entries alone, never raises F.
    With lambda_1 = 1 it leads to the minimum at once, where every missing entry is
    what the two sides reconstruct there, V (U P P' + Q Q' U) / 2.

    Parameters
    ----------
    samples : array of shape ([runs,] n, c, h, w)
        X, filled before.
    missing : boolean array of shape (n, c, h, w)
    factors : arrays of shape (runs, n, k) and (runs, k, c, h, w)
        V and U.
    projections : arrays of shape (runs, h, r) and (runs, w, r)
        Q and P.
    energy_weight : array of shape (runs, 1, 1)
        lambda_1.

    Returns
    -------
    array of shape (runs, n, c, h, w)
    """
    xp = array_namespace(samples)
    coefficients, centroids = factors
    runs, k, *shape = centroids.shape
    basis = _both_projected(centroids, projections).reshape(runs, k, -1)
    model = (coefficients @ basis).reshape(runs, -1, *shape)
    weight = energy_weight[..., None, None]
    if xp.all(weight == 1):
        return xp.where(missing, model / 2, samples)
    slope = 2 * weight * samples - model
    slope = slope + (1 - weight) * _both_projected(samples, projections)
    step = 1 / (2 * xp.clip(weight, min=1.0))
    return xp.where(missing, samples - step * slope, samples)


def _both_projected(samples: Array, projections: tuple[Array, Array]) -> Array:
    """X P P' + Q Q' X of samples or centroids ([runs,] n, c, h, w)."""
    transpose = array_namespace(samples).matrix_transpose
    left, right = (projection[:, None, None, ...] for projection in projections)
    return samples @ right @ transpose(right) + left @ (transpose(left) @ samples)
