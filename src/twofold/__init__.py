"""Clustering of matrices without flattening them.

``TSNMF`` and ``AutoTSNMF`` are the estimators. The packages are ``twofold.estimators``,
``decomposition``, ``metrics`` and ``io`` (the library, on the numerics of ``core``),
``app`` (from a folder to a report) and ``paper`` (``methods``, ``datasets`` and the
paper's protocol).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twofold.estimators.auto import AutoTSNMF
    from twofold.estimators.tsnmf import TSNMF

__version__ = "0.1.0.dev0"
__all__ = ["TSNMF", "AutoTSNMF", "__version__"]


def __getattr__(name: str) -> Any:
    """Import an estimator when it is asked for.

    The command line answers ``--help`` and completions without scikit-learn.
    """
    if name in ("TSNMF", "AutoTSNMF"):
        return getattr(import_module("twofold.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
