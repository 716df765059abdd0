"""PyTorch tensors go through the same lines as NumPy arrays."""

import numpy as np
import problems
import pytest
from sklearn.base import clone

from twofold import TSNMF
from twofold.core.grams import both_sides
from twofold.core.graphs import KINDS
from twofold.core.solver import solve
from twofold.core.start import STARTS
from twofold.core.state import SolverOptions

torch = pytest.importorskip("torch", reason="PyTorch is the optional extra 'torch'")

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", problems.LAYOUTS)
def test_objectives_agree(layout, kind):
    shape, directions = problems.LAYOUTS[layout]
    samples, start = problems.stack(shape), problems.positive((3, shape[0], 3))
    settings = SolverOptions(
        directions, n_neighbors=4, graph=kind, max_iter=15, tol=1e-4
    )
    weights = problems.weights([0.1, 1.0, 5.0], [0.0, 1.0, 0.3])
    ours = solve(samples, both_sides(samples), start, weights, settings)
    tensor = torch.asarray(samples)
    theirs = solve(tensor, both_sides(tensor), torch.asarray(start), weights, settings)
    for a, b in zip(ours, theirs, strict=True):
        for name in a.history:
            np.testing.assert_allclose(a.history[name], b.history[name], rtol=1e-6)
        np.testing.assert_allclose(
            a.state.coefficients, b.state.coefficients.numpy(), atol=1e-6
        )


@pytest.mark.parametrize("init", STARTS)
def test_a_fitted_model_agrees_and_stays_in_torch(init):
    images = problems.images()
    model = TSNMF(3, init=init, n_init=2, random_state=0)
    ours, theirs = model.fit(images), TSNMF(**model.get_params())
    theirs.fit(torch.asarray(images))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_.numpy())
    np.testing.assert_allclose(
        ours.objective_history_, theirs.objective_history_, rtol=1e-6
    )
    for name in ("components_", "left_projection_", "reconstruction_error_"):
        assert isinstance(getattr(theirs, name), torch.Tensor)
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name).numpy(), rtol=1e-6, atol=1e-8
        )
    new = problems.images(n=12, seed=5)
    np.testing.assert_allclose(
        ours.transform(new), theirs.transform(torch.asarray(new)).numpy(), atol=1e-8
    )
    np.testing.assert_array_equal(
        ours.predict(new), theirs.predict(torch.asarray(new)).numpy()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_equally_near_samples_are_listed_alike(kind):
    """Of few different pixels many distances tie; copies are at no distance at all."""
    images = np.random.default_rng(0).integers(0, 2, size=(80, 4, 3)).astype(float)
    images = np.concatenate([images, *[images[:30]] * 6, np.zeros((5, 4, 3))])
    model = TSNMF(4, graph=kind, duplicates="keep", random_state=0)
    ours = clone(model).fit(images)
    theirs = clone(model).fit(torch.asarray(images))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_.numpy())
    np.testing.assert_allclose(
        ours.objective_history_, theirs.objective_history_, rtol=1e-6
    )


def test_vectors_agree():
    vectors = problems.images(n=60, h=50, w=1).reshape(60, 50)
    ours = TSNMF(3, random_state=0).fit(vectors)
    theirs = TSNMF(3, random_state=0).fit(torch.asarray(vectors))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_.numpy())
    np.testing.assert_allclose(
        ours.objective_history_, theirs.objective_history_, rtol=1e-6
    )


def test_a_long_side_is_compacted_in_torch_too():
    flat = problems.stack((12, 1, 300, 1)).reshape(12, 300)
    ours = TSNMF(3, random_state=0).fit(flat)
    theirs = TSNMF(3, random_state=0).fit(torch.asarray(flat))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_.numpy())
    assert theirs.left_projection_.shape == (300, 32)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
        (torch.float16, torch.float64),
        (torch.uint8, torch.float64),
    ],
)
def test_precision_is_kept(given, kept):
    images = torch.asarray(np.abs(40 * problems.images())).to(given)
    model = TSNMF(3, random_state=0).fit(images)
    assert model.components_.dtype == kept
    assert model.transform(images).dtype == kept


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.zeros((5, 3, 3), dtype=torch.complex64), "real"),
        (torch.full((5, 3, 3), float("nan")), "45 NaN"),
        (torch.zeros((0, 3, 3)), "empty"),
        (torch.eye(5).to_sparse(), "X must be dense, got a tensor of layout"),
    ],
)
def test_bad_tensors_are_refused(tensor, message):
    with pytest.raises((ValueError, TypeError), match=message):
        TSNMF(2).fit(tensor)


def test_tensors_of_another_size_are_refused():
    model = TSNMF(3, random_state=0).fit(torch.asarray(problems.images()))
    with pytest.raises(ValueError, match="expecting 42 features"):
        model.predict(torch.zeros((3, 5, 5)))


def test_arrays_and_tensors_can_be_mixed_after_the_fit():
    images = problems.images()
    in_numpy = TSNMF(3, random_state=0).fit(images)
    in_torch = TSNMF(3, random_state=0).fit(torch.asarray(images, dtype=torch.float32))
    expected = in_numpy.transform(images)
    np.testing.assert_allclose(in_numpy.transform(torch.asarray(images)), expected)
    for mixed in (images, images.astype(np.float32), torch.asarray(images)):
        placed = in_torch.transform(mixed)
        assert placed.dtype == torch.float32
        np.testing.assert_allclose(placed.numpy(), expected, atol=1e-4)


def test_the_autograd_graph_is_left_behind():
    images = torch.asarray(problems.images()).requires_grad_()
    assert not TSNMF(3, random_state=0).fit(images).components_.requires_grad


def test_missing_entries_are_filled_in_torch_too():
    whole = problems.images()
    mask = np.random.default_rng(0).uniform(size=whole.shape) < 0.3
    holed = problems.pierced(whole, mask)
    options = {"missing_values": np.nan, "random_state": 0}
    ours = TSNMF(3, **options).fit(holed)
    theirs = TSNMF(3, **options).fit(torch.asarray(holed))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_.numpy())
    np.testing.assert_allclose(ours.impute(holed), theirs.impute(holed), atol=1e-9)
    for X in (holed, torch.asarray(holed)):
        placed = theirs.transform(X)
        np.testing.assert_allclose(placed.numpy(), ours.transform(holed), atol=1e-9)
