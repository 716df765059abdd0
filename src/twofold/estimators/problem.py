"""The problem that a fit solves: X and parameters in, solutions out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from twofold.channels import Bank
from twofold.core.arrays import Array, like, map_arrays, to_numpy
from twofold.core.compact import compact_sides, expand
from twofold.core.convergence import Callback
from twofold.core.devices import check_device, on_device, within_memory
from twofold.core.grams import Side, both_sides
from twofold.core.solver import solve
from twofold.core.start import starts as draw_starts
from twofold.core.state import Solution, SolverOptions
from twofold.core.terms import TERMS
from twofold.estimators.alignment import check_images
from twofold.estimators.given import GivenSamples, sort_and_complete
from twofold.estimators.labels import mean_rows
from twofold.estimators.mapping import Mapping, bank_of, map_samples
from twofold.estimators.parameters import (
    COUNTS,
    check_counts,
    check_enough,
    check_weights,
    draw_seeds,
    given_start,
    solver_options,
    term_weights,
)
from twofold.estimators.reading import are_vectors, read_samples

Weights = dict[str, float]  # of the terms of the objective, by parameter


@dataclass(frozen=True)
class Problem:
    """Samples, options and starts, read from X and the parameters of an estimator."""

    given: GivenSamples  # in the unit of the pixels
    samples: Array  # (rows, c, h, w), mapped and scaled; those that are factorised
    mapping: Mapping | None  # from pixels to what is factorised; None if it is pixels
    bank: Bank  # with the defaults of parameters that are None
    options: SolverOptions
    weights: Weights  # of the terms of the objective, by parameter
    n_clusters: int
    init: str | np.ndarray  # kind of start, or V^0 (rows, k)
    seeds: list[int]  # of the starts
    labels_seed: int  # of the final K-means
    device: str | None = None  # of the solver; None for the device of the samples

    @property
    def missing(self) -> Array | None:
        """Entries (rows, c, h, w) that the solver fills; None without any.

        Maps and aligned images are made of completed ones, and have none.
        """
        return self.given.missing if self.mapping is None else None

    def solve(
        self, weights: Sequence[Weights], callback: Callback
    ) -> list[list[Solution]]:
        """Solve the problem for all starts and all dicts of weights in one batch.

        Return the solutions of all starts for each dict, which has the weights of the
        terms of the objective by parameter. On a device with little memory the batch is
        split.
        """
        if self.device is not None:
            return self._solve_on(self.device, weights, callback)
        rows, roots = self.weighted_samples()
        samples, missing, r = rows, self.missing, self.options.n_directions
        if missing is None:
            samples, sides, long_sides = compact_sides(samples, r)
        else:  # filled samples would leave the span of a shorter basis
            long_sides = sides = both_sides(samples, r)
        start = self.starts(samples, sides, weights, roots)
        n_starts = len(start) // len(weights)
        batch = {
            name: np.repeat([each[name] for each in weights], n_starts).astype(float)
            for name in weights[0]
        }

        def solve_part(part: np.ndarray) -> list[Solution]:
            first = like(start[part], samples)
            these = {name: values[part] for name, values in batch.items()}
            return solve(
                samples, sides, first, these, self.options, callback, missing, roots
            )

        if is_numpy_array(samples):
            solutions = solve_part(np.arange(len(start)))
        else:  # the memory of a device may be too small for the batch
            solutions = within_memory(solve_part, len(start))
        if samples is not rows:
            solutions = [expand(solution, long_sides) for solution in solutions]
        solutions = [solution.unweighted(roots) for solution in solutions]
        return [solutions[i : i + n_starts] for i in range(0, len(start), n_starts)]

    def _solve_on(
        self, device: str, weights: Sequence[Weights], callback: Callback
    ) -> list[list[Solution]]:
        """Solve on a device, and move the solutions back to where X lies."""
        samples, missing = map_arrays(
            (self.samples, self.missing), lambda array: on_device(array, device)
        )
        given = replace(self.given, missing=missing)
        there = replace(self, samples=samples, given=given, device=None)
        return [
            [solution.moved(self.samples) for solution in solutions]
            for solutions in there.solve(weights, callback)
        ]

    def weighted_samples(self) -> tuple[Array, Array | None]:
        """Return the samples, each times the root of its weight, and the roots.

        The roots (rows, 1) are as for ``solve``; None if all weights are 1.
        """
        roots = self.given.roots
        if roots is None:
            return self.samples, None
        roots = like(roots, self.samples)
        return self.samples * roots[..., None, None], roots

    def starts(
        self,
        samples: Array,
        sides: tuple[Side, ...],
        weights: Sequence[Weights],
        roots: Array | None = None,
    ) -> np.ndarray:
        """Return V^0 of all starts under each dict of weights: (batch, rows, k)."""
        if not isinstance(self.init, str):
            init = self.init if roots is None else self.init * to_numpy(roots)
            return np.stack([init] * len(weights))
        # Starts depend on the weights of the terms that act on P and Q alone.
        acting = [term.parameter for term in TERMS if term.acts_on_projection]
        keys = [tuple(each[name] for name in acting) for each in weights]
        known = {
            key: draw_starts(
                samples,
                sides,
                k=self.n_clusters,
                kind=self.init,
                options=self.options,
                weights=each,
                seeds=self.seeds,
                roots=roots,
            )
            for key, each in dict(zip(keys, weights, strict=True)).items()
        }
        return np.concatenate([known[key] for key in keys])

    def for_estimator(self, estimator: Any) -> "Problem":
        """Return the problem of another estimator with the same channels."""
        *seeds, last = draw_seeds(estimator.random_state, estimator.n_init + 1)
        return replace(
            self,
            options=solver_options(estimator, self.samples, self.bank.n_directions),
            weights=term_weights(estimator, self.bank.energy_weight),
            n_clusters=estimator.n_clusters,
            init=read_start(estimator, self.given, self.samples),
            seeds=seeds,
            labels_seed=last,
        )


def read_problem(estimator: Any, X: Any, mask: Any = None) -> Problem:
    """Read X, check it against the parameters of ``estimator``, and draw the seeds."""
    given = read_given(estimator, X, mask)
    return make_problem(estimator, given, bank_of(estimator.channels, given))


def read_given(estimator: Any, X: Any, mask: Any = None) -> GivenSamples:
    """Read X, and check it against the parameters of ``estimator``."""
    check_counts(estimator, COUNTS)
    check_device(estimator.device)
    stack, missing, shape = read_samples(
        estimator, X, estimator.sample_shape, mask, reset=True
    )
    check_enough("n_clusters", estimator.n_clusters, stack.shape[0])
    scale = estimator.scale
    if scale == "auto":  # the lengths of vectors carry information
        scale = "global" if are_vectors(stack) else "sample"
    if estimator.align:
        check_images(shape)
    merge, align = estimator.duplicates == "merge", estimator.align
    return sort_and_complete(stack, missing, shape, scale, merge=merge, align=align)


def make_problem(estimator: Any, given: GivenSamples, bank: Bank) -> Problem:
    """Map the samples by a bank, and draw the seeds of ``estimator``."""
    samples, mapping = map_samples(bank, given)
    weights = term_weights(estimator, bank.energy_weight)
    check_weights([weights], samples)
    *seeds, last = draw_seeds(estimator.random_state, estimator.n_init + 1)
    return Problem(
        given=given,
        samples=samples,
        mapping=mapping,
        bank=bank,
        options=solver_options(estimator, samples, bank.n_directions),
        weights=weights,
        n_clusters=estimator.n_clusters,
        init=read_start(estimator, given, samples),
        seeds=seeds,
        labels_seed=last,
        device=estimator.device,
    )


def read_start(estimator: Any, given: GivenSamples, samples: Array) -> str | np.ndarray:
    """Return the kind of start, or V^0 (rows, k) in the order of the rows."""
    if isinstance(estimator.init, str):
        return estimator.init
    shape = len(given.order), estimator.n_clusters
    start = given_start(estimator.init, shape, samples)
    # Identical samples start from their mean.
    return mean_rows(start[given.order], given.copies.row)


def lowest(solutions: list[Solution]) -> Solution:
    """Return the first solution with the lowest objective, up to rounding errors."""
    totals = np.array([solution.history["total"][-1] for solution in solutions])
    tolerance = 1e-9 * np.abs(totals).max()
    return solutions[np.flatnonzero(totals <= totals.min() + tolerance)[0]]
