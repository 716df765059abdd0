"""Progress of fits and searches, and the warnings at their end."""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning

import twofold
from twofold.progress import report

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for the mixin of later scikit-learn versions."""


_LIBRARIES = tuple(str(Path(m.__file__ or "").parent) for m in (twofold, sklearn))
"""Folders of the frames that warnings skip."""


class SearchProgress:
    """Counts candidates and fits of a search; ``totals`` are their expected numbers."""

    def __init__(self, verbose: int) -> None:
        self.verbose = verbose
        self.totals = {"candidate": 0, "fit": 0}
        self.done = dict.fromkeys(self.totals, 0)

    def __call__(self, stage: str, facts: str) -> None:
        """Count one more candidate or fit, and print its facts if ``verbose``."""
        self.done[stage] += 1
        # The search for the number of clusters may add candidates.
        done, total = self.done[stage], max(self.totals[stage], self.done[stage])
        if self.verbose:
            print(f"[AutoTSNMF] {stage} {done} of {total}: {facts}")
        if stage == "candidate":  # a fit reports its iterations
            report("searching", done, total)


class FitProgress:
    """Reports a fit, as a context manager, and each iteration, when called."""

    def __init__(self, estimator: Any, X: Any) -> None:
        self.estimator = estimator
        self.arguments = {"estimator": estimator, "X": X}
        self.context: Any = None
        if hasattr(estimator, "_init_callback_context"):  # scikit-learn from 1.9
            begin = estimator._init_callback_context
            self.context = begin(max_subtasks=estimator.max_iter)

    def __enter__(self) -> "FitProgress":
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.arguments)
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        if self.context is not None and kind is None:
            self.context.call_on_fit_task_end(**self.arguments)

    def __call__(self, iteration: int, objectives: np.ndarray) -> bool:
        """Report an iteration; return True if a callback asks the fit to stop."""
        name, lowest = type(self.estimator).__name__, float(objectives.min())
        if self.estimator.verbose:
            runs = f" (best of {len(objectives)} runs)" if len(objectives) > 1 else ""
            print(f"[{name}] iteration {iteration}: objective {lowest:.6e}{runs}")
        report("fitting", iteration, self.estimator.max_iter, objective=lowest)
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=f"iteration {iteration}")
        task.call_on_fit_task_begin(**self.arguments)
        return bool(task.call_on_fit_task_end(**self.arguments))


def warn(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Issue a warning that points at the line of the user's call."""
    # Skip the frames of this package, and of scikit-learn's wrappers around fit.
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith(_LIBRARIES):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_unfinished(estimator: Any, n_iter: int, reason: str) -> None:
    """Warn that a fit ended at ``max_iter``, and not by a callback."""
    if n_iter == estimator.max_iter:
        warn(
            f"{type(estimator).__name__} stopped at max_iter={estimator.max_iter} "
            f"before {reason}; raise max_iter or tol"
        )
