"""Bookkeeping of iterative fits: the history of objectives, and early stopping."""

from collections.abc import Callable

import numpy as np

Callback = Callable[[int, np.ndarray], bool]
"""Called after every iteration with its number and the objectives of the fits that are
still running, an array of shape (running,). All of them stop if it returns True.
"""


class BatchMonitor:
    """Record the values of a batch of fits, and decide which of them stop."""

    def __init__(self, batch: int, max_iter: int, callback: Callback | None) -> None:
        self.batch, self.max_iter, self.callback = batch, max_iter, callback
        self.running = np.arange(batch)  # (running,), fits that are still running
        # Values (values, batch) of every iteration, the objective last; NaN for fits
        # that have stopped.
        self.history: list[np.ndarray] = []

    def changes(self) -> np.ndarray:
        """Return |change| of the objectives of the running fits in the last iteration.

        It is infinite after the first iteration.
        """
        if len(self.history) < 2:  # no fit converges in its first iteration
            return np.full(len(self.running), np.inf)
        last, before = (values[-1, self.running] for values in self.history[:-3:-1])
        return np.abs(last - before)

    def record(self, values: np.ndarray) -> None:
        """Record the values (values, running) of an iteration, the objective last."""
        self.history.append(np.full((len(values), self.batch), np.nan))
        self.history[-1][:, self.running] = values

    def stop(self, converged: np.ndarray) -> np.ndarray:
        """Return which of the running fits stop here: (running,).

        They have converged, or the callback asks for it, or the iterations are used up.
        They are no longer among ``running`` afterwards.
        """
        count, objectives = len(self.history), self.history[-1][-1, self.running]
        # The callback is called in the last iteration, too: it reports the progress.
        halt = self.callback is not None and self.callback(count, objectives)
        stopped = converged | halt | (count == self.max_iter)
        self.running = self.running[~stopped]
        return stopped

    def history_of(self, fit: int) -> np.ndarray:
        """Return the values of one fit so far: (values, n_iter)."""
        return np.stack(self.history, axis=1)[:, :, fit]


class ConvergenceMonitor(BatchMonitor):
    """The monitor of a single fit."""

    def __init__(self, max_iter: int, callback: Callback | None) -> None:
        super().__init__(1, max_iter, callback)
        self.converged = False  # whether the last iteration met the tolerance

    def finish_iteration(self, objective: float, *, converged: bool) -> None:
        """Record the objective of an iteration, and decide whether to stop."""
        self.converged = bool(converged)
        self.record(np.array([[objective]], dtype=float))
        self.stop(np.array([self.converged]))

    @property
    def is_running(self) -> bool:
        """Whether another iteration is due."""
        return bool(self.running.size)

    @property
    def objectives(self) -> np.ndarray:
        """Objective after each iteration, of shape (n_iter,)."""
        return self.history_of(0)[-1]
