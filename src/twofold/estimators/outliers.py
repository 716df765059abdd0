"""Samples of a fit that belong nowhere: label -1."""

from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from twofold.core.arrays import to_numpy
from twofold.core.outliers import outlier_mask
from twofold.core.structure import beside
from twofold.estimators.given import GivenSamples
from twofold.estimators.reading import are_vectors
from twofold.estimators.scaling import standardized

OUTLIER = -1
"""The label of samples that belong nowhere."""


def mark_outliers(model: Any, given: GivenSamples) -> None:
    """Give the samples of a fitted TSNMF that belong nowhere the label -1.

    ``state_.labels`` keep the cluster that each would be in.
    """
    sides = [to_numpy(side.features) for side in model.state_.predictor.sides]
    images = None if are_vectors(given.stack) else standardized(to_numpy(given.rows))
    mask = outlier_mask(beside(sides), images)[model.state_.row_of]
    labels = np.where(mask, OUTLIER, to_numpy(model.labels_))
    xp = array_namespace(model.labels_)
    model.labels_ = xp.asarray(labels, device=device(model.labels_))
