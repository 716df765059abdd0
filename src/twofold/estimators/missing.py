"""Missing entries: their completion, learned by a fit, and ``impute``."""

from typing import Any

from array_api_compat import array_namespace
from sklearn.utils.validation import check_is_fitted

from twofold.core.arrays import AnyArray, Array, positive_or_one
from twofold.core.missing.completion import Completion, complete, learn_completion
from twofold.estimators.reading import from_stack, read_samples


def learn_missing(samples: Array, missing: Array) -> Completion:
    """Learn the completion of samples in any unit."""
    xp = array_namespace(samples)
    # Scaled to at most 1, so that squares of the entries do not overflow.
    unit = positive_or_one(xp.max(xp.abs(samples)))
    return learn_completion(samples / unit, missing).times(unit)


def completed(
    samples: AnyArray, missing: Array | None, completion: Completion | None
) -> AnyArray:
    """Fill the missing entries of samples by the completion of a fit."""
    if missing is None or not array_namespace(samples).any(missing):
        return samples
    if completion is None:
        raise ValueError(
            "X must be complete for a model that was fitted without missing_values and "
            "mask; fit it with missing_values=np.nan"
        )
    return complete(samples, missing, completion.like(samples))


class ImputingMixin:
    """``impute`` of an estimator with ``missing_values``."""

    sample_shape_: tuple[int, ...]
    _completion: Any  # Completion, or None if the fit allowed no missing entries

    def impute(self, X: Any, *, mask: Any = None) -> Array:
        """Fill the missing entries of samples.

        They are filled by the low-rank completion that the fit learned and started
        from. For images the completion is closer to the truth than the reconstruction,
        ``inverse_transform`` of ``transform``: see docs/missing.md.

        Parameters
        ----------
        X, mask
            As for ``transform``.

        Returns
        -------
        images : array of shape (m, h, w[, c]) or (m, f)
            Equal to X in the observed entries.
        """
        return from_stack(self._read_completed(X, mask)[0], self.sample_shape_)

    def _read_completed(self, X: Any, mask: Any) -> tuple[Array, Array | None]:
        """Read and complete new samples (m, c, h, w); return their missing entries."""
        check_is_fitted(self)
        shape = self.sample_shape_
        samples, missing, _ = read_samples(self, X, shape, mask, reset=False)
        if missing is not None and not array_namespace(missing).any(missing):
            missing = None
        return self._completed(samples, missing), missing

    def _completed(self, samples: AnyArray, missing: Array | None) -> AnyArray:
        """Fill the missing entries of samples (m, c, h, w)."""
        return completed(samples, missing, self._completion)
