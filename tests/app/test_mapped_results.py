"""What is said of samples of models that were fitted to maps, or to aligned images."""

import numpy as np
import problems
import pytest

from twofold import TSNMF
from twofold.app.results import (
    aligned,
    assign_new,
    assign_trained,
    channels_of,
    filled_in,
)
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


@pytest.mark.parametrize("gone", [0, 0.1])
def test_errors_of_aligned_images(gone):
    X = problems.pierced(SMOOTH, problems.holes(SMOOTH.shape, gone))
    model = TSNMF(3, align=True, missing_values=np.nan, random_state=0).fit(X)
    moved = aligned(model, model.impute(X))
    stack = model.impute(X)[:, None]
    assert (moved == model.state_.alignment.apply(stack)[1][:, 0]).all()
    assert (moved != model.impute(X)).any()
    found = assign_trained(model, X)
    expected = model.reconstruction_error_ / norms_of(moved)
    assert found.reconstruction_error == pytest.approx(expected)
    again = assign_trained(model, *filled_in(model, X))
    assert (again.reconstruction_error == found.reconstruction_error).all()
    new = assign_new(model, X)
    assert (new.clusters == model.predict(X)).all()
    rebuilt = model.inverse_transform(model.transform(X))
    unit = rebuilt / model.state_.typical_norm - moved / norms_of(moved)[:, None, None]
    assert new.reconstruction_error == pytest.approx(norms_of(unit))


def test_images_that_stay_where_they_are():
    model = TSNMF(3, random_state=0).fit(SMOOTH)
    assert aligned(model, SMOOTH) is SMOOTH
