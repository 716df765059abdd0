"""Low-rank completion of the missing entries of a stack, by a Gaussian model.

The samples are draws from one Gaussian. Their coefficients Q' (X - mean) P, for
orthonormal directions Q of the rows and P of the columns, are independent. Every entry
is observed with noise of the same variance. Coefficients whose variance is below the
noise are shrunk towards zero, so that few directions remain: a soft low-rank model of
both sides. The noise variance is chosen by the error on held-out observed entries.
"""

import math
from dataclasses import dataclass, replace

from array_api_compat import array_namespace, device

from twofold.core.arrays import AnyArray, Array, like, positive_or_one, take
from twofold.core.grams import both_ways, sample_rows

_MAX_ENTRIES, _MIN_SAMPLES = 2**19, 32
"""Maximum number of entries to learn from, and minimum number of samples."""

_HELD_OUT, _MAX_HELD_OUT = 10, 0.3
"""One in so many observed entries is held out; maximum fraction of a valid choice."""

_SHRINK, _MAX_STEPS, _PATIENCE = 0.7, 40, 2
"""Factor of the noise in a step, maximum steps, and steps without improvement."""

_LEARNING_ROUNDS, _FILLING_ROUNDS = 10, 100
"""Rounds of learning and filling at a noise level, and of filling by a known model."""


@dataclass(frozen=True)
class Completion:
    """Gaussian model of samples (c, h, w), with the gain of each coefficient."""

    mean: Array  # (c, h, w), mean sample
    left: Array  # (h, a), Q, with orthonormal columns
    right: Array  # (w, b), P, with orthonormal columns
    gain: Array  # (c, a, b), shrinkage variance / (variance + noise) of a coefficient

    def like(self, template: Array) -> "Completion":
        """Convert to the namespace, dtype and device of ``template``."""
        parts = self.mean, self.left, self.right, self.gain
        return Completion(*(like(part, template) for part in parts))

    def times(self, factor: Array) -> "Completion":
        """Return the model of the samples multiplied by ``factor``."""
        return replace(self, mean=factor * self.mean)

    def smooth(self, samples: Array) -> Array:
        """Return the posterior mean (n, c, h, w) of noise-free samples."""
        transpose = array_namespace(samples).matrix_transpose
        left, right = self.left, self.right
        shrunk = transpose(left) @ (samples - self.mean) @ right * self.gain
        return self.mean + left @ shrunk @ transpose(right)


def learn_completion(samples: Array, missing: Array) -> Completion:
    """Learn the Gaussian model of samples with missing entries.

    The noise is lowered from the variance of the entries as long as the error on the
    held-out entries falls. At each noise level the model is learned from the filled
    samples, and the entries are filled by the model, in alternation.

    Parameters
    ----------
    samples : array of shape (n, c, h, w)
        Samples with any finite numbers in the missing entries.
    missing : boolean array of shape (n, c, h, w)
    """
    xp = array_namespace(samples)
    samples, missing = _subsample(samples), _subsample(missing)
    held = held_out(missing)
    hidden = missing | held
    filled = mean_filled(samples, hidden)
    noise = float(xp.mean((filled - xp.mean(filled, axis=0)) ** 2))
    best, waited = (float("inf"), noise, filled), 0
    for _ in range(_MAX_STEPS):
        # The last fill is the start at the next noise level, so few rounds suffice.
        filled, _ = _learn_and_fill(samples, hidden, filled, noise)
        errors = xp.where(held, filled - samples, xp.zeros_like(samples))
        error = float(xp.sum(errors**2))
        waited += 1
        if error < best[0]:
            best, waited = (error, noise, filled), 0
        if waited > _PATIENCE:
            break
        noise *= _SHRINK
    # Learn once more at the best noise level, now from the held-out entries too.
    filled = xp.where(missing, best[2], samples)
    return _learn_and_fill(samples, missing, filled, best[1])[1]


def complete(samples: AnyArray, missing: Array, completion: Completion) -> AnyArray:
    """Fill the missing entries with approximations of their conditional means.

    The conditional mean is a fixed point of filling by the smoothed samples. Repeated
    filling converges to it, and no round raises the negative log-likelihood. A hundred
    rounds suffice if half of the entries are observed, but not if few are. The number
    of rounds is fixed, so that the result for a sample does not depend on the other
    samples.
    """
    xp = array_namespace(samples)
    filled = xp.where(missing, completion.mean, samples)
    for _ in range(_FILLING_ROUNDS):
        filled = xp.where(missing, completion.smooth(filled), samples)
    return filled


def held_out(missing: Array) -> Array:
    """Return the mask of the held-out entries, one in ten of the observed entries.

    The choice is symmetric in rows and columns. If the pattern of missing entries is
    such that too many entries or none would be held out, a second pattern is used.
    """
    xp = array_namespace(missing)
    n, _, h, w = missing.shape
    i, row, column = (xp.arange(size, device=device(missing)) for size in (n, h, w))
    # The diagonals move on by one in each sample, so that the positions vary.
    diagonals = i[:, None, None] + row[:, None] + column
    held = (diagonals % _HELD_OUT == 0)[:, None, :, :] & ~missing
    share = float(xp.sum(held, dtype=xp.float64) / xp.sum(~missing, dtype=xp.float64))
    if 0 < share < _MAX_HELD_OUT:
        return held
    products = (i // _HELD_OUT)[:, None, None] + row[:, None] * column
    return (products % _HELD_OUT == 0)[:, None, :, :] & ~missing


def mean_filled(samples: Array, missing: Array) -> Array:
    """Fill missing entries with the mean of the observed entries at their position.

    Positions without an observed entry get the mean of all observed entries.
    """
    xp = array_namespace(samples)
    observed = xp.astype(~missing, samples.dtype)
    counts, sums = xp.sum(observed, axis=0), xp.sum(observed * samples, axis=0)
    overall = xp.sum(sums) / positive_or_one(xp.sum(counts))
    mean = xp.where(counts > 0, sums / positive_or_one(counts), overall)
    return xp.where(missing, mean, samples)


def _learn_and_fill(
    samples: Array, missing: Array, filled: Array, noise: float
) -> tuple[Array, Completion]:
    """Alternate between learning the model and filling, at one noise level."""
    xp = array_namespace(samples)
    for _ in range(_LEARNING_ROUNDS):
        completion = _fit_gaussian(filled, noise)
        filled = xp.where(missing, completion.smooth(filled), samples)
    return filled, completion


def _fit_gaussian(samples: Array, noise: float) -> Completion:
    """Learn the model of complete samples, in the eigenvectors of their covariances."""
    xp = array_namespace(samples)
    mean = xp.mean(samples, axis=0)
    centered = samples - mean
    left, right = (_directions(sample_rows(view)) for view in both_ways(centered))
    coefficients = xp.matrix_transpose(left) @ centered @ right
    variance = xp.mean(coefficients**2, axis=0)
    gain = variance / positive_or_one(variance + noise)  # 0 if both are 0
    return Completion(mean, left, right, gain)


def _directions(rows: Array) -> Array:
    """Return an orthonormal basis (d, min(d, n m)) of the span of rows (n, m, d)."""
    xp = array_namespace(rows)
    flat = rows.reshape(-1, rows.shape[-1])
    if flat.shape[0] < flat.shape[1]:  # the SVD avoids a large d x d matrix
        return xp.matrix_transpose(xp.linalg.svd(flat, full_matrices=False)[2])
    return xp.linalg.eigh(flat.T @ flat)[1]


def _subsample(array: Array) -> Array:
    """Take evenly spaced samples, at most as many as the model is learned from."""
    n, *shape = array.shape
    size = max(_MIN_SAMPLES, _MAX_ENTRIES // math.prod(shape))
    return array if n <= size else take(array, [i * n // size for i in range(size)])
