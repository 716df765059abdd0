"""Images that come shifted and turned, aligned before they are factorised."""

import numpy as np
import pytest
from problems import holes, pierced
from scipy import ndimage
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils._param_validation import InvalidParameterError

from twofold import TSNMF, AutoTSNMF
from twofold.channels import align as channels_align

K, SIZE = 3, 20


def shapes():
    """A cross, a ring and a bar: (3, h, w)."""
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    near = np.maximum(np.abs(y), np.abs(x)) < 6
    cross = (np.abs(y) < 1.5) | (np.abs(x) < 1.5)
    ring = np.abs(np.hypot(y, x) - 5) < 1.4
    bar = np.abs(x) < 2
    return [ndimage.gaussian_filter((s & near) * 1.0, 0.6) for s in (cross, ring, bar)]


def shifted(n=60, seed=0, most=4):
    """Images (n, h, w) of the shapes, each shifted by up to ``most`` pixels."""
    rng = np.random.default_rng(seed)
    shifts = rng.integers(-most, most + 1, size=(n, 2))
    kinds = np.arange(n) % K
    images = [
        np.roll(shapes()[kind], shift, axis=(0, 1))  # what is rolled in is empty
        for kind, shift in zip(kinds, shifts, strict=True)
    ]
    return np.array(images) + 0.05 * rng.random((n, SIZE, SIZE)), kinds


def turned(n=60, seed=0):
    """Images (n, h, w) that share most, of three kinds, turned by up to 40 degrees."""
    wide = 2 * SIZE
    noise = np.random.default_rng(7).normal(size=(1 + K, wide, wide))
    common, *own = 20 * ndimage.gaussian_filter(noise, (0, 2.5, 2.5)) + 10
    rng, kinds = np.random.default_rng(seed), np.arange(n) % K
    inner = slice(SIZE // 2, -(SIZE // 2))
    images = [
        ndimage.rotate(common + 0.4 * own[kind], angle, reshape=False, order=1)
        for kind, angle in zip(kinds, rng.uniform(-40, 40, n), strict=True)
    ]
    return np.array(images)[:, inner, inner], kinds


def fitted(X, align=True, channels="pixels", **parameters):
    return TSNMF(K, align=align, channels=channels, random_state=0, **parameters).fit(X)


def same(first, second):
    np.testing.assert_array_equal(first, second, strict=True)


# What it is good for


@pytest.mark.parametrize("align", ["shifts", True])
def test_shifted_shapes_are_told_apart(align):
    images, kinds = shifted()
    new, new_kinds = shifted(30, seed=1)
    without = fitted(images, align=False)
    assert adjusted_rand_score(kinds, without.labels_) < 0.5
    model = fitted(images, align)
    every = np.concatenate([kinds, new_kinds])
    labels = np.concatenate([model.labels_, model.predict(new)])
    assert adjusted_rand_score(every, labels) > 0.9


def test_turned_images_need_turns():
    images, kinds = turned()
    for align in (False, "shifts"):
        assert adjusted_rand_score(kinds, fitted(images, align).labels_) < 0.7
    model = fitted(images)
    assert adjusted_rand_score(kinds, model.labels_) > 0.9
    new, new_kinds = turned(30, seed=1)
    assert adjusted_rand_score(new_kinds, model.predict(new)) > 0.9


def test_what_was_learned():
    images, _ = shifted()
    learned = fitted(images).state_.alignment
    assert (learned.max_shift, learned.max_turn) == (SIZE // 4, 45)
    assert learned.after > learned.before
    assert fitted(images, "shifts").state_.alignment.max_turn == 0
    assert fitted(images, False).state_.alignment is None


# All is that of a fit to aligned images


@pytest.mark.parametrize("channels", ["pixels", "gradients"])
@pytest.mark.parametrize("scale", ["sample", "global"])
def test_a_fit_is_that_of_aligned_images(channels, scale):
    """From one start, to rounding: samples are sorted as given, or as aligned."""
    images, _ = shifted()
    start = np.random.default_rng(3).uniform(0.2, 1, size=(len(images), K))
    same_for_all = {"channels": channels, "scale": scale, "init": start}
    model = fitted(images, **same_for_all)
    alignment = model.state_.alignment
    moved = alignment.apply(images[:, None])[1][:, 0]
    theirs = fitted(moved, False, **same_for_all)
    same(model.labels_, theirs.labels_)
    for name in ("components_", "coefficients_", "reconstruction_error_"):
        ours, known = getattr(model, name), getattr(theirs, name)
        np.testing.assert_allclose(ours, known, rtol=1e-6, atol=1e-8)
    new, _ = shifted(9, seed=1)
    new_moved = alignment.apply(new[:, None])[1][:, 0]
    found, known = model.transform(new), theirs.transform(new_moved)
    np.testing.assert_allclose(found, known, rtol=1e-6, atol=1e-8)


def test_errors_are_those_of_aligned_images():
    images, _ = shifted()
    model = fitted(images)
    moved = model.state_.alignment.apply(images[:, None])[1][:, 0]
    for i, image in enumerate(moved):
        norm = np.linalg.norm(image)
        rebuilt = sum(
            model.coefficients_[i, j] * model.components_[j] for j in range(K)
        )
        rest = image - rebuilt * norm / model.state_.typical_norm
        assert model.reconstruction_error_[i] == pytest.approx(np.linalg.norm(rest))
    norms = np.linalg.norm(moved.reshape(len(moved), -1), axis=1)
    assert model.state_.typical_norm == pytest.approx(np.sqrt(np.mean(norms**2)))


# What does not matter


@pytest.mark.parametrize("channels", ["pixels", "auto"])
def test_the_order_of_the_samples(channels):
    images, _ = shifted()
    order = np.random.default_rng(2).permutation(len(images))
    one, other = (
        fitted(images, channels=channels),
        fitted(images[order], channels=channels),
    )
    same(other.labels_, one.labels_[order])
    same(other.coefficients_, one.coefficients_[order])
    same(other.components_, one.components_)
    for name in ("maps", "mean", "darkest"):
        learned = (getattr(model.state_.alignment, name) for model in (one, other))
        same(*learned)


def test_the_batch_of_new_samples():
    images, _ = shifted()
    model, (new, _) = fitted(images), shifted(channels_align.CHUNK + 6, seed=1)
    codes = model.transform(new)
    for part in (slice(0, 1), slice(5, 9), slice(channels_align.CHUNK - 2, None)):
        np.testing.assert_allclose(model.transform(new[part]), codes[part], rtol=1e-9)
        same(model.predict(new[part]), model.predict(new)[part])


def test_copies_of_samples():
    """Merged copies change nothing but the norm of what is learned, to rounding."""
    images, _ = shifted()
    once, twice = fitted(images), fitted(np.concatenate([images, images]))
    same(twice.labels_, np.concatenate([once.labels_, once.labels_]))
    same(twice.state_.alignment.maps, once.state_.alignment.maps)


@pytest.mark.parametrize("unit", [255.0, 1e-100, 1e100])
def test_the_unit_of_the_pixels(unit):
    images, _ = shifted()
    one, other = fitted(images), fitted(unit * images)
    same(other.labels_, one.labels_)
    np.testing.assert_allclose(other.components_, unit * one.components_, rtol=1e-6)


def test_flat_and_coloured_images():
    images, kinds = shifted()
    model = fitted(images)
    flat = fitted(images.reshape(60, -1), sample_shape=(SIZE, SIZE))
    same(flat.labels_, model.labels_)
    same(flat.components_, model.components_)
    colours = np.stack([images, 1 - images, 2 * images], axis=-1)
    model = fitted(colours)
    assert model.components_.shape == (K, SIZE, SIZE, 3)
    assert model.state_.alignment.mean.shape == (3, SIZE, SIZE)
    assert adjusted_rand_score(kinds, model.labels_) > 0.9


def test_single_precision_stays():
    images, kinds = shifted()
    model = fitted(images.astype(np.float32))
    assert adjusted_rand_score(kinds, model.labels_) > 0.9
    floats = model.components_, model.coefficients_, model.reconstruction_error_
    learned = model.state_.alignment
    assert {a.dtype for a in (*floats, learned.mean, learned.darkest)} == {
        np.dtype(np.float32)
    }
    assert model.transform(images.astype(np.float32)).dtype == np.float32


def test_samples_are_not_changed():
    images, _ = shifted()
    before = images.copy()
    fitted(images).predict(images)
    same(images, before)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors(dtype):
    torch = pytest.importorskip("torch")
    images, _ = shifted()
    images = images.astype(dtype)
    tensor = torch.asarray(images)
    model, known = fitted(tensor), fitted(images)
    assert isinstance(model.components_, torch.Tensor)
    assert model.components_.dtype == tensor.dtype
    assert adjusted_rand_score(model.labels_.numpy(), known.labels_) == 1
    same(model.state_.alignment.maps, known.state_.alignment.maps)
    new = shifted(9, seed=1)[0].astype(dtype)
    predicted = model.predict(torch.asarray(new))
    assert isinstance(predicted, torch.Tensor)
    assert adjusted_rand_score(predicted.numpy(), known.predict(new)) == 1


# Missing pixels


@pytest.mark.parametrize("channels", ["pixels", "gradients"])
def test_missing_pixels_are_completed_first(channels):
    images, _ = shifted(30)
    gone = holes(images.shape, share=0.1)
    X = pierced(images, gone)
    model = fitted(X, channels=channels, missing_values=np.nan)
    filled = model.impute(X)  # where the images were
    same(filled[~gone], images[~gone])
    moved = model.state_.alignment.apply(filled[:, None])[1][:, 0]
    rebuilt = np.einsum("ij,jhw->ihw", model.coefficients_, model.components_)
    norms = np.linalg.norm(moved, axis=(1, 2))
    rebuilt *= (norms / model.state_.typical_norm)[:, None, None]
    errors = np.linalg.norm(moved - rebuilt, axis=(1, 2))  # over all entries
    np.testing.assert_allclose(model.reconstruction_error_, errors, rtol=1e-6)
    same(model.transform(X), model.transform(filled))
    by_mask = clone(model).set_params(missing_values=None)
    by_mask.fit(np.where(gone, 9.0, images), mask=gone)
    same(by_mask.labels_, model.labels_)


# AutoTSNMF


def test_a_search_takes_it_from_its_estimator():
    images, kinds = shifted()
    base = TSNMF(align="shifts")
    search = AutoTSNMF(
        K, channels=["pixels"], estimator=base, max_fits=2, random_state=0
    ).fit(images)
    model = search.best_estimator_
    assert model.align == "shifts"
    assert model.state_.alignment.max_turn == 0
    assert adjusted_rand_score(kinds, search.labels_) > 0.9
    new, new_kinds = shifted(30, seed=1)
    assert adjusted_rand_score(new_kinds, search.predict(new)) > 0.9


def test_a_search_aligns_once(monkeypatch):
    count = []
    fit = channels_align.fit_alignment

    def counted(*given, **options):
        count.append(1)
        return fit(*given, **options)

    monkeypatch.setattr("twofold.estimators.alignment.fit_alignment", counted)
    images, _ = shifted()
    AutoTSNMF([2, 3], estimator=TSNMF(align=True), max_fits=3, random_state=0).fit(
        images
    )
    assert len(count) == 1


# Parameters and errors


def test_the_parameter_of_a_clone():
    model = TSNMF(align="shifts")
    assert clone(model).align == "shifts"
    assert TSNMF().align is False
    same(fitted(shifted()[0], np.True_).labels_, fitted(shifted()[0]).labels_)


@pytest.mark.parametrize("align", ["all", "turns", 1, 45.0, None])
def test_other_values_are_refused(align):
    with pytest.raises(InvalidParameterError, match="'align' parameter of TSNMF"):
        fitted(shifted()[0], align)


@pytest.mark.parametrize("shape", [(64,), (7, 30), (30, 7), (7, 7, 3), (30, 1)])
@pytest.mark.parametrize("align", ["shifts", True])
def test_samples_that_are_no_images(shape, align):
    X = np.random.default_rng(0).random((12, *shape))
    with pytest.raises(ValueError, match=r"^align must be False unless") as caught:
        fitted(X, align)
    message = str(caught.value)
    assert message == (
        "align must be False unless samples are images of at least 8 x 8 pixels, got "
        f"samples of shape {shape}; leave it out, or set sample_shape if these are "
        "flat images"
    )
    with pytest.raises(ValueError, match=r"^align must be False unless"):
        AutoTSNMF(2, estimator=TSNMF(align=align)).fit(X)


def test_constant_images():
    X = np.ones((8, 9, 9)) * np.arange(8)[:, None, None]
    model = TSNMF(1, align=True, duplicates="keep", random_state=0).fit(X)
    np.testing.assert_allclose(model.state_.alignment.mean, 3.5)
    assert np.isfinite(model.transform(X)).all()
