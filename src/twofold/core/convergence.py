"""Bookkeeping of a single iterative fit: objective history and stopping rule."""

import numpy as np

from twofold.core.solver import Callback


class ConvergenceMonitor:
    """Record the objective of each iteration and decide when to stop.

    Parameters
    ----------
    max_iter : int
        Maximum number of iterations.
    progress : callable or None
        Called with the number of the iteration and its objective, an array of shape
        (1,). The fit stops early if it returns True.

    Attributes
    ----------
    converged : bool
        Whether the last iteration met the tolerance.
    running : bool
        Whether another iteration is due.
    """

    def __init__(self, max_iter: int, progress: Callback | None) -> None:
        self.max_iter = max_iter
        self.progress = progress
        self.objectives: list[float] = []
        self.converged = False
        self.running = True

    def record(self, objective: float, *, converged: bool) -> None:
        """Record the objective at the end of an iteration."""
        self.objectives.append(float(objective))
        self.converged = bool(converged)
        count, last = len(self.objectives), np.array(self.objectives[-1:])
        stop = self.progress is not None and self.progress(count, last)
        self.running = not (self.converged or stop or count == self.max_iter)

    @property
    def history(self) -> np.ndarray:
        """Objective after each iteration, of shape (n_iter,)."""
        return np.array(self.objectives)
