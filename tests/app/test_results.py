"""What is said of each sample, against formulas written out here."""

import numpy as np
import problems
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from twofold import TSNMF
from twofold.app.results import (
    assign_new,
    assign_trained,
    filled_in,
    nearest_rows,
    standardized,
    typical_orders,
    typicality,
)
from twofold.estimators.assessment import _PLACED, assess, assessed

COLOUR = np.moveaxis(problems.stack((24, 3, 5, 6)), 1, -1)
GREY = np.rint(30 * (problems.images() + 4)).clip(0, 255)


def norms_of(X):
    return np.linalg.norm(np.reshape(X, (len(X), -1)).astype(np.float64), axis=1)


# How typical an image is


def typicality_by_hand(images, clusters):
    """np.corrcoef of each image and the mean of its cluster's z-scores."""
    rows = np.reshape(images, (len(images), -1)).astype(np.float64)
    scores = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    found = []
    for row, cluster in zip(rows, clusters, strict=True):
        mean = scores[clusters == cluster].mean(axis=0)
        found.append(max(0, np.corrcoef(row, mean)[0, 1]))
    return np.array(found)


@pytest.mark.parametrize(
    "images",
    [
        problems.images(),
        problems.images().astype(np.float32),
        problems.images().astype(">f8"),
        GREY.astype(np.uint8),
        (GREY - 128).astype(np.int8),
        (GREY > 128),
        COLOUR,
        problems.images().reshape(60, -1),
        1e6 + problems.images(),
        1e6 + 1e-3 * problems.images(),
        (1e6 + 1e3 * problems.images()).astype(np.float32),
        1e150 * problems.images(),
        1e-150 * problems.images(),
    ],
    ids=lambda X: f"{X.dtype.str} {X.shape[1:]} {X.ravel()[0]:.1e}",
)
def test_typicality_is_the_correlation_with_the_cluster_s_mean(images):
    clusters = problems.groups(len(images))
    expected = typicality_by_hand(images, clusters)
    # Numbers of 1e6 in single precision have steps of 0.06.
    np.testing.assert_allclose(typicality(images, clusters), expected, atol=1e-4)
    assert expected.min() < 0.95  # or this would say little


def test_clusters_of_one_and_the_unlike():
    images = np.stack([problems.images(n=1)[0], *problems.images(n=6, seed=5)])
    found = typicality(images, np.array([1, 0, 0, 0, 0, 0, 0]))
    assert found[0] == pytest.approx(1)
    np.testing.assert_allclose(
        found[1:], typicality_by_hand(images[1:], np.zeros(6)), atol=1e-5
    )
    opposite = np.stack([images[0], images[0], images[0], -images[0]])
    expected = [1, 1, 1, 0]  # no correlation is below 0
    np.testing.assert_allclose(typicality(opposite, np.zeros(4)), expected, atol=1e-6)


def test_images_that_cancel_each_other_are_not_typical():
    image = np.array([[1.0, -1.0], [2.0, -2.0]])
    np.testing.assert_array_equal(
        typicality(np.stack([image, -image]), np.zeros(2)), [0, 0]
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_blank_images(dtype):
    busy = GREY[:3].astype(dtype)
    blank = np.stack([np.full((7, 6), v) for v in (0, 0.1, 200)]).astype(dtype)
    images = np.concatenate([busy, blank, blank])
    clusters = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    found = typicality(images, clusters)
    np.testing.assert_allclose(
        found[:3], typicality_by_hand(busy, np.zeros(3)), atol=1e-5
    )
    np.testing.assert_array_equal(found[3:], [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(standardized(blank), np.zeros((3, 42)))


def test_rounding_alone_is_no_contrast():
    """A constant that was added up in single precision differs in its last bits."""
    ones = np.full((4, 50), 1e6, dtype=np.float32)
    ones[:, ::2] = np.nextafter(ones[:, ::2], np.float32(np.inf))
    assert not standardized(ones).any()
    assert not standardized(1e6 + 1e-10 * np.arange(50.0)[None]).any()
    assert standardized((ones > 1e6).astype(np.uint8)).any()


def test_samples_of_one_number_are_blank():
    np.testing.assert_array_equal(
        typicality(np.array([[3.0], [5.0], [0.0]]), np.zeros(3)), [1, 1, 1]
    )


def test_standardized_rows_in_many_blocks():
    images = problems.images(n=2100, h=3, w=2)
    rows = standardized(images)
    assert rows.dtype == np.float32
    flat = images.reshape(2100, 6)
    centred = flat - flat.mean(axis=1, keepdims=True)
    expected = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    np.testing.assert_allclose(rows, expected, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(
    image=hnp.arrays(np.float64, (1, 4, 5), elements=st.integers(-100, 100)),
    factor=st.floats(1e-3, 1e3),
    shift=st.floats(-1e4, 1e4),
)
def test_brightness_and_contrast_do_not_matter(image, factor, shift):
    rows, changed = standardized(image), standardized(factor * image + shift)
    np.testing.assert_allclose(changed, rows, atol=1e-5)
    assert abs(rows.sum()) < 1e-5
    assert np.linalg.norm(rows) == pytest.approx(float(np.ptp(image) > 0), abs=1e-6)


def test_the_most_typical_comes_first_and_equals_keep_their_order():
    clusters = np.array([1, 0, 1, 0, 1, 0])
    typical = np.array([0.5, 0.2, 0.9, 0.7, 0.5, 0.2])
    first, second = typical_orders(clusters, typical)
    assert first.tolist() == [3, 1, 5]
    assert second.tolist() == [2, 0, 4]


@settings(max_examples=50, deadline=None)
@given(
    rows=hnp.arrays(np.float64, (7, 3), elements=st.floats(0.01, 10)),
    others=hnp.arrays(np.float64, (4, 3), elements=st.floats(0.01, 10)),
)
def test_the_nearest_row_has_the_smallest_angle(rows, others):
    for row, j in zip(rows, nearest_rows(rows, others), strict=True):
        cosines = others @ row / np.sqrt(np.sum(others**2, axis=1) * (row @ row))
        assert cosines[j] >= cosines.max() - 1e-12


# Assignments


def confidence_by_hand(model, X, clusters):
    """The logistic regression of new samples, with loops over their edges."""
    state = assessed(model.state_, model.n_clusters)
    stack, missing = model._read_completed(X, None)
    edges = state.predict_aligned(state.aligned(stack), missing).edges
    agreement = np.log(max(state.assessment.agreement, 0.02))
    size = np.log(len(state.labels) / len(set(state.labels)))
    found = []
    for i, cluster in enumerate(clusters):
        votes = np.zeros(model.n_clusters)
        for side in edges:
            ends = np.asarray(side.neighbors)[i]
            for weight, j in zip(np.asarray(side.weights)[i], ends, strict=True):
                votes[state.labels[j]] += weight
        own, others = votes[cluster], np.delete(votes, cluster)
        total = votes.sum() or 1.0
        place = np.log((own / total + 0.02) / (max(others) / total + 0.02))
        log_odds = np.dot(_PLACED, [place, agreement, size, 1.0])
        if np.isnan(state.assessment.agreement):  # of too few samples
            log_odds = place
        found.append(1 / (1 + np.exp(-log_odds)))
    return np.array(found)


def errors_by_hand(model, X, coefficients):
    """From inverse_transform, which with scale="sample" has no norms of its own."""
    flat = np.reshape(X, (len(X), -1)).astype(np.float64)
    rebuilt = np.reshape(model.inverse_transform(coefficients), flat.shape)
    norms = norms_of(X)
    if model.state_.scale == "sample":
        rebuilt = rebuilt * (norms / model.state_.typical_norm)[:, None]
    return np.linalg.norm(flat - rebuilt, axis=1) / norms


CASES = [
    (problems.images(), {}),
    (3 * problems.images() + 5, {"scale": "global"}),
    (GREY.astype(np.uint8), {}),
    (GREY.astype(np.uint8), {"scale": "global"}),
    (COLOUR, {}),
    (problems.images().reshape(60, -1), {}),
    (problems.images().reshape(60, -1), {"scale": "sample"}),
    (problems.images().reshape(60, -1), {"sample_shape": (7, 6)}),
    (1e150 * problems.images(), {}),
]


@pytest.mark.parametrize(("X", "options"), CASES)
def test_assignments_of_the_training_samples(X, options):
    model = TSNMF(3, random_state=0, **options).fit(X)
    found = assign_trained(model, X)
    np.testing.assert_array_equal(found.clusters, model.labels_)
    np.testing.assert_array_equal(found.coefficients, model.coefficients_)
    np.testing.assert_allclose(
        found.reconstruction_error, model.reconstruction_error_ / norms_of(X)
    )
    np.testing.assert_array_equal(found.confidence, assess(model).confidence)
    assert not found.outlier.any()


@pytest.mark.parametrize(("X", "options"), CASES)
def test_assignments_of_new_samples(X, options):
    half = len(X) // 2
    model = TSNMF(3, random_state=0, **options).fit(X[:half])
    found = assign_new(model, X[half:])
    np.testing.assert_array_equal(found.clusters, model.predict(X[half:]))
    np.testing.assert_array_equal(found.coefficients, model.transform(X[half:]))
    np.testing.assert_allclose(
        found.reconstruction_error,
        errors_by_hand(model, X[half:], found.coefficients),
        rtol=1e-9,
    )
    np.testing.assert_allclose(
        found.confidence,
        confidence_by_hand(model, X[half:], found.clusters),
    )
    assert not found.outlier.any()


# Missing entries


def with_holes(X, marker):
    """X with one in seven of its entries missing, and the upper part of some."""
    X = X.astype(float)
    X.reshape(-1)[::7] = marker
    X[::5, : X.shape[1] // 3] = marker
    return X


def observed_errors_by_hand(model, X, coefficients):
    """``errors_by_hand`` with norms that leave missing entries out."""
    seen = ~np.isclose(X, model.missing_values, equal_nan=True).reshape(len(X), -1)
    flat = np.where(seen, X.reshape(len(X), -1), 0)
    rebuilt = np.reshape(model.inverse_transform(coefficients), flat.shape)
    if model.state_.scale == "sample":  # a sample was divided by its completed norm
        rebuilt = (
            rebuilt * (norms_of(model.impute(X)) / model.state_.typical_norm)[:, None]
        )
    return norms_of(np.where(seen, flat - rebuilt, 0)) / norms_of(flat)


@pytest.mark.parametrize("marker", [np.nan, 0.0, -99.0])
@pytest.mark.parametrize("X", [GREY, COLOUR, GREY.reshape(60, -1)], ids=["g", "c", "v"])
def test_errors_are_over_what_was_observed(X, marker):
    X = with_holes(X + 9.5, marker)
    model = TSNMF(3, missing_values=marker, random_state=0).fit(X)
    trained, placed = assign_trained(model, X), assign_new(model, X)
    for found in (trained, placed):
        np.testing.assert_allclose(
            found.reconstruction_error,
            observed_errors_by_hand(model, X, found.coefficients),
            rtol=1e-6,
        )
    seen = np.where(model.impute(X) == X, X, 0)
    expected = model.reconstruction_error_ / norms_of(seen)
    np.testing.assert_allclose(trained.reconstruction_error, expected, rtol=1e-6)
    np.testing.assert_array_equal(placed.clusters, model.predict(X))
    np.testing.assert_array_equal(placed.coefficients, model.transform(X))


def test_filled_in_is_what_impute_says_and_where():
    X = with_holes(COLOUR, np.nan)
    model = TSNMF(3, missing_values=np.nan, random_state=0).fit(X)
    images, missing = filled_in(model, X)
    np.testing.assert_array_equal(missing, np.isnan(X))
    np.testing.assert_array_equal(images, model.impute(X))
    again = assign_trained(model, images, missing)
    for name, known in vars(assign_trained(model, X)).items():
        np.testing.assert_array_equal(getattr(again, name), known)


def test_where_nothing_is_missing_the_samples_stay_what_they_are(images, model):
    patient = TSNMF(3, missing_values=np.nan, random_state=0).fit(images)
    for fitted in (model, patient):
        samples, missing = filled_in(fitted, images)
        assert samples is images
        assert missing is None


@pytest.mark.parametrize("scale", ["sample", "global"])
def test_training_samples_that_come_again_are_placed_much_as_they_were(images, scale):
    model = TSNMF(3, scale=scale, random_state=0).fit(images)
    trained, placed = assign_trained(model, images), assign_new(model, images)
    np.testing.assert_array_equal(placed.clusters, trained.clusters)
    for name in ("reconstruction_error", "confidence"):
        apart = np.abs(getattr(placed, name) - getattr(trained, name))
        assert apart.mean() < 0.1 * getattr(trained, name).mean()


@settings(max_examples=30, deadline=None)
@given(X=hnp.arrays(np.float64, (4, 7, 6), elements=st.floats(-1e3, 1e3)))
def test_confidence_is_between_0_and_1_whatever_comes(model, X):
    found = assign_new(model, X)
    assert (found.confidence >= 0).all()
    assert (found.confidence <= 1).all()
    assert np.isfinite(found.reconstruction_error).all()
    assert set(found.clusters) <= {0, 1, 2}


def test_a_single_cluster_is_certain(images):
    model = TSNMF(1, random_state=0).fit(images)
    np.testing.assert_array_equal(assign_new(model, images).confidence, np.ones(60))


def test_blank_samples_among_the_others(images):
    X = np.concatenate([images, np.zeros((2, 7, 6))])
    model = TSNMF(3, random_state=0).fit(X)
    for found in (assign_trained(model, X), assign_new(model, X)):
        assert np.isfinite(found.reconstruction_error).all()
        assert ((found.confidence >= 0) & (found.confidence <= 1)).all()


def test_single_precision(images):
    single = images.astype(np.float32)
    model = TSNMF(3, random_state=0).fit(single)
    trained, placed = assign_trained(model, single), assign_new(model, single)
    assert trained.coefficients.dtype == placed.coefficients.dtype == np.float32
    np.testing.assert_allclose(
        trained.reconstruction_error,
        model.reconstruction_error_ / norms_of(single),
        rtol=1e-4,
    )
    np.testing.assert_array_equal(placed.clusters, model.predict(single))


@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_a_model_of_single_precision_and_samples_beyond_it(images, factor):
    model = TSNMF(3, random_state=0).fit(images.astype(np.float32))
    plain, other = assign_new(model, images), assign_new(model, factor * images)
    np.testing.assert_array_equal(other.clusters, plain.clusters)
    np.testing.assert_allclose(
        other.reconstruction_error, plain.reconstruction_error, rtol=1e-4
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.torch
def test_tensors(images, dtype):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    X = torch.asarray(images.astype(dtype))
    model = TSNMF(3, random_state=0).fit(X)
    for found, clusters, coefficients in (
        (assign_trained(model, X), model.labels_, model.coefficients_),
        (assign_new(model, X), model.predict(X), model.transform(X)),
    ):
        for array in vars(found).values():
            assert isinstance(array, np.ndarray)
        np.testing.assert_array_equal(found.clusters, clusters.numpy())
        np.testing.assert_array_equal(found.coefficients, coefficients.numpy())
    expected = confidence_by_hand(model, X, model.predict(X).numpy())
    found = assign_new(model, X).confidence
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    errors = assign_trained(model, X).reconstruction_error
    expected = model.reconstruction_error_.numpy() / norms_of(images)
    np.testing.assert_allclose(errors, expected, rtol=1e-4)


def test_fewer_clusters_than_were_asked_for():
    X = np.repeat(problems.images(n=2), 5, axis=0)
    with pytest.warns(UserWarning, match="found 2 of n_clusters=3"):
        model = TSNMF(3, random_state=0).fit(X)
    found = assign_new(model, X)
    np.testing.assert_array_equal(found.clusters, model.labels_)
    assert found.coefficients.shape == (10, 3)
    np.testing.assert_allclose(
        found.confidence,
        confidence_by_hand(model, X, found.clusters),
    )
    orders = typical_orders(found.clusters, typicality(X, found.clusters))
    assert [len(order) for order in orders] == [5, 5]


def test_the_output_of_transform_may_be_set_to_frames(images):
    pytest.importorskip("pandas", reason="needs pandas")
    plain = TSNMF(3, random_state=0).fit(images)
    framed = TSNMF(3, random_state=0).set_output(transform="pandas").fit(images)
    np.testing.assert_array_equal(
        assign_new(framed, images).coefficients, assign_new(plain, images).coefficients
    )
