"""The samples that were given: sorted, merged, completed, aligned and scaled."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace

from twofold.channels.align import Alignment
from twofold.core.arrays import AnyArray, Array, like, take
from twofold.core.missing.completion import Completion
from twofold.estimators.alignment import learn_alignment
from twofold.estimators.identical import Copies, find_copies
from twofold.estimators.missing import completed, learn_missing
from twofold.estimators.order import sample_order
from twofold.estimators.scaling import (
    divisors,
    ordered_and_scaled,
    sample_norms,
    typical_norm,
)


@dataclass(frozen=True)
class GivenSamples:
    """Samples in the unit of the pixels, and how they are sorted, merged and scaled."""

    stack: Array  # (n, c, h, w), completed and aligned
    shape: tuple[int, ...]  # of one sample as given: (h, w), (h, w, c) or (f,)
    first: np.ndarray  # (rows,), the sample of the stack that every row is
    order: np.ndarray  # (n,), indices of the given samples, see content_order
    copies: Copies  # the row of each of the n sorted samples
    group: np.ndarray  # (rows,), the same number for identical rows, ascending
    divisor: Array  # (n,), divisors of the sorted samples
    typical_norm: float  # of the given samples; gives centroids the unit of the pixels
    scale: str  # "sample" or "global"
    # (rows, c, h, w), True for missing ones; None without any, and in aligned images
    missing: Array | None
    completion: Completion | None  # None if no entry may be missing
    alignment: Alignment | None  # None if images stay where they are

    @cached_property
    def scaled(self) -> Array:
        """The samples (rows, c, h, w), scaled and sorted."""
        divisor = self.copies.rows_of(self.divisor)
        return ordered_and_scaled(self.stack, self.first, divisor)

    @property
    def rows(self) -> Array:
        """The samples (rows, c, h, w), sorted, in the unit of the pixels."""
        return take(self.stack, self.first)

    @property
    def roots(self) -> Array | None:
        """Square roots (rows, 1) of the weights of the rows; None if all are 1."""
        weights = self.copies.weights
        return None if weights is None else like(np.sqrt(weights)[:, None], self.stack)

    def some(self, rows: np.ndarray) -> "GivenSamples":
        """Return some of the rows, given in ascending order; the stack is shared."""
        kept = np.isin(self.copies.row, rows)
        return replace(
            self,
            first=self.first[rows],
            order=self.order[kept],
            copies=Copies(np.searchsorted(rows, self.copies.row[kept])),
            group=np.unique(self.group[rows], return_inverse=True)[1],
            divisor=take(self.divisor, np.flatnonzero(kept)),
            missing=None if self.missing is None else take(self.missing, rows),
        )

    def as_given(self, array: AnyArray) -> AnyArray:
        """Return the rows of an array, (rows, ...) or (n, ...), as X was given."""
        return take(self.copies.expanded(array), np.argsort(self.order))


def sort_and_complete(
    stack: Array,
    missing: Array | None,
    shape: tuple[int, ...],
    scale: str,
    *,
    merge: bool,
    align: bool | str = False,
) -> GivenSamples:
    """Sort, merge, complete and align samples (n, c, h, w); find their divisors."""
    norms, completion, alignment = sample_norms(stack), None, None
    order, group = sample_order(stack, norms, missing, scale)
    copies = Copies(np.arange(len(order)))
    if merge:
        copies = find_copies(stack, norms, scale, order, group)
    sorting = order
    if missing is not None or align:
        # What follows is learned from sorted samples, which then stay sorted.
        stack, sorting = take(stack, order), np.arange(len(order))
        if missing is not None:
            missing = take(missing, order)
            completion = learn_missing(copies.rows_of(stack), copies.rows_of(missing))
            stack, missing = _complete(stack, missing, completion, copies)
        if align:
            alignment = learn_alignment(copies.rows_of(stack), align)
            stack, missing = alignment.aligned(stack), None
        norms = sample_norms(stack)
    norms = take(norms, sorting)
    typical = typical_norm(norms)
    return GivenSamples(
        stack=stack,
        shape=shape,
        first=copies.rows_of(sorting),
        order=order,
        copies=copies,
        group=copies.rows_of(group),
        divisor=divisors(norms, scale, typical),
        typical_norm=typical,
        scale=scale,
        missing=missing,
        completion=completion,
        alignment=alignment,
    )


def _complete(
    stack: Array, missing: Array, completion: Completion, copies: Copies
) -> tuple[Array, Array | None]:
    """Complete sorted samples; also return the missing entries of the rows, if any."""
    stack, missing = completed(stack, missing, completion), copies.rows_of(missing)
    return stack, missing if array_namespace(missing).any(missing) else None
