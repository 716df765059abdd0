"""What an image is turned into before it is factorised: its channels.

A bank is a transformer of stacks, (n, h, w[, c]) to (n, h', w', maps), as
scikit-learn's transformers are of tables. To add one, write a file with the transformer
and list an instance in ``BANKS``: the estimators, the command line and the model files
take it from there. Its parameters must be numbers, texts and booleans.
"""

from twofold.channels.gradients import OrientedGradients

__all__ = ["BANKS", "PIXELS", "OrientedGradients"]

PIXELS = "pixels"
"""Name of the channels that the samples have themselves."""

BANKS = {
    "gradients": OrientedGradients(),
    "fine_gradients": OrientedGradients(pooling=1.0),
}
"""Transformers of stacks by the name that ``channels`` has for them."""
