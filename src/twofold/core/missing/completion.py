"""Low-rank completion of a stack: what missing entries most likely are.

The samples are taken for draws of one Gaussian whose coefficients Q' (X - mean) P, in
orthonormal directions Q of the rows and P of the columns, vary independently of each
other. Each entry is seen with noise of one variance. A coefficient that varies less
than the noise is shrunk towards zero, so that few directions matter: a soft kind of
low rank, in both ways. The noise is chosen by entries that were seen, held out.
"""

import math
from dataclasses import dataclass, replace

from array_api_compat import array_namespace, device

from twofold.core.arrays import Array, like, positive_or_one, take
from twofold.core.grams import both_ways, sample_rows

_ENTRIES, _FEWEST = 2**19, 32
"""The Gaussian of more entries is learned from an even choice of samples.

They have so many entries, unless that were too few samples.
"""

_HELD_OUT, _TOO_MANY = 10, 0.3
"""One entry in so many is held out, and a share of them that is no tenth any more."""

_SHRINK, _MAX_STEPS, _PATIENCE = 0.7, 40, 2
"""By how much the noise falls in a step, how often, and how often in vain."""

_ROUNDS, _FILLINGS = 10, 100
"""Rounds of filling in a step, and by a Gaussian that is known."""


@dataclass(frozen=True)
class Completion:
    """A Gaussian of samples (c, h, w), and how much of a coefficient is believed.

    Attributes
    ----------
    mean : array of shape (c, h, w)
    left, right : arrays of shape (h, a) and (w, b)
        Q and P, orthonormal columns.
    gain : array of shape (c, a, b)
        variance / (variance + noise) of each coefficient.
    """

    mean: Array
    left: Array
    right: Array
    gain: Array

    def like(self, template: Array) -> "Completion":
        """In the namespace, dtype and device of ``template``."""
        parts = self.mean, self.left, self.right, self.gain
        return Completion(*(like(part, template) for part in parts))

    def times(self, factor: Array) -> "Completion":
        """Of the samples times ``factor``."""
        return replace(self, mean=factor * self.mean)

    def smooth(self, samples: Array) -> Array:
        """The likeliest noise-free samples (n, c, h, w), given complete noisy ones."""
        transpose = array_namespace(samples).matrix_transpose
        left, right = self.left, self.right
        kept = transpose(left) @ (samples - self.mean) @ right * self.gain
        return self.mean + left @ kept @ transpose(right)


def learn_completion(samples: Array, missing: Array) -> Completion:
    """The Gaussian of samples (n, c, h, w) of which some entries are missing.

    The noise falls from the variance of the entries for as long as that improves the
    prediction of entries that were held out. At each level the entries are filled
    and the Gaussian is learned from the filled samples by turns.

    Parameters
    ----------
    samples : array of shape (n, c, h, w)
    missing : boolean array of shape (n, c, h, w)
    """
    xp = array_namespace(samples)
    samples, missing = _some(samples), _some(missing)
    held = held_out(missing)
    hidden = missing | held
    filled = mean_filled(samples, hidden)
    noise = float(xp.mean((filled - xp.mean(filled, axis=0)) ** 2))
    best = float("inf"), noise, filled
    waited = 0
    for _ in range(_MAX_STEPS):
        filled, _ = _rounds(samples, hidden, filled, noise)
        off = xp.where(held, filled - samples, xp.zeros_like(samples))
        error = float(xp.sum(off**2))
        waited += 1
        if error < best[0]:
            best, waited = (error, noise, filled), 0
        if waited > _PATIENCE:
            break
        noise *= _SHRINK
    filled = xp.where(missing, best[2], samples)
    return _rounds(samples, missing, filled, best[1])[1]


def complete(samples: Array, missing: Array, completion: Completion) -> Array:
    """The samples, their missing entries near their conditional means.

    Given those that were seen, the Gaussian is likeliest where filling by the smoothed
    samples changes nothing. Doing so again and again never raises its energy and
    converges there, within a hundred rounds where half of the entries were seen, and
    short of it where few were. Their number is fixed, so that what becomes of a sample
    does not depend on what others come with it.
    """
    xp = array_namespace(samples)
    filled = xp.where(missing, completion.mean, samples)
    for _ in range(_FILLINGS):
        filled = xp.where(missing, completion.smooth(filled), samples)
    return filled


def held_out(missing: Array) -> Array:
    """One in ten of the entries that were seen, the same with sides exchanged.

    Where what is missing makes them nearly all or none, another choice is taken.
    """
    xp = array_namespace(missing)
    n, _, h, w = missing.shape
    i, row, column = (xp.arange(size, device=device(missing)) for size in (n, h, w))
    turn = i[:, None, None] + row[:, None] + column
    held = (turn % _HELD_OUT == 0)[:, None, :, :] & ~missing
    share = float(xp.sum(held, dtype=xp.float64) / xp.sum(~missing, dtype=xp.float64))
    if 0 < share < _TOO_MANY:
        return held
    other = (i // _HELD_OUT)[:, None, None] + row[:, None] * column
    return (other % _HELD_OUT == 0)[:, None, :, :] & ~missing


def mean_filled(samples: Array, missing: Array) -> Array:
    """Missing entries as the mean of the others at their place, or of all others."""
    xp = array_namespace(samples)
    seen = xp.astype(~missing, samples.dtype)
    counts, sums = xp.sum(seen, axis=0), xp.sum(seen * samples, axis=0)
    overall = xp.sum(sums) / positive_or_one(xp.sum(counts))
    mean = xp.where(counts > 0, sums / positive_or_one(counts), overall)
    return xp.where(missing, mean, samples)


def _rounds(
    samples: Array, missing: Array, filled: Array, noise: float
) -> tuple[Array, Completion]:
    """Learn and fill by turns at one level of noise."""
    xp = array_namespace(samples)
    for _ in range(_ROUNDS):
        completion = _gaussian(filled, noise)
        filled = xp.where(missing, completion.smooth(filled), samples)
    return filled, completion


def _gaussian(samples: Array, noise: float) -> Completion:
    """The Gaussian of complete samples in the directions of their own covariances."""
    xp = array_namespace(samples)
    mean = xp.mean(samples, axis=0)
    centered = samples - mean
    left, right = (_directions(sample_rows(view)) for view in both_ways(centered))
    coefficients = xp.matrix_transpose(left) @ centered @ right
    variance = xp.mean(coefficients**2, axis=0)
    gain = variance / positive_or_one(variance + noise)
    return Completion(mean, left, right, gain)


def _directions(rows: Array) -> Array:
    """Orthonormal (d, min(d, n m)) that span rows (n, m, d), most energy last."""
    xp = array_namespace(rows)
    flat = rows.reshape(-1, rows.shape[-1])
    if flat.shape[0] < flat.shape[1]:
        return xp.matrix_transpose(xp.linalg.svd(flat, full_matrices=False)[2])
    return xp.linalg.eigh(flat.T @ flat)[1]


def _some(array: Array) -> Array:
    """As many of the samples (n, c, h, w), evenly chosen, as are learned from."""
    n, *shape = array.shape
    most = max(_FEWEST, _ENTRIES // math.prod(shape))
    return array if n <= most else take(array, [i * n // most for i in range(most)])
