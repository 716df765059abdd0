"""Progress of a fit: printed lines and scikit-learn's callbacks, where it has them."""

from typing import Any

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for the mixin of later scikit-learn versions."""


__all__ = ["CallbackSupportMixin", "FitProgress"]


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
        if self.estimator.verbose:
            runs = f" (best of {len(objectives)} runs)" if len(objectives) > 1 else ""
            print(
                f"[{type(self.estimator).__name__}] iteration {iteration}: objective "
                f"{objectives.min():.6e}{runs}"
            )
        if self.context is None:
            return False
        task = self.context.subcontext(task_name=f"iteration {iteration}")
        task.call_on_fit_task_begin(**self.told)
        return bool(task.call_on_fit_task_end(**self.told))
