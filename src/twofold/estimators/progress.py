"""Progress of a fit, printed or told to scikit-learn's callbacks, and its end."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for the mixin of later scikit-learn versions."""


__all__ = [
    "CallbackSupportMixin",
    "FitProgress",
    "SearchProgress",
    "each_iteration",
    "each_trial",
    "warn_unfinished",
]

Listener = Callable[[int, float], None]
"""Called with the number of an iteration and the lowest objective of the runs."""

_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)

TrialListener = Callable[[str, int, int], None]
"""Called with "looking" or "fitting", how many are done, and of how many."""

_trial_listener: ContextVar[TrialListener | None] = ContextVar(
    "_trial_listener", default=None
)


@contextmanager
def _set(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


@contextmanager
def each_iteration(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` of the iterations of the fits in this context.

    scikit-learn's callbacks do the like, from version 1.9 on.
    """
    with _set(_listener, listener):
        yield


@contextmanager
def each_trial(listener: TrialListener) -> Iterator[None]:
    """Tell ``listener`` of the looks and fits of the searches in this context."""
    with _set(_trial_listener, listener):
        yield


class SearchProgress:
    """Counts the looks and fits of a search, and tells of each.

    Parameters
    ----------
    verbose : int
        Whether to print them.
    looks, fits : int
        How many there are to be, about.
    """

    def __init__(self, verbose: int, looks: int, fits: int) -> None:
        self.verbose = verbose
        self.totals = {"looking": looks, "fitting": fits}
        self.done = dict.fromkeys(self.totals, 0)

    def __call__(self, stage: str, facts: str) -> None:
        """One more is done."""
        self.done[stage] += 1
        done, total = self.done[stage], max(self.totals[stage], self.done[stage])
        if self.verbose:
            print(f"[AutoTSNMF] {stage} {done} of {total}: {facts}")
        listener = _trial_listener.get()
        if listener is not None:
            listener(stage, done, total)


class FitProgress:
    """Reports the fit, as a context manager, and each iteration, when called.

    A call returns True when a callback asks the fit to stop.
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        self.estimator = estimator
        self.told = {"estimator": estimator, "X": X}
        self.context: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(
                max_subtasks=estimator.max_iter
            )

    def __enter__(self) -> "FitProgress":
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.told)
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if self.context is not None and kind is None:
            self.context.call_on_fit_task_end(**self.told)

    def __call__(self, iteration: int, objectives: np.ndarray) -> bool:
        """Report an iteration; True asks the fit to stop."""
        if self.estimator.verbose:
            runs = f" (best of {len(objectives)} runs)" if len(objectives) > 1 else ""
            print(
                f"[{type(self.estimator).__name__}] iteration {iteration}: objective "
                f"{objectives.min():.6e}{runs}"
            )
        listener = _listener.get()
        if listener is not None:
            listener(iteration, float(objectives.min()))
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=f"iteration {iteration}")
        task.call_on_fit_task_begin(**self.told)
        return bool(task.call_on_fit_task_end(**self.told))


def warn_unfinished(
    estimator: Any, n_iter: int, reason: str, stacklevel: int = 4
) -> None:
    """Say that a fit ended at ``max_iter``; a callback that ended it knows why."""
    if n_iter < estimator.max_iter:
        return
    warnings.warn(
        f"{type(estimator).__name__} stopped at max_iter={estimator.max_iter} before "
        f"{reason}; raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
