"""TSNMF with missing entries."""

import numpy as np
import problems
import pytest
from sklearn.utils.estimator_checks import check_estimator

from twofold import TSNMF
from twofold.metrics import clustering_accuracy as accuracy
from twofold.paper.datasets import make_faces

WHOLE = problems.images()
MASK = np.random.default_rng(0).uniform(size=WHOLE.shape) < 0.3
HOLED = problems.pierced(WHOLE, MASK)


def aware(n_clusters=3, **options):
    options = {"missing_values": np.nan, "channels": "pixels", **options}
    options.setdefault("random_state", 0)
    return TSNMF(n_clusters, **options)


def same_fit(ours, theirs):
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.coefficients_, theirs.coefficients_)
    np.testing.assert_array_equal(ours.components_, theirs.components_)


@pytest.fixture(scope="module")
def model():
    return aware().fit(HOLED)


# How entries are marked


def test_scikit_learns_own_checks_pass():
    results = check_estimator(TSNMF(2, missing_values=np.nan), on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 40


@pytest.mark.parametrize(
    ("parameters", "X", "arguments"),
    [
        ({"missing_values": None}, WHOLE, {"mask": MASK}),
        ({"missing_values": None}, HOLED, {"mask": MASK}),
        ({"missing_values": None}, WHOLE, {"mask": MASK.reshape(60, -1).astype(int)}),
        ({"missing_values": None}, np.ma.masked_array(WHOLE, MASK), {}),
        ({"missing_values": -99}, np.where(MASK, -99, WHOLE), {}),
        ({"missing_values": np.inf}, np.where(MASK, np.inf, WHOLE), {}),
        ({}, np.where(MASK & (WHOLE > 0), np.nan, WHOLE), {"mask": MASK}),
        ({}, np.ma.masked_array(HOLED, MASK & (WHOLE > 0)), {"mask": MASK}),
    ],
)
def test_all_ways_to_mark_them_are_one(model, parameters, X, arguments):
    same_fit(aware(**parameters).fit(X, **arguments), model)


def test_complete_samples_are_fitted_as_ever():
    plain = TSNMF(3, random_state=0).fit(WHOLE)
    same_fit(aware().fit(WHOLE), plain)
    np.testing.assert_array_equal(
        aware().fit(WHOLE).objective_history_, plain.objective_history_
    )


def test_what_is_under_the_mask_does_not_matter(model):
    garbage = np.where(MASK, 1e6 * np.arange(60)[:, None, None], WHOLE)
    same_fit(aware().fit(garbage, mask=MASK), model)


def test_a_mask_of_one_channel_is_for_all():
    colour = np.moveaxis(problems.stack((24, 3, 5, 6)), 1, -1)
    mask = np.random.default_rng(1).uniform(size=colour.shape[:3]) < 0.3
    ours = aware().fit(colour, mask=mask)
    same_fit(ours, aware().fit(np.where(mask[..., None], np.nan, colour)))


BAD = {
    "nothing seen": (
        np.where(np.arange(60)[:, None, None] % 20 == 7, np.nan, HOLED),
        {},
        "observed entry in every sample, got 3 of 60 .* first is sample 7; leave",
    ),
    "infinity": (
        np.where(WHOLE.max() == WHOLE, np.inf, HOLED),
        {},
        "X must be finite, got 0 NaN and 1 infinity",
    ),
    "shape of the mask": (
        WHOLE,
        {"mask": MASK[:, :-1]},
        r"mask must be of the shape of X, \(60, 7, 6\), got \(60, 6, 6\)",
    ),
    "numbers as a mask": (WHOLE, {"mask": WHOLE}, "mask must hold True where"),
}


@pytest.mark.parametrize(("X", "arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input(X, arguments, message):
    with pytest.raises(ValueError, match=message):
        aware().fit(X, **arguments)


def test_nan_without_the_parameter_names_it():
    with pytest.raises(ValueError, match=r"set missing_values=np\.nan"):
        TSNMF(3).fit(HOLED)


@pytest.mark.parametrize("ask", ["transform", "predict", "impute"])
def test_a_model_of_complete_samples_says_how_to_fit_it(ask):
    plain = TSNMF(3, random_state=0).fit(WHOLE)
    with pytest.raises(ValueError, match=r"fit it with missing_values=np\.nan"):
        getattr(plain, ask)(WHOLE, mask=MASK)
    np.testing.assert_array_equal(plain.impute(WHOLE), WHOLE)


@pytest.mark.parametrize("value", [True, "nan", [0]])
def test_bad_missing_values(value):
    with pytest.raises(ValueError, match="missing_values"):
        TSNMF(3, missing_values=value).fit(WHOLE)


# What the fit does not depend on


def test_the_order_of_the_samples_does_not_matter(model):
    order = np.random.default_rng(3).permutation(60)
    other = aware().fit(HOLED[order])
    np.testing.assert_array_equal(other.labels_, model.labels_[order])
    np.testing.assert_array_equal(other.coefficients_, model.coefficients_[order])


def test_the_unit_does_not_matter(model):
    other = aware().fit(1e150 * HOLED)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.coefficients_, model.coefficients_, rtol=1e-6)
    np.testing.assert_allclose(
        other.impute(1e150 * HOLED) / 1e150, model.impute(HOLED), rtol=1e-6
    )


def test_transposed_samples_swap_the_projections(model):
    turned = aware().fit(HOLED.swapaxes(1, 2))
    np.testing.assert_allclose(
        np.abs(turned.left_projection_), np.abs(model.right_projection_), atol=1e-6
    )
    np.testing.assert_array_equal(turned.labels_, model.labels_)


def test_identical_samples_share_a_label():
    doubled = np.concatenate([HOLED, HOLED])
    labels = aware().fit(doubled).labels_
    np.testing.assert_array_equal(labels[:60], labels[60:])


def test_a_sweep_is_as_many_fits():
    pairs = [(1.0, 1.0), (0.1, 10.0), (5.0, 0.1)]
    for swept, (energy, graph) in zip(
        aware().fit_sweep(WHOLE, pairs, mask=MASK), pairs, strict=True
    ):
        alone = aware(energy_weight=energy, graph_weight=graph).fit(HOLED)
        np.testing.assert_array_equal(swept.labels_, alone.labels_)
        np.testing.assert_allclose(
            swept.coefficients_, alone.coefficients_, rtol=1e-9, atol=1e-12
        )
        np.testing.assert_array_equal(swept.predict(HOLED), alone.predict(HOLED))


def test_single_precision_stays(model):
    single = aware().fit(HOLED.astype(np.float32))
    few = HOLED[:3].astype(np.float32)
    assert single.coefficients_.dtype == single.impute(few).dtype == np.float32
    assert accuracy(model.labels_, single.labels_) == 1.0


def scattered(images, share):
    return np.random.default_rng(0).uniform(size=images.shape) < share


# What it gives


def test_errors_are_those_of_what_was_seen(model):
    norms = np.linalg.norm(model.impute(HOLED), axis=(1, 2))
    typical = np.sqrt(np.mean(norms**2))
    images = (
        model.inverse_transform(model.coefficients_) * (norms / typical)[:, None, None]
    )
    seen = np.where(MASK, 0, WHOLE - images)
    expected = np.linalg.norm(seen, axis=(1, 2))
    np.testing.assert_allclose(model.reconstruction_error_, expected, rtol=1e-6)


def test_impute_keeps_what_was_seen_and_finds_the_rest():
    images, _ = make_faces(100, 5, noise=0.0, random_state=2)
    mask = scattered(images, 0.4)
    model = aware(5).fit(problems.pierced(images, mask))
    found = model.impute(problems.pierced(images, mask))
    np.testing.assert_array_equal(found, model.impute(images, mask=mask))
    np.testing.assert_array_equal(found[~mask], images[~mask])
    spread = (images - images.mean(axis=0))[mask]
    assert np.linalg.norm((found - images)[mask]) < 0.1 * np.linalg.norm(spread)


def test_training_samples_are_predicted_as_they_were_labelled(model):
    agreeing = model.predict(HOLED) == model.labels_
    assert agreeing.mean() > 0.95
    np.testing.assert_array_equal(model.predict(WHOLE, mask=MASK), model.predict(HOLED))
    np.testing.assert_array_equal(
        model.transform(HOLED), aware().fit_transform(WHOLE, mask=MASK)
    )


def blocks(images, seed=0):
    """A square of each image, at a place of its own."""
    rng, mask = np.random.default_rng(seed), np.zeros(images.shape, dtype=bool)
    for one in mask:
        top, left = rng.integers(0, images.shape[1] - 14, size=2)
        one[top : top + 14, left : left + 14] = True
    return mask


def stripes(images, axis):
    """Some rows or columns of each image, others in each."""
    rng, mask = np.random.default_rng(0), np.zeros(images.shape, dtype=bool)
    for one in mask:
        gone = rng.choice(32, 12, replace=False)
        one[(gone,) if axis == 0 else (slice(None), gone)] = True
    return mask


PATTERNS = {
    "40%": lambda images: scattered(images, 0.4),
    "60%": lambda images: scattered(images, 0.6),
    "90%": lambda images: scattered(images, 0.9),
    "blocks": blocks,
    "rows": lambda images: stripes(images, 0),
    "columns": lambda images: stripes(images, 1),
    "rows of all": lambda images: np.broadcast_to(
        (np.arange(32) % 4 == 0)[:, None], images.shape
    ),
}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_faces_are_told_apart_whatever_is_missing(pattern):
    images, target = make_faces(120, 5, random_state=1)
    mask = pattern(images)
    found = aware(5).fit(images, mask=mask)
    enough = 0.85 if mask.mean() > 0.8 else 0.95
    assert accuracy(target, found.labels_) > enough
    labels = found.predict(problems.pierced(images[:60], mask[60:]))
    assert accuracy(target[:60], labels) > enough


def test_zeros_in_the_place_of_what_is_missing_are_worse():
    images, target = make_faces(200, 5, random_state=1)
    mask = PATTERNS["60%"](images)
    zeros = TSNMF(5, channels="pixels", random_state=0).fit(np.where(mask, 0.0, images))
    assert accuracy(target, zeros.labels_) < 0.9
