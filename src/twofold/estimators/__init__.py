"""The estimators TSNMF and AutoTSNMF, and the files of a fitted model."""

from twofold.estimators.auto import AutoTSNMF
from twofold.estimators.model_files import load_model, save_model
from twofold.estimators.tsnmf import TSNMF

__all__ = ["TSNMF", "AutoTSNMF", "load_model", "save_model"]
