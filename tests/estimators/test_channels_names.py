"""``TSNMF.channels_``: what was factorised, by name."""

import numpy as np
import pytest
from mapped import K, pictures
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from twofold import TSNMF
from twofold.channels import OrientedGradients


class Deviation(TransformerMixin, BaseEstimator):
    """What is learned in the fit, the mean image, is taken off."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


@pytest.mark.parametrize("channels", ["pixels", "gradients", "fine_gradients"])
def test_the_channels_have_a_name(channels):
    model = TSNMF(K, channels=channels, random_state=0).fit(pictures())
    assert model.channels_ == channels


def test_auto_tells_what_it_took_and_a_transformer_is_returned_fitted():
    auto = TSNMF(K, random_state=0).fit(pictures())
    assert auto.channels_ == "gradients"
    own = TSNMF(K, channels=Deviation(), random_state=0).fit(pictures())
    np.testing.assert_allclose(own.channels_.mean_, pictures().mean(axis=0))
    # the same transformer as a bank of that name
    named = TSNMF(K, channels=OrientedGradients(), random_state=0).fit(pictures())
    assert named.channels_ == "gradients"
    other = OrientedGradients(n_orientations=4)
    assert TSNMF(K, channels=other).fit(pictures()).channels_.n_orientations == 4


def test_channels_that_are_not_fitted_have_no_name():
    with pytest.raises(NotFittedError):
        _ = TSNMF(K).channels_
