"""The estimators TSNMF and AutoTSNMF, and the files of a fitted model."""

from twofold.estimators.assessment import NothingFoundWarning, assess
from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.fitted import Assessment
from twofold.estimators.model_files import load_model, save_model
from twofold.estimators.tsnmf import TSNMF

__all__ = [
    "TSNMF",
    "Assessment",
    "AutoTSNMF",
    "NothingFoundWarning",
    "assess",
    "load_model",
    "save_model",
]
