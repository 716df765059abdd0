"""What an image is turned into before it is factorised: its channels.

A bank is a transformer of stacks, (n, h, w[, c]) to (n, h', w', maps), as
scikit-learn's transformers are of tables. To add one, write a file with the transformer
and list an instance in ``BANKS``: the estimators, the command line and the model files
take it from there. Its parameters must be numbers, texts and booleans.
"""

from dataclasses import dataclass
from typing import Any

from twofold.channels.gradients import OrientedGradients
from twofold.channels.network import NetworkFeatures

__all__ = ["BANKS", "PIXELS", "Bank", "NetworkFeatures", "OrientedGradients"]

PIXELS = "pixels"
"""Name of the channels that the samples have themselves."""


@dataclass(frozen=True)
class Bank:
    """A transformer of stacks, and the parameters of TSNMF that suit it."""

    transformer: Any  # None for the samples themselves
    energy_weight: float = 1.0  # default of TSNMF
    n_directions: int = 4  # likewise


BANKS = {
    PIXELS: Bank(None),
    "gradients": Bank(OrientedGradients()),
    # A low energy weight leaves out the directions that vary most: those of light.
    "fine_gradients": Bank(OrientedGradients(pooling=1.0), 0.1, 9),
    "network": Bank(NetworkFeatures()),
}
"""Banks by the name that ``channels`` has for them."""
