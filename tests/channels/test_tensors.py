"""Tensors have the maps of arrays, and stay tensors."""

import numpy as np
import pytest

from twofold.channels import OrientedGradients
from twofold.channels.choice import choose_bank

torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")

pytestmark = pytest.mark.torch


def pictures(shape, dtype=np.float64):
    return np.random.default_rng(0).uniform(size=(6, *shape)).astype(dtype)


@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 2e-6), (np.float64, 1e-12)])
@pytest.mark.parametrize("shape", [(8, 8), (30, 25), (60, 40), (12, 10, 3)])
@pytest.mark.parametrize(
    "parameters", [{}, {"pooling": 1.0, "signed": False}, {"normalize": False}], ids=str
)
def test_maps_agree(shape, dtype, close, parameters):
    """Their squares, before the root, which would magnify the errors of zeros."""
    images, bank = pictures(shape, dtype), OrientedGradients(**parameters)
    ours, theirs = bank.transform(images), bank.fit_transform(torch.asarray(images))
    assert isinstance(theirs, torch.Tensor)
    assert theirs.numpy().dtype == dtype
    np.testing.assert_allclose(theirs.numpy() ** 2, ours**2, rtol=0, atol=close)


def test_integers_become_floats():
    images = (255 * pictures((9, 9))).astype(np.uint8)
    ours, bank = OrientedGradients().transform(images), OrientedGradients()
    theirs = bank.transform(torch.asarray(images))
    assert theirs.dtype == torch.float64
    np.testing.assert_allclose(theirs.numpy() ** 2, ours**2, rtol=0, atol=1e-12)


def test_constant_tensors_have_no_gradients():
    maps = OrientedGradients().transform(torch.full((2, 9, 9), 1 / 3))
    assert not maps.any()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused(value):
    images = torch.asarray(pictures((9, 9)))
    images[1, 2, 3] = value
    with pytest.raises(ValueError, match="X must be finite"):
        OrientedGradients().transform(images)


@pytest.mark.parametrize("shape", [(6, 7, 7), (6, 81), (0, 9, 9), (6, 9, 9, 1, 1)])
def test_wrong_shapes_are_refused(shape):
    with pytest.raises(ValueError, match="X must be images of shape"):
        OrientedGradients().transform(torch.ones(shape))


def test_the_choice_of_channels_is_the_same():
    noise = pictures((1, 12, 12))
    smooth = np.cumsum(np.cumsum(noise - 0.5, axis=2), axis=3)
    for samples in (noise, smooth):
        assert choose_bank(torch.asarray(samples)) == choose_bank(samples)
