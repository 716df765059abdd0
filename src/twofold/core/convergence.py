"""The bookkeeping of one iterative fit: its history, and when it is over."""

import numpy as np

from twofold.core.solver import Callback


class Run:
    """Counts iterations and records their objectives.

    Parameters
    ----------
    max_iter : int
    progress : callable or None
        Called with the number of the iteration and its objective, as an array of one;
        the run is over if it returns True.

    Attributes
    ----------
    converged : bool
        Whether the last iteration met the tolerance.
    going : bool
        Whether there is to be another iteration.
    """

    def __init__(self, max_iter: int, progress: Callback | None) -> None:
        self.max_iter = max_iter
        self.progress = progress
        self.objectives: list[float] = []
        self.converged = False
        self.going = True

    def record(self, objective: float, *, converged: bool) -> None:
        """Note the end of an iteration."""
        self.objectives.append(float(objective))
        self.converged = bool(converged)
        count, last = len(self.objectives), np.array(self.objectives[-1:])
        halt = self.progress is not None and self.progress(count, last)
        self.going = not (self.converged or halt or count == self.max_iter)

    @property
    def history(self) -> np.ndarray:
        """The objective after each iteration."""
        return np.array(self.objectives)
