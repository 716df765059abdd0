"""What is said of the samples of models that were fitted to maps."""

import numpy as np
import problems
import pytest

from twofold import TSNMF
from twofold.app.results import assign_new, assign_trained, channels_of
from twofold.channels import OrientedGradients
from twofold.channels.choice import choose_bank


def norms_of(X):
    return np.linalg.norm(X.reshape(len(X), -1), axis=1)


SMOOTH = np.cumsum(np.cumsum(problems.images(30, 12, 10), axis=1), axis=2)


@pytest.mark.parametrize(
    ("channels", "name"),
    [
        ("pixels", "pixels"),
        ("gradients", "gradients"),
        (OrientedGradients(pooling=1.0), "fine_gradients"),
        (OrientedGradients(6), "OrientedGradients"),
        ("auto", choose_bank(SMOOTH[:, None])),
    ],
)
def test_the_name_of_the_channels_of_a_model(channels, name):
    model = TSNMF(3, channels=channels, random_state=0).fit(SMOOTH)
    assert channels_of(model) == name


@pytest.mark.parametrize("channels", ["gradients", "fine_gradients"])
def test_errors_of_maps_are_those_of_the_pixels(channels):
    model = TSNMF(3, channels=channels, random_state=0).fit(SMOOTH)
    found = assign_trained(model, SMOOTH)
    expected = model.reconstruction_error_ / norms_of(SMOOTH)
    assert found.reconstruction_error == pytest.approx(expected)
    new = assign_new(model, SMOOTH)
    assert (new.clusters == model.predict(SMOOTH)).all()
    rebuilt = model.inverse_transform(model.transform(SMOOTH))
    # Reconstructions have the typical norm: brought to that of each sample.
    norms = norms_of(SMOOTH)
    unit = rebuilt / model.state_.typical_norm - SMOOTH / norms[:, None, None]
    assert new.reconstruction_error == pytest.approx(norms_of(unit))
