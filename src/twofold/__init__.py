"""Clustering of matrices without flattening them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twofold.auto import AutoTSNMF
    from twofold.tsnmf import TSNMF

__version__ = "0.1.0.dev0"
__all__ = ["TSNMF", "AutoTSNMF", "__version__"]


def __getattr__(name: str) -> Any:
    """Import an estimator when it is asked for.

    So that the command line answers ``--help`` and completions without scikit-learn.
    """
    if name == "TSNMF":
        from twofold.tsnmf import TSNMF

        return TSNMF
    if name == "AutoTSNMF":
        from twofold.auto import AutoTSNMF

        return AutoTSNMF
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
